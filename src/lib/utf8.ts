/** Text and bytes: truncates at character boundaries, and repairs text that is not well-formed. */

/** Whether the bytes are well-formed UTF-8. For pure modules, which must not import from Node. */
export { isUtf8 } from 'node:buffer';

/** UTF-8 length of `text`. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** A copy of the first `most` units: a slice would keep the whole longer text in memory. */
export function headCopy(text: string, most: number): string {
  if (text.length <= most) return text;
  return Buffer.from(text.slice(0, most), 'utf16le').toString('utf16le');
}

/** At most `most` units, then an ellipsis if there are more. Splits no surrogate pair. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = headCopy(text, most).replace(/[\ud800-\udbff]$/, '');
  return `${head.trimEnd()}…`;
}

/** Replaces lone surrogates with U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** The longest prefix of `text` with at most `bytes_max` UTF-8 bytes that ends on a character boundary. */
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

/** UTF-8 length of an ASCII text; null for other text, which may be byte text (lib/byte-text). */
export function asciiBytes(text: string): number | null {
  return BEYOND_ASCII.test(text) ? null : text.length;
}
