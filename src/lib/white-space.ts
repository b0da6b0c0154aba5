/** ASCII white space only: in byte text (lib/byte-text) a byte of another character may look like a space. */

const VISIBLE = /[^\t-\r ]/;

/** Whether the text contains only white space. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}

const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13);

/** Removes white space at the beginning. */
export function trimmedStart(text: string): string {
  let start = 0;
  while (isSpace(text.charCodeAt(start))) start += 1;
  return text.slice(start);
}

/** Removes white space at both ends. */
export function trimmed(text: string): string {
  let end = text.length;
  while (isSpace(text.charCodeAt(end - 1))) end -= 1;
  return trimmedStart(text.slice(0, end));
}
