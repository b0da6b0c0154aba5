/** Finding many fixed texts in one pass that looks at every sixth pair of characters of a text without them (Wu and Manber). */
import type { Found } from './redact-rules.ts';

export const ANCHOR_CHARS_MIN = 7;

/** A text to find, and what to make of it. */
export interface Anchor {
  text: string;
  /** Adds what was found; returns where to go on, which is beyond `at`. */
  take(text: string, at: number, found: Found[]): number;
}

export type AnchorFinder = (text: string, found: Found[]) => void;

export function createAnchors(anchors: readonly Anchor[]): AnchorFinder {
  const far = ANCHOR_CHARS_MIN - 1;
  const shifts = new Uint8Array(65536).fill(far);
  const endings = new Map<number, Anchor[]>();
  for (const anchor of anchors) {
    for (let at = 0; at < far; at++) {
      const pair = pairAt(anchor.text, at);
      shifts[pair] = Math.min(shifts[pair] as number, far - 1 - at);
    }
    const last = pairAt(anchor.text, far - 1);
    endings.set(last, [...(endings.get(last) ?? []), anchor].sort(longestFirst));
  }

  function check(text: string, at: number, found: Found[]): number {
    for (const anchor of endings.get(pairAt(text, at + far - 1)) ?? []) {
      if (text.startsWith(anchor.text, at)) return anchor.take(text, at, found);
    }
    return at + 1;
  }

  return (text, found) => {
    const last = text.length - ANCHOR_CHARS_MIN;
    for (let at = 0; at <= last; ) {
      const shift = shifts[pairAt(text, at + far - 1)] as number;
      at = shift > 0 ? at + shift : check(text, at, found);
    }
  };
}

function longestFirst(a: Anchor, b: Anchor): number {
  return b.text.length - a.text.length;
}

/** Two characters as one number; characters beyond Latin-1 share numbers, which costs a look and no more. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}
