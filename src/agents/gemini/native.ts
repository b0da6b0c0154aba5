/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { isoTime } from '../../lib/iso-time.ts';
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

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An ISO time in epoch ms. */
export function timeOf(stamp: unknown): number | undefined {
  return typeof stamp === 'string' ? isoTime(stamp) : undefined;
}

/** Text of a message's content: a string, or the text of its parts, which follow each other without a break. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of listOf(content)) {
    if (typeof part === 'string') text += part;
    else if (isNative(part) && part.thought !== true) text += textOf(part.text) ?? '';
  }
  return text;
}

export function problem(code: ProblemCode, detail: string): Draft {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}

/** A foreign word in a problem's detail, cut. */
export function shortOf(word: string): string {
  return word.slice(0, 60);
}
