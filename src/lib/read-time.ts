/** Parses times as people write them, in local time. */
import { own } from './own.ts';

/** The time that a text names: an instant, or a day from its first millisecond to the first of the next day. */
export interface TimeSpan {
  from_ms: number;
  to_ms: number;
}

/** For messages about a text that is not a time. */
export const TIME_LIKE = 'a time like 2026-11-01, 2026-11-01T12:00, 12h, 2d, today or yesterday';

const AGO_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const DAYS_AGO: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };

/** Null: the text is not a time. */
export function readTime(text: string, now_ms: number): TimeSpan | null {
  const word = text.trim();
  const days = own(DAYS_AGO, word.toLowerCase());
  if (days !== undefined) {
    const now = new Date(now_ms);
    return dayOf(now.getFullYear(), now.getMonth(), now.getDate() - days);
  }
  const [, count, unit = ''] = /^(\d{1,6}) ?([smhdw])$/i.exec(word) ?? [];
  const unit_ms = own(AGO_MS, unit.toLowerCase());
  if (unit_ms !== undefined) return momentAt(now_ms - Number(count) * unit_ms);
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(word)?.map(Number) ?? [];
  if (year !== undefined && month !== undefined && date !== undefined) {
    const day = dayOf(year, month - 1, date);
    // Date parses 31 February as 3 March.
    const first = new Date(day.from_ms);
    return first.getDate() === date && first.getMonth() === month - 1 ? day : null;
  }
  // Without a zone, ISO times are local. Other forms, such as 11/1/2026, mean different days in different countries.
  const at_ms = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(word) ? Date.parse(word) : Number.NaN;
  return Number.isNaN(at_ms) ? null : momentAt(at_ms);
}

const momentAt = (at_ms: number): TimeSpan => ({ from_ms: at_ms, to_ms: at_ms });

/** Uses the calendar: a day may have 23 or 25 hours. */
const dayOf = (year: number, month: number, date: number): TimeSpan => ({
  from_ms: new Date(year, month, date).getTime(),
  to_ms: new Date(year, month, date + 1).getTime(),
});
