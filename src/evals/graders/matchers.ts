/** Matchers of texts: `{ regex: … }`, `{ contains: … }`, `{ glob: … }`, and `{ equals: … }` for any value. */
import { globPattern } from '../../lib/glob.ts';
import { isMap } from '../../lib/own.ts';
import type { Fields, Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import type { Tools } from '../types.ts';

export const MATCHER_FIELDS = {
  regex: is.text,
  flags: is.text,
  contains: is.text,
  glob: is.text,
  equals: is.anything,
} satisfies Fields;

export const KINDS = ['regex', 'contains', 'glob', 'equals'] as const;

/** Exactly one of the kinds is present. */
export interface Matcher {
  regex?: string | undefined;
  flags?: string | undefined;
  contains?: string | undefined;
  glob?: string | undefined;
  equals?: unknown;
}

export const isMatcher = (value: unknown): value is Matcher =>
  isMap(value) && KINDS.some((kind) => Object.hasOwn(value, kind));

/** Why a pattern cannot be used; null if it can. */
export function patternFault(pattern: string, flags = ''): string | null {
  try {
    new RegExp(pattern, flags);
    return null;
  } catch (error) {
    return `is not a valid regular expression: ${(error as Error).message.replace(/^Invalid regular expression: /, '')}`;
  }
}

/** Any other field next to a kind is a mistake: a map with such names is written as `{ equals: {…} }`. */
export const matcher: Read<Matcher> = (value, place) => {
  const found: Matcher = is.mapOf(MATCHER_FIELDS)(value, place);
  const kinds = KINDS.filter((kind) => found[kind] !== undefined);
  if (kinds.length === 0) place.mistake('must not be empty');
  if (kinds.length > 1)
    place.mistake(`takes one of ${KINDS.join(', ')}, not ${kinds.join(' and ')}`);
  if (found.flags !== undefined && found.regex === undefined)
    place.inside('flags').mistake('has an effect only with regex');
  const fault = found.regex === undefined ? null : patternFault(found.regex, found.flags);
  if (fault !== null) place.inside('regex').mistake(fault);
  return found;
};

/** A text must be contained; a map is a matcher. */
export const textMatcher: Read<Matcher> = (value, place) => {
  if (isMap(value) && !isMatcher(value))
    place.mistake(`must be a string, or a map with one of ${KINDS.join(', ')}`);
  return isMap(value) ? matcher(value, place) : { contains: is.text(value, place) };
};

/** Matches patterns outside this thread in bounded time: first they are collected, then answered. */
export class Patterns {
  readonly #asked = new Map<string, Map<string, boolean | null>>();

  /** True until the answer is known. */
  readonly test = (pattern: string, flags: string, text: string): boolean => {
    const key = JSON.stringify([pattern, flags]);
    const texts = this.#asked.get(key) ?? new Map<string, boolean | null>();
    this.#asked.set(key, texts);
    if (!texts.has(text)) texts.set(text, null);
    return texts.get(text) ?? true;
  };

  /** Returns why the patterns could not be matched; null on success. */
  async answer({ matches }: Pick<Tools, 'matches'>): Promise<string | null> {
    for (const [key, texts] of this.#asked) {
      const [pattern, flags] = JSON.parse(key) as [string, string];
      const open = [...texts].filter(([, answer]) => answer === null).map(([text]) => text);
      if (open.length === 0) continue;
      const { matched, failure } = await matches(pattern, flags, open);
      if (failure !== null) return `${failure}: ${pattern}`;
      for (const [i, text] of open.entries()) texts.set(text, matched[i] === true);
    }
    return null;
  }
}

/** `contains "a"`, `does not match /a/i`: a matcher in words. */
export function matcherText(
  { regex, flags = '', contains, glob, equals }: Matcher,
  holds: boolean,
) {
  const does = (yes: string, no: string) => (holds ? yes : `does not ${no}`);
  if (regex !== undefined) return `${does('matches', 'match')} /${regex}/${flags}`;
  if (contains !== undefined) return `${does('contains', 'contain')} ${JSON.stringify(contains)}`;
  if (glob !== undefined) return `${does('matches', 'match')} the glob ${JSON.stringify(glob)}`;
  return `${does('equals', 'equal')} ${JSON.stringify(equals)}`;
}

/** Whether a text satisfies a matcher. */
export function textHolds(wanted: Matcher, text: string, test: Patterns['test']): boolean {
  if (wanted.contains !== undefined) return text.includes(wanted.contains);
  if (wanted.regex !== undefined) return test(wanted.regex, wanted.flags ?? '', text);
  if (wanted.glob !== undefined) return test(globPattern(wanted.glob, '[\\s\\S]'), '', text);
  return text.trim() === String(wanted.equals).trim();
}
