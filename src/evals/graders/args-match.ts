/** Whether a call's input is as a trajectory expects it. */
import { isMap } from '../../lib/own.ts';

export const ARGS_MATCHES = ['exact', 'superset', 'subset', 'ignore'] as const;
/** A list names the fields to compare, with dots for nested ones. */
export type ArgsMatch = (typeof ARGS_MATCHES)[number] | readonly string[];

export function argsMatch(expected: unknown, actual: unknown, how: ArgsMatch): boolean {
  if (expected === undefined || expected === 'any' || how === 'ignore') return true;
  if (how === 'exact') return equal(expected, actual);
  if (how === 'superset') return within(expected, actual);
  if (how === 'subset') return within(actual, expected);
  return how
    .map((path) => ({ wanted: valueAt(expected, path), path }))
    .filter(({ wanted }) => wanted !== undefined)
    .every(({ wanted, path }) => equal(wanted, valueAt(actual, path)));
}

function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isMap(a) || !isMap(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
  );
}

/** Whether everything in `part` is in `all`: maps may have more there, all else is equal. */
function within(part: unknown, all: unknown): boolean {
  if (!isMap(part) || !isMap(all)) return equal(part, all);
  return Object.entries(part).every(
    ([key, value]) => Object.hasOwn(all, key) && within(value, all[key]),
  );
}

function valueAt(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}
