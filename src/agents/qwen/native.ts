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

/** A finite number as a whole one. */
export function roundedOf(value: unknown): number | null {
  if (typeof value !== 'number') return null;
  const whole = Math.round(value);
  return Number.isSafeInteger(whole) ? whole : null;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function namesOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((item): item is string => typeof item === 'string');
}

/** A record's `timestamp` in epoch ms; records of stdout have none. */
export function timeOf(record: Native): number | undefined {
  const stamp = record.timestamp;
  return typeof stamp === 'string' ? isoTime(stamp) : undefined;
}

/** Text of a result's content: a string, or text blocks joined by newlines; null when it has none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  let text: string | null = null;
  for (const block of listOf(content)) {
    if (!isNative(block) || typeof block.text !== 'string') continue;
    text = text === null ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

export function problem(code: ProblemCode, detail: string): Draft {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}

/** `type/subtype` of a record, cut, for a problem's detail. */
export function nameOf(record: Native): string {
  const type = typeof record.type === 'string' ? record.type.slice(0, 60) : 'no type';
  return typeof record.subtype === 'string' ? `${type}/${record.subtype.slice(0, 60)}` : type;
}

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}
