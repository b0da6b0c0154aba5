/** Sets of UTF-16 code units, and character classes of regular expressions as such sets. */

/** 65,536 bits, one for each UTF-16 code unit. */
export const SET_BYTES = 8192;

export function hasUnit(set: Uint8Array, unit: number): boolean {
  return ((set[unit >> 3] as number) & (1 << (unit & 7))) !== 0;
}

export function setOf(...ranges: (readonly [number, number])[]): Uint8Array {
  const set = new Uint8Array(SET_BYTES);
  for (const [from, to] of ranges)
    for (let unit = from; unit <= to; unit++)
      set[unit >> 3] = (set[unit >> 3] as number) | (1 << (unit & 7));
  return set;
}

export function addTo(set: Uint8Array, more: Uint8Array): void {
  for (let i = 0; i < set.length; i++) set[i] = (set[i] as number) | (more[i] as number);
}

export const inverted = (set: Uint8Array): Uint8Array => set.map((byte) => ~byte & 0xff);

const DIGITS = setOf([0x30, 0x39]);
const WORD = setOf([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
const SPACE = setOf(
  [9, 13],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
);
export const LINE_ENDS = setOf([10, 10], [13, 13], [0x2028, 0x2029]);
const CLASSES = new Map([
  ['d', DIGITS],
  ['w', WORD],
  ['s', SPACE],
]);

/** The set of `\d`, `\D` and so on; undefined for other letters. */
export function classOf(letter: string): Uint8Array | undefined {
  const set = CLASSES.get(letter.toLowerCase());
  return set === undefined || CLASSES.has(letter) ? set : inverted(set);
}

/** A byte table with 1 for each of these characters: faster than a bit set if every character is checked. */
export function tableOf(chars: string): Uint8Array {
  const table = new Uint8Array(65536);
  for (const char of chars) table[char.charCodeAt(0)] = 1;
  return table;
}

/** ASCII white space. */
export function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 9 && unit <= 13);
}

export function isWordUnit(unit: number): boolean {
  return hasUnit(WORD, unit);
}
