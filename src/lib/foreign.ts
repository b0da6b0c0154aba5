/** Readers over foreign records as they come: every field may be missing or of another type. */
import type { Draft } from '../model/draft.ts';
import type { ProblemCode } from '../model/words.ts';

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
