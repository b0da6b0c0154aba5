/** Validates options that a program passes: all unknown names and wrong types are reported together, before any work. */
import { isMap } from '../own.ts';
import { Report } from './mistakes.ts';
import { type Fields, type Read, readMap } from './read.ts';

/** Throws a TachoError with the code `usage`, for example `run: timeout_ms: unknown option; did you mean timeoutMs?`. */
export function checkOptions(what: string, value: unknown, fields: Fields): void {
  const report = new Report('request', { code: 'usage' });
  const positionOf = () => ({ line: 1, col: 1 });
  const source = { path: what, value: value ?? null, faults: [], positionOf };
  const place = report.open({ ...source, unplaced: true });
  if (isMap(value)) readMap(value, fields, place, { called: 'option' });
  else place.mistake('must be an object of options');
  report.end();
}

/** A value that has these methods. */
export const having =
  (what: string, ...names: readonly (string | symbol)[]): Read =>
  (value, place) => {
    const found = Object(value) as Record<string | symbol, unknown>;
    if (!names.some((name) => typeof found[name] === 'function')) place.mistake(`must be ${what}`);
    return value;
  };

export const aFunction: Read = (value, place) => {
  if (typeof value !== 'function') place.mistake('must be a function');
  return value;
};

export const aClock = having('a clock with now() and elapsed()', 'now');
