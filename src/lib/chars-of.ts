/** Size of foreign values in memory. */
import * as decoded from './byte-text.ts';

/** Size of a value that is not a text, and overhead of one that is. */
const NODE_CHARS = 16;

/** Approximate size of a value in memory. Counting stops at `most`. */
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

/** Size of a list of names as JSON. */
export function charsIn(names: readonly string[] | null): number {
  return (names ?? []).reduce((sum, name) => sum + decoded.charsIn(name) + 3, 0);
}
