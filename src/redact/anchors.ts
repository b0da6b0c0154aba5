/**
 * Finding many fixed texts in one pass (Wu and Manber): a text that holds none of them is looked at in steps of several
 * characters. Contract: the time does not grow with the number of texts, only with how often one of them may begin.
 */

/** Characters of a text that are looked up at once; the texts to find have at least as many. */
const BLOCK_CHARS_MAX = 7;

/** A secret in a text. `value` is what its mark is made of, where that is not the text itself. */
export interface Found {
  start: number;
  end: number;
  kind: string;
  value?: string;
  /** Whether the character before or after holds a part of it too. */
  before?: boolean;
  after?: boolean;
}

/** A text to find, and what to make of it. */
export interface Anchor {
  text: string;
  /** Adds what was found; returns where it ends: the same anchor is not looked for before, another one is. */
  take(text: string, at: number, found: Found[]): number;
}

/** `end`: where what it found last in the present text ends. */
interface Slot {
  anchor: Anchor;
  end: number;
}

/** Returns whether a text to find was met, whatever was made of it. */
export type AnchorFinder = (text: string, found: Found[]) => boolean;

export function createAnchors(anchors: readonly Anchor[]): AnchorFinder {
  let block = BLOCK_CHARS_MAX;
  for (const { text } of anchors) block = Math.min(block, text.length);
  const far = block - 1;
  const shifts = new Uint8Array(65536).fill(far);
  const blocks = new Map<number, Slot[]>();
  for (const anchor of anchors) {
    for (let at = 0; at < far; at++) {
      const pair = pairAt(anchor.text, at);
      shifts[pair] = Math.min(shifts[pair] as number, far - 1 - at);
    }
    const key = keyAt(anchor.text, 0, block);
    const same = blocks.get(key);
    if (same === undefined) blocks.set(key, [{ anchor, end: 0 }]);
    else same.push({ anchor, end: 0 });
  }

  /** Slots with an `end` in the present text. */
  const taken: Slot[] = [];

  return (text, found) => {
    const last = text.length - block;
    for (let at = 0; at <= last; ) {
      const shift = shifts[pairAt(text, at + far - 1)] as number;
      if (shift === 0) check(text, at, found);
      at += shift === 0 ? 1 : shift;
    }
    const met = taken.length > 0;
    while (taken.length > 0) (taken.pop() as Slot).end = 0;
    return met;
  };

  function check(text: string, at: number, found: Found[]): void {
    const slots = blocks.get(keyAt(text, at, block));
    if (slots === undefined) return;
    for (const slot of slots) {
      if (at < slot.end || !text.startsWith(slot.anchor.text, at)) continue;
      slot.end = slot.anchor.take(text, at, found);
      taken.push(slot);
    }
  }
}

/** Two characters as one number; characters beyond Latin-1 share numbers, which costs a look and no more. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}

/** The characters of a block as one number; different blocks may share one. */
function keyAt(text: string, at: number, block: number): number {
  let key = 0;
  for (let i = at; i < at + block; i++) key = (Math.imul(key, 31) + text.charCodeAt(i)) | 0;
  return key;
}
