/**
 * Decodes escapes in texts and maps positions back to the source. Contract: linear time; the source is not changed.
 */
import { type EscapeOptions, type Escapes, escapesOf } from './escapes.ts';

/** A decoded part of a text around escapes. Positions map to the original source. */
export interface Decoded {
  text: string;
  /** The source position where the character at this position begins. */
  start(at: number): number;
  /** The source position where the character before this position ends. */
  end(at: number): number;
  /** Whether the part reaches the end of the source. */
  last: boolean;
}

interface DecodeOptions extends EscapeOptions {
  /** How many characters around an escape are inspected. */
  reach: number;
}

/** JSON in JSON in JSON, and further levels for a URL or a page around it. */
const LEVELS_MAX = 5;
const NO_PARTS: readonly Decoded[] = [];

/** The parts of a text that contain escapes, decoded repeatedly until no escape is left. */
export function decodedParts(source: string, options: DecodeOptions): readonly Decoded[] {
  // Most texts have no escapes.
  if (!source.includes('\\') && !source.includes('%') && !source.includes('&')) return NO_PARTS;
  const parts: Decoded[] = [];
  let level = decodeOnce(source, options, null);
  for (let i = 0; i < LEVELS_MAX && level.length > 0; i++) {
    parts.push(...level);
    level = level.flatMap((part) => decodeOnce(part.text, options, part));
  }
  return parts;
}

/** The text after decoding all escapes that `decodedParts` knows. */
export function fullyDecoded(source: string): string {
  let text = source;
  for (let i = 0; i < LEVELS_MAX; i++) {
    const [whole] = decodeOnce(text, { chars: ANY, breaks: () => true, reach: text.length }, null);
    if (whole === undefined) break;
    text = whole.text;
  }
  return text;
}

const ANY: ReadonlySet<number> = Object.assign(new Set<number>(), { has: () => true });

function decodeOnce(text: string, options: DecodeOptions, outer: Decoded | null): Decoded[] {
  const { from, to, text: chars } = escapesOf(text, options);
  const parts: Decoded[] = [];
  for (let first = 0; first < from.length; ) {
    let last = first + 1;
    while (last < from.length && (from[last] as number) - (to[last - 1] as number) <= options.reach)
      last += 1;
    const range = [
      Math.max(0, (from[first] as number) - options.reach),
      Math.min(text.length, (to[last - 1] as number) + options.reach),
    ] as const;
    const some = {
      from: from.slice(first, last),
      to: to.slice(first, last),
      text: chars.slice(first, last),
    };
    parts.push(partOf(text, some, range, outer));
    first = last;
  }
  return parts;
}

function partOf(
  source: string,
  escapes: Escapes,
  [from, to]: readonly [number, number],
  outer: Decoded | null,
): Decoded {
  const pieces: string[] = [];
  /** Start and end of each escape in the decoded text. */
  const [starts, ends]: [number[], number[]] = [[], []];
  let [done, length] = [from, 0];
  for (const [i, text] of escapes.text.entries()) {
    pieces.push(source.slice(done, escapes.from[i]), text);
    length += (escapes.from[i] as number) - done;
    starts.push(length);
    length += text.length;
    ends.push(length);
    done = escapes.to[i] as number;
  }
  pieces.push(source.slice(done, to));
  /** `inside`: used for a position within an escape; `shift`: added to any other position. */
  const placeOf = (at: number, inside: readonly number[], shift: number): number => {
    const i = lastUpTo(starts, at);
    if (i < 0) return from + at + shift;
    if (at < (ends[i] as number)) return inside[i] as number;
    return (escapes.to[i] as number) + (at - (ends[i] as number)) + shift;
  };
  const start = (at: number) => placeOf(at, escapes.from, 0);
  const end = (at: number) => placeOf(at - 1, escapes.to, 1);
  return {
    text: pieces.join(''),
    start: outer === null ? start : (at) => outer.start(start(at)),
    end: outer === null ? end : (at) => outer.end(end(at)),
    last: to === source.length && (outer?.last ?? true),
  };
}

/** The index of the last number that is at most `most`; -1 if there is none. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
