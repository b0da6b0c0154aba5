/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { ProblemCode } from '../../model/words.ts';

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

export function integerOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A record's `timestamp` in epoch ms. */
export function timeOf(record: Native): number | undefined {
  const stamp = record.timestamp;
  return typeof stamp === 'string' ? isoTime(stamp) : undefined;
}

export function problem(code: ProblemCode, detail: string): Draft {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}
