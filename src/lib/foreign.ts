/** Readers over foreign records as they come: every field may be missing or of another type. */
import type { Draft, DraftOf } from '../model/draft.ts';
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

/** A non-empty string, as ids must be. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
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
  const nothing = { bytes: null, sha256: null, excerpt: null };
  return { kind: 'problem', data: { stage: 'decode', code: 'figure_invalid', detail, ...nothing } };
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function namesOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((item): item is string => typeof item === 'string');
}

export function problem(code: ProblemCode, detail: string): Draft {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}
