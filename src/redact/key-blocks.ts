/** Private keys between BEGIN and END lines: their start and end. */
import type { Anchor } from './anchors.ts';

export const KEY_BLOCK_CHARS_MAX = 64 * 1024;

/** Private keys of PEM, OpenSSH and PGP, and of SSH2. */
const KEY_FRAMES = [
  { begin: '-----BEGIN', end: '-----END', close: '-----' },
  { begin: '---- BEGIN', end: '---- END', close: '----' },
] as const;
/** A space, possibly escaped. */
const SPACE = '(?: |\\+|%20|\\\\{1,32}u0020|&#32;)';
const PRIVATE_KEY = new RegExp(`^${SPACE}.*PRIVATE${SPACE}KEY`);
const LABEL_CHARS_MAX = 60;

type KeyFrame = (typeof KEY_FRAMES)[number];

/** Whether a private key begins here; null if the text ends too early to decide. */
function beginsKey(text: string, at: number, { begin, close }: KeyFrame): boolean | null {
  const label = text.slice(at + begin.length, at + begin.length + LABEL_CHARS_MAX);
  const last = label.indexOf(close);
  if (last < 0) return label.length < LABEL_CHARS_MAX ? null : false;
  return PRIVATE_KEY.test(label.slice(0, last));
}

function keyAnchor(frame: KeyFrame): Anchor {
  return {
    text: frame.begin,
    take(text, at, found) {
      const from = at + frame.begin.length;
      if (beginsKey(text, at, frame) !== true) return from;
      const end = endOfKey(text, from, frame);
      found.push({ start: at, end, kind: 'pem' });
      return end;
    },
  };
}

/** The position after the END line. A truncated block extends to the end of the text. */
function endOfKey(text: string, from: number, { end, close }: KeyFrame): number {
  const limit = Math.min(text.length, from + KEY_BLOCK_CHARS_MAX);
  const block = text.slice(from, limit);
  const last = block.indexOf(end);
  if (last < 0) return limit;
  const shut = block.indexOf(close, last + end.length);
  const whole = shut >= 0 && shut <= last + end.length + LABEL_CHARS_MAX;
  return from + (whole ? shut + close.length : last + end.length);
}

/** The start of an unfinished private key; -1 if there is none. With `cut`, its first line may be incomplete. */
export function openKeyBlock(text: string, cut = false): number {
  for (const frame of KEY_FRAMES) {
    // Searching forward is several times faster than backward, and there rarely is a key.
    if (!text.includes(frame.begin)) continue;
    const at = text.lastIndexOf(frame.begin);
    const begins = beginsKey(text, at, frame);
    if (begins === null ? cut : begins && keyBlockEnd(text.slice(at)) < 0) return at;
  }
  return -1;
}

/** The position after the line that ends a key; -1 if there is none. */
export function keyBlockEnd(text: string): number {
  for (const { end, close } of KEY_FRAMES) {
    const at = text.indexOf(end);
    const shut = at < 0 ? -1 : text.indexOf(close, at + end.length);
    if (shut >= 0) return shut + close.length;
  }
  return -1;
}

export const KEY_ANCHORS: readonly Anchor[] = KEY_FRAMES.map(keyAnchor);
