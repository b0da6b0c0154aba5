/** Local days, ISO weeks and months of a time. They use the calendar of this machine (TZ): a day may have 23 or 25 hours. */

const two = (value: number) => String(value).padStart(2, '0');
const DAY_MS = 86_400_000;

export type Period = 'day' | 'week' | 'month';

/** `2026-11-15`, `2026-W46`, `2026-11`; null if the time is unknown. */
export const PERIODS: Readonly<Record<Period, (at_ms: number) => string>> = {
  day: (at_ms) => dateText(new Date(at_ms)),
  week: (at_ms) => weekText(new Date(at_ms)),
  month: (at_ms) => dateText(new Date(at_ms)).slice(0, -3),
};

export const isPeriod = (word: string): word is Period => Object.hasOwn(PERIODS, word);

const dateText = (date: Date) =>
  `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/** A week begins on Monday, and belongs to the year of its Thursday (ISO 8601). */
function weekText(date: Date): string {
  // The local date as if it were UTC: there, all days have 24 hours.
  const day_ms = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  const since_monday = (date.getDay() + 6) % 7;
  const thursday = new Date(day_ms + (3 - since_monday) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS));
  return `${year}-W${two(week)}`;
}

/** How far back a list goes unless a time is given, by its kind of period. */
const SHOWN = { day: 30, week: 12, month: 12 } as const;

/** The first millisecond of the first of the last 30 days, 12 weeks or 12 months, the current one included. */
export function shownFrom(period: Period, now_ms: number): number {
  const now = new Date(now_ms);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const before = SHOWN[period] - 1;
  if (period === 'month') return new Date(year, month - before, 1).getTime();
  if (period === 'day') return new Date(year, month, day - before).getTime();
  return new Date(year, month, day - ((now.getDay() + 6) % 7) - 7 * before).getTime();
}

/** The Monday of an ISO week, as `11-16`. */
export function mondayOf(week: string): string {
  const [year = 0, number = 0] = week.split('-W').map(Number);
  const fourth = new Date(Date.UTC(year, 0, 4));
  const monday = fourth.getTime() - ((fourth.getUTCDay() + 6) % 7) * DAY_MS;
  return new Date(monday + (number - 1) * 7 * DAY_MS).toISOString().slice(5, 10);
}
