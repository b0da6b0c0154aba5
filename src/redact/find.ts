/** Everything that finds secrets in a text, put together: known values in any form, known shapes, configured patterns. */
import { createAnchors, type Found } from './anchors.ts';
import { type Decoded, decodedParts } from './decode.ts';
import { withoutCutEscape } from './escapes.ts';
import type { Pattern } from './patterns.ts';
import { findRuns, findUserinfo, SHAPE_ANCHORS } from './rules.ts';
import { formAnchor, formsOf, VALUE_CHARS_MIN, widened } from './values.ts';
import { createWrapped } from './wrapped.ts';

/** What known shapes are made of, and how far around an escape they are looked for. */
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

  /** Whether the text that was looked at last has something that a secret may be beside. */
  let near = false;

  function findShapes(text: string, found: Found[]): void {
    if (findAnchors(text, found)) near = true;
    for (let i = 0; i < found.length; i++) found[i] = widened(found[i] as Found, text);
    findRuns(text, found);
    if (findUserinfo(text, found)) near = true;
    wrapped?.find(text, found);
  }

  /** In no order, overlaps included. */
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

  /** The same over line breaks, with the character before it that may hold a part of it. */
  function wrappedCutOff(text: string): number {
    const tail = wrapped?.tail(text) ?? null;
    const first = tail === null ? undefined : tail.places[beginnings(tail.text, 0)];
    if (tail === null || first === undefined) return text.length;
    return tail.places.includes(first - 1) ? first - 1 : first;
  }

  /**
   * Where a secret may begin that the end of the text cuts off; the text's length when none does. Words are not looked
   * at, only what continues behind white space; with `long`, also what is longer than this many characters.
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

  /** Whether some value or pattern means characters, not bytes. */
  const needsText = patterns !== null || values.some((value) => /[^\u0000-\u007f]/.test(value));
  return {
    find,
    cutOff,
    needsText,
    /** Whether `find`, in the last text, found a secret or what may be beside one. */
    near: (found: readonly Found[]) => near || found.length > 0,
  };
}

/** What is found in the decoded part, at its places in the whole. */
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

/** The halves of a pair are escaped one by one. */
function unitsOf(text: string): Set<number> {
  const units = new Set<number>();
  for (let at = 0; at < text.length; at++) units.add(text.charCodeAt(at));
  return units;
}

/** A value that has a known shape is of that kind, in whichever run and form it is met. */
function kindOf(value: string): string {
  const found: Found[] = [];
  findRuns(value, found);
  const whole = found.find(({ start, end }) => start === 0 && end === value.length);
  return whole?.kind ?? 'env';
}

/** Where one of the forms begins that the end of a text cuts off; the text's length when none does. */
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
