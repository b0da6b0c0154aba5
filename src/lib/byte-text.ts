/**
 * Byte text: a string whose characters are the bytes of a UTF-8 text. JSON's own characters are ASCII, so JSON parses as
 * byte text at half the cost (one non-ASCII character would make the whole string two bytes wide), and is written again
 * as the same bytes.
 *
 * Contract: every step in between treats text beyond ASCII as opaque, and gives the same as for text:
 * - Only ASCII is white space (lib/white-space): a byte of another character may look like a space.
 * - Patterns name ASCII only. Neither `.`, nor `^` and `$` of many lines: these know separators beyond ASCII.
 * - What counts characters, and JSON inside a text, is read by the functions at the end of this file.
 * - Bounds of memory of 1 MiB and more count what is held, bytes or characters.
 * - Half of a surrogate pair has no bytes: it becomes U+FFFD, or `NeedsText` is thrown.
 */

import { processWide } from './process-wide.ts';
import { utf8Bytes } from './utf8.ts';

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
  return changedText(text, (real) => real.trim(), true);
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

/** Characters of a text. `is_bytes`, here and below: by default, what is being decoded. */
export function charsIn(text: string, is_bytes = decoded.is_bytes): number {
  return is_bytes && !isAscii(text) ? fromByteText(text).length : text.length;
}

/** Whether a text has more characters. Most texts have fewer bytes than that, and are not looked at. */
export function isLonger(text: string, chars: number, is_bytes = decoded.is_bytes): boolean {
  return text.length > chars && charsIn(text, is_bytes) > chars;
}

/** A text changed by what knows only text. */
export function changedText(
  text: string,
  change: (text: string) => string,
  is_bytes = decoded.is_bytes,
): string {
  return is_bytes ? toByteText(change(fromByteText(text))) : change(text);
}

/** The first characters of a decoded text, to search in: one that is cut is another character. */
export function headOf(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return partOf(text, chars, (part) => part.slice(0, chars));
}

/** The last characters of a decoded text, to search in. */
export function tailOf(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return partOf(text, -chars, (part) => part.slice(-chars));
}

/** A character, as JavaScript counts them, has at most 3 bytes. */
function partOf(text: string, chars: number, cut: (text: string) => string): string {
  if (!decoded.is_bytes) return cut(text);
  const near = chars < 0 ? text.slice(3 * chars) : text.slice(0, 3 * chars);
  return isAscii(near) ? cut(near) : toByteText(cut(fromByteText(near)));
}

/** Bytes of a decoded text in UTF-8. */
export function bytesIn(text: string): number {
  return decoded.is_bytes ? text.length : utf8Bytes(text);
}

/** With this encoding a decoded text gives its bytes in UTF-8. */
export function decodedEncoding(): 'latin1' | 'utf8' {
  return decoded.is_bytes ? 'latin1' : 'utf8';
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
