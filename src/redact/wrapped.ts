/**
 * Finds known secrets that are wrapped over lines, the way many programs wrap base64 and hex: the text before and after a
 * line break is inspected as one text.
 */
import type { AnchorFinder, Found } from './anchors.ts';
import { isBlank, tableOf } from './code-units.ts';
import { widened } from './values.ts';

const CODE = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-=');
const LF = 10;
const INDENT_CHARS_MAX = 64;
const GRAM_BITS = 18;

interface Joined {
  text: string;
  places: number[];
  /** Whether it contains all of the encoded text after the position. */
  whole: boolean;
}

export function createWrapped(forms: readonly string[], finder: AnchorFinder) {
  /** Trigrams of the forms: for most line breaks this check is enough. */
  const grams = new Uint8Array(1 << GRAM_BITS);
  let reach = 0;
  for (const form of forms) {
    reach = Math.max(reach, form.length);
    for (let at = 0; at + 2 < form.length; at++) grams[gram(form, at, at + 1, at + 2)] = 1;
  }

  /** Whether a known secret may continue from one position to the other across a line break. */
  function mayCross(text: string, before: number, after: number): boolean {
    if (CODE[text.charCodeAt(before)] !== 1 || CODE[text.charCodeAt(after)] !== 1) return false;
    const next = onward(text, after);
    return (
      grams[gram(text, backward(text, before), before, after)] === 1 ||
      grams[gram(text, before, after, next)] === 1
    );
  }

  return {
    mayCross,
    find(text: string, found: Found[]): void {
      let done = 0;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
        if (at < done) continue;
        const before = text.charCodeAt(at - 1) === 13 ? at - 2 : at - 1;
        if (CODE[text.charCodeAt(before)] !== 1) continue;
        if (!mayCross(text, before, afterBreak(text, at))) continue;
        const joined = joinAround(text, at, reach);
        const last = joined.places.at(-1) ?? at;
        done = joined.whole ? last + 1 : last - reach;
        const inside: Found[] = [];
        finder(joined.text, inside);
        // Extended only on its own line: the text before a break may have been released.
        for (const each of inside) {
          const start = joined.places[each.start] as number;
          const end = (joined.places[each.end - 1] as number) + 1;
          found.push(widened({ ...each, start, end }, text));
        }
      }
    },
    /** The joined last lines of the text with the positions of its characters; null if no line is wrapped. */
    tail(text: string): Joined | null {
      const joined = joinAround(text, text.length, reach);
      const first = joined.places[0] ?? text.length;
      return text.length - first === joined.places.length ? null : joined;
    },
  };
}

function gram(text: string, a: number, b: number, c: number): number {
  const mixed =
    Math.imul(text.charCodeAt(a), 0x9e3779b1) ^
    Math.imul(text.charCodeAt(b), 0x85ebca6b) ^
    Math.imul(text.charCodeAt(c), 0xc2b2ae35);
  return mixed >>> (32 - GRAM_BITS);
}

/** The position after the line break here and the indentation of the next line. */
function afterBreak(text: string, at: number): number {
  let after = at + 1;
  while (text.charCodeAt(after) === 0x20 || text.charCodeAt(after) === 9) after += 1;
  return after;
}

/** The previous encoded character, across a line break if there is one. */
function backward(text: string, at: number): number {
  let before = at - 1;
  while (before >= 0 && isBlank(text.charCodeAt(before))) before -= 1;
  return before;
}

function onward(text: string, at: number): number {
  let after = at + 1;
  while (after < text.length && isBlank(text.charCodeAt(after))) after += 1;
  return after;
}

/** Encoded text on both sides of a position, across line breaks, up to `reach` characters in each direction. */
function joinAround(text: string, at: number, reach: number): Joined {
  const places: number[] = [];
  for (let place = at - 1; places.length < reach && place >= 0; place--) {
    if (CODE[text.charCodeAt(place)] === 1) places.push(place);
    else if (!isBreak(text, place)) break;
  }
  places.reverse();
  const left = places.length;
  const most = left + 2 * reach;
  for (let place = at; places.length < most && place < text.length; place++) {
    if (CODE[text.charCodeAt(place)] === 1) places.push(place);
    else if (!isBreak(text, place)) break;
  }
  let joined = '';
  for (const place of places) joined += text[place];
  return { text: joined, places, whole: places.length < most };
}

/** A line break, its CR, or the indentation after it. */
function isBreak(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === LF) return true;
  if (code === 13) return text.charCodeAt(at + 1) === LF || at + 1 === text.length;
  if (code !== 0x20 && code !== 9) return false;
  let before = at - 1;
  while (before > at - INDENT_CHARS_MAX && isBlank(text.charCodeAt(before))) {
    if (text.charCodeAt(before) === LF) return true;
    before -= 1;
  }
  return false;
}
