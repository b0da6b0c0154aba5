/**
 * Byte text: a string whose characters are the bytes of a UTF-8 text. JSON's own characters are ASCII, so JSON parses as
 * byte text at half the cost (one non-ASCII character would make the whole string two bytes wide), and is written again
 * as the same bytes. Contract: only where every step in between treats text beyond ASCII as opaque.
 */

import { processWide } from './process-wide.ts';

const BEYOND_ASCII = /[^\u0000-\u007f]/;

function mapText(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return BEYOND_ASCII.test(value) ? map(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapText(item, map));
  const entries = Object.entries(value).map(([key, item]) => [
    mapText(key, map),
    mapText(item, map),
  ]);
  return Object.fromEntries(entries);
}

/** The value with every text, keys too, as byte text. */
export function toByteText<T>(value: T): T {
  return mapText(value, (text) => Buffer.from(text, 'utf8').toString('latin1')) as T;
}

/** The value with every byte text as the text it stands for. */
export function fromByteText<T>(value: T): T {
  return mapText(value, (text) => Buffer.from(text, 'latin1').toString('utf8')) as T;
}

/** Thrown where byte text would give something else than text: whoever reads begins again, with text. */
export class NeedsText extends Error {
  override readonly name = 'NeedsText';
}

/** Whether the text is the same as byte text. */
export function isAscii(text: string): boolean {
  return !BEYOND_ASCII.test(text);
}

/** Byte text without the white space at both ends of the text it stands for. */
export function trimBytes(text: string): string {
  return toByteText(fromByteText(text).trim());
}

/** The bytes as byte text. By the shortest way: `toString` alone would cost a third of the reading. */
export function byteText(bytes: Buffer, start: number, end: number): string {
  return (bytes as Buffer & { latin1Slice(start: number, end: number): string }).latin1Slice(
    start,
    end,
  );
}

/** Writes byte text as its bytes; there is room for it. By the shortest way, as above. */
export function writeByteText(bytes: Buffer, text: string, at: number): void {
  (bytes as Buffer & { latin1Write(text: string, at: number): number }).latin1Write(text, at);
}

const decoded = processWide('decoded_text', () => ({ is_bytes: false }));

/** Says whether the texts that are decoded from now on are byte text. Decoding is synchronous. */
export function decodesByteText(is_bytes: boolean): void {
  decoded.is_bytes = is_bytes;
}

/** JSON inside a decoded text; undefined where it is none. In byte text an escape would be a character and not its bytes. */
export function jsonInside(text: string): unknown {
  const escaped = decoded.is_bytes && text.includes('\\u');
  try {
    const value: unknown = JSON.parse(escaped ? fromByteText(text) : text);
    return escaped ? toByteText(value) : value;
  } catch {
    return undefined;
  }
}
