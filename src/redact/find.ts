/** Combines all finders of secrets: known values in any encoding, known formats, configured patterns. */
import { createAnchors, type Found } from './anchors.ts';
import { type Decoded, decodedParts } from './decode.ts';
import { withoutCutEscape } from './escapes.ts';
import type { Pattern } from './patterns.ts';
import { findRuns, findUserinfo, SHAPE_ANCHORS } from './rules.ts';
import { formAnchor, formsOf, VALUE_CHARS_MIN, widened } from './values.ts';
import { createWrapped } from './wrapped.ts';

/** The characters of known formats, and how far around an escape they are searched for. */
const KEY_CHARS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=';
const KEY_REACH = 256;

export function createFinders(values: readonly string[], patterns: Pattern | null) {
  const forms = values.flatMap((value) => {
    const kind = kindOf(value);
    return formsOf(value).map((form) => formAnchor(form, value, kind));
  });
  const findAnchors = createAnchors([...forms, ...SHAPE_ANCHORS]);
  const texts = forms.map(({ text }) => text);
  const wrapped = forms.length === 0 ? null : createWrapped(texts, createAnchors(forms));
  const decoding = {
    chars: unitsOf(KEY_CHARS + texts.join('')),
    reach: texts.reduce((most, text) => Math.max(most, text.length), KEY_REACH),
    breaks: wrapped?.mayCross ?? (() => false),
  };
  const beginnings = createBeginnings(texts);
  const spaced = createBeginnings(texts.filter((text) => /\s/.test(text)));

  /** Whether the last text contained something that may be next to a secret. */
  let near = false;

  function findShapes(text: string, found: Found[]): void {
    if (findAnchors(text, found)) near = true;
    for (let i = 0; i < found.length; i++) found[i] = widened(found[i] as Found, text);
    findRuns(text, found);
    if (findUserinfo(text, found)) near = true;
    wrapped?.find(text, found);
  }

  /** In no particular order, including overlaps. */
  function find(text: string): Found[] {
    const found: Found[] = [];
    near = false;
    if (text.length >= VALUE_CHARS_MIN) {
      findShapes(text, found);
      for (const part of decodedParts(text, decoding)) findDecoded(part, findShapes, found);
    }
    patterns?.find(text, (start, end) => void found.push({ start, end, kind: 'pattern' }));
    return found;
  }

  /** The same across line breaks, including the character before, which may contain a part of the secret. */
  function wrappedCutOff(text: string): number {
    const tail = wrapped?.tail(text) ?? null;
    const first = tail === null ? undefined : tail.places[beginnings(tail.text, 0)];
    if (tail === null || first === undefined) return text.length;
    return tail.places.includes(first - 1) ? first - 1 : first;
  }

  /**
   * The position of a possible secret that is truncated at the end of the text; the length of the text if there is none.
   * Words are ignored; only secrets that continue after white space count. With `long`, also longer runs of characters.
   */
  function cutOff(text: string, long = 0): number {
    let first = patterns?.find(text, () => undefined) ?? text.length;
    if (forms.length === 0) return first;
    const identity = { text, start: (at: number) => at, last: true };
    for (const level of [identity, ...decodedParts(text, decoding)]) {
      if (!level.last) continue;
      const listed = long > 0 ? beginnings : spaced;
      const least = level === identity ? long : 0;
      for (const part of [level.text, withoutCutEscape(level.text)]) {
        const at = Math.min(listed(part, least), wrappedCutOff(part));
        if (at < part.length) first = Math.min(first, level.start(at));
      }
    }
    return first;
  }

  /** Whether a value or pattern needs characters instead of bytes. */
  const needsText = patterns !== null || values.some((value) => /[^\u0000-\u007f]/.test(value));
  return {
    find,
    cutOff,
    needsText,
    /** Whether `find` found a secret in the last text, or something that may be next to one. */
    near: (found: readonly Found[]) => near || found.length > 0,
  };
}

/** Maps secrets in the decoded part to positions in the complete text. */
function findDecoded(
  { text, start, end }: Decoded,
  findIn: (text: string, found: Found[]) => void,
  found: Found[],
): void {
  const inside: Found[] = [];
  findIn(text, inside);
  for (const each of inside) {
    const value = each.value ?? text.slice(each.start, each.end);
    found.push({ start: start(each.start), end: end(each.end), kind: each.kind, value });
  }
}

/** The two halves of a surrogate pair are escaped separately. */
function unitsOf(text: string): Set<number> {
  const units = new Set<number>();
  for (let at = 0; at < text.length; at++) units.add(text.charCodeAt(at));
  return units;
}

/** A value in a known format has that kind, in every run and encoding. */
function kindOf(value: string): string {
  const found: Found[] = [];
  findRuns(value, found);
  const whole = found.find(({ start, end }) => start === 0 && end === value.length);
  return whole?.kind ?? 'env';
}

/** The position of a form that is truncated at the end of the text; the length of the text if there is none. */
function createBeginnings(forms: readonly string[]): (text: string, longer: number) => number {
  const by_first = new Map<number, string[]>();
  let longest = 0;
  for (const form of forms) {
    longest = Math.max(longest, form.length);
    const first = form.charCodeAt(0);
    by_first.set(first, [...(by_first.get(first) ?? []), form]);
  }
  return (text, longer) => {
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
      const listed = by_first.get(text.charCodeAt(at));
      if (listed === undefined) continue;
      const rest = text.length - at;
      const second = text.charCodeAt(at + 1);
      for (const form of listed) {
        if (form.length <= rest || form.length <= longer) continue;
        if (rest > 1 && form.charCodeAt(1) !== second) continue;
        if (form.startsWith(text.slice(at))) return at;
      }
    }
    return text.length;
  };
}
