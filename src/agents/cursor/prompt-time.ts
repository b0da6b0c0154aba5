/** The time that a prompt states: `<timestamp>Sunday, Sep 20, 2026, 12:31 AM (UTC+3)</timestamp>`. */
import { between } from '../kit/text.ts';

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const TEXT =
  /^[A-Z][a-z]+, ([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2}) ([AP])M \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\)$/;
const MINUTE_MS = 60_000;

export function promptTime(text: string): number | undefined {
  const found = TEXT.exec(between(text, '<timestamp>', '</timestamp>') ?? '');
  if (found === null) return undefined;
  const [, month = '', day, year, hour, minute, half, sign, hours = '0', minutes = '0'] = found;
  const at = MONTHS.indexOf(month);
  if (at < 0) return undefined;
  const hour24 = (Number(hour) % 12) + (half === 'P' ? 12 : 0);
  const local_ms = Date.UTC(Number(year), at, Number(day), hour24, Number(minute));
  const shift_ms = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return sign === '-' ? local_ms + shift_ms : local_ms - shift_ms;
}
