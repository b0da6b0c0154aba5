/**
 * Byte text: a string with one character per byte of a UTF-8 text. JSON syntax is ASCII, so JSON can be parsed as byte
 * text at half the cost (one non-ASCII character would make the whole string two bytes wide), and is written back as the
 * same bytes.
 *
 * Contract: every step in between treats non-ASCII text as opaque and has the same result as for ordinary text:
 * - Only ASCII is white space (lib/white-space): a byte of another character may look like a space.
 * - Patterns contain only ASCII. They use neither `.` nor multi-line `^` and `$`, which match non-ASCII separators.
 * - The functions at the end of this file count characters and read JSON inside a text.
 * - Memory bounds of 1 MiB and more count whatever is held, bytes or characters.
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

/** Converts every text of the value, including keys, to byte text. */
export function toByteText<T>(value: T): T {
  return mapText(value, (text) => Buffer.from(text, 'utf8').toString('latin1')) as T;
}

/** Converts every byte text of the value back to text. */
export function fromByteText<T>(value: T): T {
  return mapText(value, (text) => Buffer.from(text, 'latin1').toString('utf8')) as T;
}

/** Thrown when byte text would lead to a different result than text. The reader then restarts with text. */
export class NeedsText extends Error {
  override readonly name = 'NeedsText';
}

/** Whether the text and its byte text are equal. */
export function isAscii(text: string): boolean {
  return !BEYOND_ASCII.test(text);
}

/** Trims byte text like `trim` trims the text that it encodes. */
export function trimBytes(text: string): string {
  return changedText(text, (real) => real.trim(), true);
}

/** The bytes as byte text. Calls the native method directly: `toString` would take a third of the reading time. */
export function byteText(bytes: Buffer, start: number, end: number): string {
  return (bytes as Buffer & { latin1Slice(start: number, end: number): string }).latin1Slice(
    start,
    end,
  );
}

/** Writes byte text as bytes to a buffer that has room for it, with the native method as above. */
export function writeByteText(bytes: Buffer, text: string, at: number): void {
  (bytes as Buffer & { latin1Write(text: string, at: number): number }).latin1Write(text, at);
}

const decoded = processWide('decoded_text', () => ({ is_bytes: false }));

/** Sets whether the texts that are decoded from now on are byte text. Decoding is synchronous. */
export function decodesByteText(is_bytes: boolean): void {
  decoded.is_bytes = is_bytes;
}

/** The number of characters. `is_bytes`, here and below: defaults to the current decoding mode. */
export function charsIn(text: string, is_bytes = decoded.is_bytes): number {
  return is_bytes && !isAscii(text) ? fromByteText(text).length : text.length;
}

/** Whether a text has more than N characters. Texts with fewer bytes than that, which are most, are not inspected. */
export function isLonger(text: string, chars: number, is_bytes = decoded.is_bytes): boolean {
  return text.length > chars && charsIn(text, is_bytes) > chars;
}

/** Applies a function that works only on ordinary text. */
export function changedText(
  text: string,
  change: (text: string) => string,
  is_bytes = decoded.is_bytes,
): string {
  return is_bytes ? toByteText(change(fromByteText(text))) : change(text);
}

/** The first characters of a decoded text, for searching: half of a character would be a different one. */
export function headOf(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return partOf(text, chars, (part) => part.slice(0, chars));
}

/** The last characters of a decoded text, for searching. */
export function tailOf(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return partOf(text, -chars, (part) => part.slice(-chars));
}

/** A character, as JavaScript counts characters, has at most 3 bytes. */
function partOf(text: string, chars: number, cut: (text: string) => string): string {
  if (!decoded.is_bytes) return cut(text);
  const near = chars < 0 ? text.slice(3 * chars) : text.slice(0, 3 * chars);
  return isAscii(near) ? cut(near) : toByteText(cut(fromByteText(near)));
}

/** UTF-8 length of a decoded text. */
export function bytesIn(text: string): number {
  return decoded.is_bytes ? text.length : utf8Bytes(text);
}

/** The Buffer encoding that turns a decoded text into its UTF-8 bytes. */
export function decodedEncoding(): 'latin1' | 'utf8' {
  return decoded.is_bytes ? 'latin1' : 'utf8';
}

/** Parses JSON inside a decoded text; undefined if it is not JSON. In byte text, an escape would be a character, not its bytes. */
export function jsonInside(text: string): unknown {
  const escaped = decoded.is_bytes && text.includes('\\u');
  try {
    const value: unknown = JSON.parse(escaped ? fromByteText(text) : text);
    return escaped ? toByteText(value) : value;
  } catch {
    return undefined;
  }
}
