/** Texts inside records. */
import { fromByteText, toByteText } from '../../lib/byte-text.ts';
import { isNative, listOf } from './native.ts';

/** Text of a message's or result's content: a string, or text blocks joined by newlines; null where there is none. */
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

/** The text between two marks; null where one of them is missing. */
export function between(text: string, open: string, close: string): string | null {
  const from = text.indexOf(open);
  if (from < 0) return null;
  const to = text.indexOf(close, from + open.length);
  return to < 0 ? null : text.slice(from + open.length, to);
}

/** JSON inside a text; undefined where it is none. In byte text an escape would stand for a character, not for its bytes. */
export function jsonIn(text: string, byte_text = false): unknown {
  try {
    if (!byte_text || !text.includes('\\u')) return JSON.parse(text);
    return toByteText(JSON.parse(fromByteText(text)));
  } catch {
    return undefined;
  }
}
