/** Text and bytes: cutting on a character boundary, repairing what is not well-formed. */

/** Whether the bytes are well-formed UTF-8. Here for those that may not import from Node themselves. */
export { isUtf8 } from 'node:buffer';

/** Bytes of `text` in UTF-8. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** The first `most` units, as a text of its own: a part of a longer text keeps all of that in memory. */
export function headCopy(text: string, most: number): string {
  if (text.length <= most) return text;
  return Buffer.from(text.slice(0, most), 'utf16le').toString('utf16le');
}

/** `text` with lone surrogates replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** The longest beginning of `text` that has at most `bytes_max` bytes in UTF-8 and ends on a character boundary. */
export function cutUtf8(text: string, bytes_max: number): string {
  if (text.length * 3 <= bytes_max) return text;
  if (text.length <= bytes_max && utf8Bytes(text) <= bytes_max) return text;
  const bytes = Buffer.from(text.slice(0, bytes_max), 'utf8');
  let end = Math.min(bytes_max, bytes.length);
  while (end > 0 && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const cut = bytes.toString('utf8', 0, end);
  // A slice through a surrogate pair leaves half of it, which the encoder turns into U+FFFD.
  return cut.endsWith('\ufffd') && !text.startsWith(cut) ? cut.slice(0, -1) : cut;
}

const BEYOND_ASCII = /[^\u0000-\u007f]/;

/** Bytes of a text that is ASCII; null for any other, whose bytes depend on how the text is held (lib/byte-text). */
export function asciiBytes(text: string): number | null {
  return BEYOND_ASCII.test(text) ? null : text.length;
}
