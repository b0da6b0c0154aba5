/** Texts inside records. */
import { isNative, listOf } from './native.ts';

/** Text of a message's or result's content: a string, or text blocks joined by newlines. Null if there is none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  let text: string | null = null;
  for (const block of listOf(content)) {
    if (!isNative(block) || typeof block.text !== 'string') continue;
    if (block.type !== undefined && block.type !== 'text') continue;
    text = text === null ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

/** The text between two marks; null if either is missing. */
export function between(text: string, open: string, close: string): string | null {
  const from = text.indexOf(open);
  if (from < 0) return null;
  const to = text.indexOf(close, from + open.length);
  return to < 0 ? null : text.slice(from + open.length, to);
}

/** Splits a list into words and adds a prefix to each, for record kinds that share one. */
export function words(list: string, prefix = ''): string[] {
  return list
    .trim()
    .split(/\s+/)
    .map((word) => prefix + word);
}

/** `words` as a set for lookups of foreign values. */
export function wordSet(list: string): ReadonlySet<unknown> {
  return new Set(words(list));
}
