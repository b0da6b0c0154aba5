/** How much room foreign values take. */
import * as decoded from './byte-text.ts';

/** Of a value that is no text, and of what holds a text. */
const NODE_CHARS = 16;

/** What a value costs in memory, roughly; counted up to `most` and no further. */
export function charsOf(value: unknown, most: number): number {
  if (typeof value === 'string') return NODE_CHARS + value.length;
  let chars = NODE_CHARS;
  if (typeof value !== 'object' || value === null) return chars;
  for (const key in value) {
    if (chars > most) break;
    chars += key.length + charsOf((value as Record<string, unknown>)[key], most - chars);
  }
  return chars;
}

/** Characters of a list of names, as JSON. */
export function charsIn(names: readonly string[] | null): number {
  return (names ?? []).reduce((sum, name) => sum + decoded.charsIn(name) + 3, 0);
}
