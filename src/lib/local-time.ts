/** Times for people: the machine's local time (TZ) with its offset from UTC. Records use UTC. */

const two = (value: number) => String(value).padStart(2, '0');

/** A time that can be shown; null if it is unknown or out of range. */
function dateOf(at_ms: number | null): Date | null {
  return at_ms === null || !(Math.abs(at_ms) <= 8.64e15) ? null : new Date(at_ms);
}

const dayOf = (date: Date) =>
  `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const minuteOf = (date: Date) => `${two(date.getHours())}:${two(date.getMinutes())}`;

/** `UTC`, `+02:00`, `-05:00`: the offset of this machine at that time. */
export function localZone(at_ms: number): string {
  const minutes = -(dateOf(at_ms) ?? new Date()).getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** `2026-11-15 06:51`; null: unknown. */
export function localMinute(at_ms: number | null): string | null {
  const date = dateOf(at_ms);
  return date === null ? null : `${dayOf(date)} ${minuteOf(date)}`;
}

/** `2026-11-15 06:51 -05:00`; null: unknown. */
export function localTime(at_ms: number | null): string | null {
  const text = localMinute(at_ms);
  return text === null ? null : `${text} ${localZone(at_ms as number)}`;
}

/** Eleven columns: `11-15 06:51`, or the date if the year differs from that of `now_ms`. */
export function shortTime(at_ms: number | null, now_ms: number): string | null {
  const date = dateOf(at_ms);
  if (date === null) return null;
  const same = date.getFullYear() === new Date(now_ms).getFullYear();
  return same ? `${dayOf(date).slice(5)} ${minuteOf(date)}` : dayOf(date);
}

/** `06:51:07.042`: the time of day; null: unknown. */
export function localClock(at_ms: number | null): string | null {
  const date = dateOf(at_ms);
  if (date === null) return null;
  const seconds = `${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
  return `${minuteOf(date)}:${seconds}`;
}
