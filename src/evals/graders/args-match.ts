/** Compares the input of a call with the arguments that a trajectory expects. */
import { globPattern } from '../../lib/glob.ts';
import { isMap } from '../../lib/own.ts';
import { cleanPath, PATH_FIELDS, pathInside } from '../../lib/paths.ts';
import { quoted } from '../../lib/schema/mistakes.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import { isMatcher, KINDS, type Matcher, matcher, type Patterns, textHolds } from './matchers.ts';

export const ARGS_MATCHES = ['exact', 'superset', 'subset', 'ignore'] as const;
/** A list names the fields to compare, with dots for nested ones. */
export type ArgsMatch = (typeof ARGS_MATCHES)[number] | readonly string[];

/** A misspelt matcher would be compared as a plain map, and match nothing. */
function misspeltIn(value: Record<string, unknown>): string | null {
  const [name, ...others] = Object.keys(value).filter((key) => key !== 'flags');
  if (name === undefined || others.length > 0) return null;
  const near = is.nearestWord(name, KINDS);
  if (near === undefined) return null;
  return `unknown matcher ${quoted(name)}; did you mean ${near}? A map with this field is written as { equals: {…} }`;
}

/** Matchers are read at any depth below the fields themselves. */
const argument: Read = (value, place) => {
  if (isMatcher(value)) return matcher(value, place);
  if (Array.isArray(value)) return is.listOf(argument)(value, place);
  if (!isMap(value)) return value;
  const misspelt = misspeltIn(value);
  if (misspelt !== null) place.mistake(misspelt, ': ');
  return is.named(argument)(value, place);
};
export const argumentsOf = is.named(argument);

type At = readonly (string | number)[];

export interface Difference {
  at: At;
  /** `status`: a difference in the status of the call, not in an argument. */
  kind: 'other' | 'missing' | 'extra' | 'status';
  expected: unknown;
}

export interface Comparing {
  /** The normalised paths of the folder of the run. */
  roots: readonly string[];
  test: Patterns['test'];
}

interface Walk extends Comparing {
  /** Whether fields that only one side has are differences. */
  missing: boolean;
  extra: boolean;
  /** Inside `equals`, where a map is not a matcher. */
  literal?: true;
}

const STRICT = { missing: true, extra: true };
const MODES = {
  exact: STRICT,
  superset: { missing: true, extra: false },
  subset: { missing: false, extra: true },
} as const;

/** All differences; empty when the arguments match. */
export function* differences(
  expected: unknown,
  actual: unknown,
  how: ArgsMatch,
  comparing: Comparing,
): Generator<Difference> {
  if (expected === undefined || expected === 'any' || how === 'ignore') return;
  if (typeof how === 'string') {
    yield* walk(expected, actual, [], { ...comparing, ...MODES[how] });
    return;
  }
  for (const field of how) {
    const at = field.split('.');
    const wanted = valueAt(expected, at);
    if (wanted === undefined) continue;
    yield* walk(wanted, valueAt(actual, at), at, { ...comparing, ...STRICT });
  }
}

function* walk(expected: unknown, actual: unknown, at: At, how: Walk): Generator<Difference> {
  if (at.length > 0 && !how.literal && isMatcher(expected)) {
    if (!matcherHolds(expected, actual, at, how)) yield { at, kind: 'other', expected };
  } else if (isMap(expected) && isMap(actual)) {
    for (const [key, value] of Object.entries(expected)) {
      const here = [...at, key];
      if (Object.hasOwn(actual, key)) yield* walk(value, actual[key], here, how);
      else if (how.missing) yield { at: here, kind: 'missing', expected: value };
    }
    if (!how.extra) return;
    for (const key of Object.keys(actual))
      if (!Object.hasOwn(expected, key))
        yield { at: [...at, key], kind: 'extra', expected: undefined };
  } else if (
    Array.isArray(expected) &&
    Array.isArray(actual) &&
    expected.length === actual.length
  ) {
    for (const [i, value] of expected.entries())
      yield* walk(value, actual[i], [...at, i], { ...how, ...STRICT });
  } else if (expected !== actual && !samePath(expected, actual, at, how))
    yield { at, kind: 'other', expected };
}

/** Whether the value is a path, by the nearest field name. */
const isPathAt = (at: At) =>
  PATH_FIELDS.has(String(at.findLast((key) => typeof key === 'string') ?? ''));

/** Paths are equal if both lead to the same place inside the run's folder. */
function samePath(expected: unknown, actual: unknown, at: At, { roots }: Walk): boolean {
  if (typeof expected !== 'string' || typeof actual !== 'string' || !isPathAt(at)) return false;
  const wanted = pathInside(expected, roots);
  return wanted !== null && wanted === pathInside(actual, roots);
}

function matcherHolds(wanted: Matcher, actual: unknown, at: At, how: Walk): boolean {
  if (wanted.equals !== undefined)
    return (
      walk(wanted.equals, actual, at, { ...how, ...STRICT, literal: true }).next().done === true
    );
  if (!['string', 'number', 'boolean'].includes(typeof actual)) return false;
  const text = String(actual);
  if (!isPathAt(at)) return textHolds(wanted, text, how.test);
  const inside = pathInside(text, how.roots);
  if (wanted.glob !== undefined) {
    const absolute = wanted.glob.startsWith('/');
    const path = absolute ? cleanPath(text) : inside;
    const pattern = globPattern(wanted.glob.replace(/^(?:\.\/)+/, ''), '[^/]');
    return path !== null && how.test(pattern, '', path);
  }
  // All are tested, so that the patterns of all are collected.
  const spellings = [text, ...(inside === null ? [] : [inside])];
  return spellings.map((path) => textHolds(wanted, path, how.test)).includes(true);
}

export function valueAt(value: unknown, at: At): unknown {
  let found: unknown = value;
  for (const key of at) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string | number, unknown>)[key];
  }
  return found;
}
