/**
 * Whether two inputs of the same tool are similar. Contract: pure, and the cost per pair is constant: each input is
 * reduced to a few hashes of its words.
 */
import { checksum } from '../../lib/checksum.ts';
import { fnv1a, mixed } from '../../lib/hash.ts';

/** The smallest hashes of a set of words: their overlap estimates the overlap of the sets, and is exact for few words. */
const HASHES_MAX = 24;
/** Characters at either end that are hashed a second time: the checksum alone has 32 bits. */
const ENDS_CHARS = 512;

/** The words of a text, as hashes in order, and as a set of 64 bits that rules most pairs out. */
export interface Sketch {
  /** The smallest hashes, in order. */
  hashes: Uint32Array;
  /** Bits of the hashes. */
  low: number;
  /** Further bits of the hashes. */
  high: number;
  /** Hashes that share a bit with another one. */
  hidden: number;
}

const NOTHING: Sketch = { hashes: new Uint32Array(), low: 0, high: 0, hidden: 0 };

/** Of the whole text as one word. */
export const sketchOfWord = (word: string): Sketch => sketchOfHashes([mixed(fnv1a(word))]);

/** Of the words of the text. */
export function sketchOf(text: string): Sketch {
  const hashes: number[] = [];
  let hash = 0;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    // Word by word without copies: this is most of the work on large inputs.
    if (isWord(code)) hash = Math.imul((hash || FIRST) ^ code, PRIME);
    else if (hash !== 0) {
      hashes.push(mixed(hash));
      hash = 0;
    }
  }
  return hashes.length === 0 ? NOTHING : sketchOfHashes(hashes);
}

const FIRST = 0x811c9dc5;
const PRIME = 0x01000193;

/** Letters, digits, `_`, and everything beyond ASCII. */
const isWord = (code: number) =>
  code >= 128 ||
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95;

function sketchOfHashes(given: readonly number[]): Sketch {
  const sorted = Uint32Array.from(given).sort();
  const kept: number[] = [];
  for (let at = 0; at < sorted.length && kept.length < HASHES_MAX; at++)
    if (at === 0 || sorted[at] !== sorted[at - 1]) kept.push(sorted[at] as number);
  const hashes = Uint32Array.from(kept);
  let low = 0;
  let high = 0;
  for (const hash of hashes) {
    // The lowest bits: the hashes that are kept share their highest ones.
    if ((hash & 32) === 0) low |= 1 << (hash & 31);
    else high |= 1 << (hash & 31);
  }
  return { hashes, low, high, hidden: hashes.length - bitsIn(low) - bitsIn(high) };
}

function bitsIn(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** At least `overlap`, without reading the hashes. */
export function overlapAtMost(a: Sketch, b: Sketch): number {
  const most = Math.max(a.hashes.length, b.hashes.length);
  if (most === 0) return 0;
  const bits = bitsIn(a.low & b.low) + bitsIn(a.high & b.high);
  return Math.min(1, (bits + Math.min(a.hidden, b.hidden)) / most);
}

/** The share of common words, from 0 to 1. Two inputs without words have nothing in common. */
export function overlap({ hashes: a }: Sketch, { hashes: b }: Sketch): number {
  let i = 0;
  let j = 0;
  let common = 0;
  let all = 0;
  for (; all < HASHES_MAX && i < a.length && j < b.length; all++) {
    const x = a[i] as number;
    const y = b[j] as number;
    if (x === y) common += 1;
    if (x <= y) i += 1;
    if (y <= x) j += 1;
  }
  all = Math.min(HASHES_MAX, all + a.length - i + b.length - j);
  return all === 0 ? 0 : common / all;
}

/** Equal for equal texts. Two different texts have the same value only if someone looks for such a pair. */
export function digestOf(text: string): string {
  const ends =
    text.length <= 2 * ENDS_CHARS ? text : text.slice(0, ENDS_CHARS) + text.slice(-ENDS_CHARS);
  return `${text.length}.${checksum(text).toString(36)}.${fnv1a(ends).toString(36)}`;
}
