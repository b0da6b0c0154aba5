/** Hashes of text, and of JSON values regardless of key order. They need no library, so pure modules can use them. */

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/** 32-bit FNV-1a over the text's UTF-16 units, low byte then high byte; for ASCII the same as over its bytes. */
export function fnv1a(text: string, seed: number = OFFSET): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), PRIME);
    if (unit > 0xff) hash = Math.imul(hash ^ (unit >>> 8), PRIME);
  }
  return hash >>> 0;
}

/** The final mix of MurmurHash3: every input bit affects every bit of the result. */
export function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** JSON with sorted keys, so that equal values have equal texts. The reader of messages has bounded the depth. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const map = value as Record<string, unknown>;
  const fields = Object.keys(map)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(map[key])}`);
  return `{${fields.join(',')}}`;
}
