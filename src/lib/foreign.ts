/** Readers over foreign records as they come: every field may be missing or of another type. */
import { createHash } from 'node:crypto';
import type { DraftOf } from '../model/draft.ts';
import type { ProblemCode } from '../model/words.ts';
import { LIMITS } from './limits.ts';
import { processWide } from './process-wide.ts';

export type Native = { readonly [key: string]: unknown };

export function isNative(value: unknown): value is Native {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function nativeOf(value: unknown): Native | null {
  return isNative(value) ? value : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A word to look up; '' for what is none. `String` throws for an object with a field named toString. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A path or a text that says something. */
export function filledOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** An id or a name: a non-empty string of bounded length. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? keptName(value) : null;
}

const shortened = processWide('shortened_names', () => ({ count: 0 }));

/** An id or a name as it is kept; its hash where it is too long. A part of it could be a part of a secret. */
export function keptName(text: string): string {
  if (text.length <= LIMITS.name_chars_max) return text;
  shortened.count += 1;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** A problem about the names that were shortened since the last call; null: none were. */
export function shortenedNames(): DraftOf<'problem'> | null {
  if (shortened.count === 0) return null;
  shortened.count = 0;
  return problem(
    'truncated_value',
    `an id or a name is longer than ${LIMITS.name_chars_max} characters; its hash was kept`,
  );
}

/** A whole number that is not negative. */
export function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

export function amountOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Figures that were refused since they were last asked for. One list for all readers, as decoding is synchronous. */
const refused = processWide<string[]>('refused_figures', () => []);
const REFUSED_MAX = 10;

function figureOf(value: unknown, most: number, whole: boolean): number | null {
  if (typeof value !== 'number') return null;
  if (value >= 0 && value <= most && (!whole || Number.isInteger(value))) return value;
  if (refused.length < REFUSED_MAX) refused.push(String(value));
  return null;
}

/** A count of tokens. One that cannot be true is unknown, and `refusedFigures` reports it. */
export function tokensOf(value: unknown): number | null {
  return figureOf(value, LIMITS.tokens_max, true);
}

/** A cost in USD, with the same care. */
export function costOf(value: unknown): number | null {
  return figureOf(value, LIMITS.cost_usd_max, false);
}

/** A problem about the figures that were refused since the last call; null: none were. */
export function refusedFigures(): DraftOf<'problem'> | null {
  if (refused.length === 0) return null;
  const detail = `no possible number of tokens or cost, taken as unknown: ${refused.join(', ')}`;
  refused.length = 0;
  return problem('figure_invalid', detail);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function namesOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((item): item is string => typeof item === 'string');
}

export function problem(code: ProblemCode, detail: string): DraftOf<'problem'> {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}
