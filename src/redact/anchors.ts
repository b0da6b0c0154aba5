/**
 * Finds many fixed texts in one pass (Wu and Manber): a text that contains none of them is scanned in steps of several
 * characters. Contract: the time does not depend on the number of texts, only on how often one of them may begin.
 */

/** Characters that are looked up together. Every text to find has at least this many. */
const BLOCK_CHARS_MAX = 7;

/** A secret in a text. `value` is the basis of its mark if it differs from the text. */
export interface Found {
  start: number;
  end: number;
  kind: string;
  value?: string;
  /** Whether the character before or after also contains a part of it. */
  before?: boolean;
  after?: boolean;
}

/** A text to find, and how to handle a match. */
export interface Anchor {
  text: string;
  /** Adds a match and returns its end. Up to there, only other anchors are searched for. */
  take(text: string, at: number, found: Found[]): number;
}

/** `end`: the end of its last match in the current text. */
interface Slot {
  anchor: Anchor;
  end: number;
}

/** Returns whether a text to find occurred, even if it was not a secret. */
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

  /** Slots with an `end` in the current text. */
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

/** Two characters as one number. Characters outside Latin-1 share numbers, which only costs an extra comparison. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}

/** The characters of a block as one number; different blocks may share one. */
function keyAt(text: string, at: number, block: number): number {
  let key = 0;
  for (let i = at; i < at + block; i++) key = (Math.imul(key, 31) + text.charCodeAt(i)) | 0;
  return key;
}
