/** The part of a text around its first match, with all matches in it marked. Splits words like the index. */
import { classOf, isBoundary, isCjkClass } from '../../store/search/index-text.ts';
import type { QueryTerm } from './parse-query.ts';

/** A part of an event's text with the matches in it. */
export interface Snippet {
  /** One line: white space is collapsed. */
  text: string;
  /** Start and end of each match in the text. */
  marks: [start: number, end: number][];
}

interface Token {
  start: number;
  end: number;
  /** Lower case, without diacritics. */
  word: string;
}

let patterns: { words: RegExp; marks: RegExp } | null = null;

function unicode() {
  patterns ??= { words: /[\p{L}\p{N}\p{M}_]+/gu, marks: /\p{M}/gu };
  return patterns;
}

function folded(text: string): string {
  const lower = text.toLowerCase();
  return /^[\u0000-\u007f]*$/.test(lower)
    ? lower
    : lower.normalize('NFD').replace(unicode().marks, '');
}

/** The parts of an identifier, and the identifier without underscores if it has several. */
function tokensOf(word: string, offset: number): { parts: Token[]; whole: Token | null } {
  const parts: Token[] = [];
  let from = 0;
  let before = 0;
  const cut = (at: number) => {
    const text = word.slice(from, at).replaceAll('_', '');
    if (text !== '') parts.push({ start: offset + from, end: offset + at, word: folded(text) });
    from = at;
  };
  for (let at = 0; at < word.length; at++) {
    const here = classOf(word.charCodeAt(at));
    const single = isCjkClass(here) || isCjkClass(before);
    const ends = word[at] === '_' || single || isBoundary(word, at, before, here);
    const low = (word.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (ends && !low) cut(at);
    if (!low) before = here;
  }
  cut(word.length);
  const joined = folded(word.replaceAll('_', ''));
  const whole =
    parts.length > 1 ? { start: offset, end: offset + word.length, word: joined } : null;
  return { parts, whole };
}

interface Wanted {
  words: string[];
  whole: string | null;
  prefix: boolean;
}

function wantedOf({ text, prefix }: QueryTerm): Wanted {
  const words = [...text.matchAll(unicode().words)].map(([word]) => tokensOf(word, 0));
  const only = words.length === 1 ? words[0] : undefined;
  return {
    words: words.flatMap(({ parts }) => parts.map(({ word }) => word)),
    whole: only?.whole?.word ?? (only?.parts.length === 1 ? (only.parts[0]?.word ?? null) : null),
    prefix,
  };
}

/** Matches in a text, in order. */
function findMatches(text: string, terms: readonly QueryTerm[]): [number, number][] {
  const wanted = terms.map(wantedOf);
  const found: [number, number][] = [];
  const parts: Token[] = [];
  for (const { 0: word, index } of text.matchAll(unicode().words)) {
    const { parts: own, whole } = tokensOf(word, index);
    if (whole !== null && wanted.some((one) => isWhole(one, whole.word)))
      found.push([whole.start, whole.end]);
    parts.push(...own);
  }
  for (let at = 0; at < parts.length; at++)
    for (const one of wanted) {
      const last = phraseAt(parts, at, one);
      if (last !== null) found.push([(parts[at] as Token).start, last.end]);
    }
  return merged(found);
}

const isWhole = ({ whole, prefix }: Wanted, word: string) =>
  whole !== null && (prefix ? word.startsWith(whole) : word === whole);

function phraseAt(parts: readonly Token[], from: number, { words, prefix }: Wanted): Token | null {
  for (let n = 0; n < words.length; n++) {
    const word = parts[from + n]?.word;
    const given = words[n] as string;
    const same = prefix && n === words.length - 1 ? word?.startsWith(given) : word === given;
    if (!same) return null;
  }
  return parts[from + words.length - 1] ?? null;
}

function merged(found: [number, number][]): [number, number][] {
  const result: [number, number][] = [];
  for (const [start, end] of found.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const last = result.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

/** Texts are searched in parts, so that the first match in a long one is found soon. */
const PART_CHARS = 32 * 1024;
const OVERLAP_CHARS = 1024;

const BEFORE_CHARS = 60;
const SNIPPET_CHARS = 240;

/** Of the first text that contains a match; the beginning of the first text if none does. */
export function snippetOf(texts: readonly string[], terms: readonly QueryTerm[]): Snippet {
  for (const text of texts)
    for (let from = 0; from < text.length; from += PART_CHARS) {
      const part = text.slice(from, from + PART_CHARS + OVERLAP_CHARS);
      const marks = findMatches(part, terms);
      const [first] = marks;
      if (first !== undefined) return cutOut(part, marks, Math.max(0, first[0] - BEFORE_CHARS));
    }
  return cutOut(texts[0] ?? '', [], 0);
}

function cutOut(text: string, marks: readonly [number, number][], from: number): Snippet {
  const to = Math.min(text.length, from + SNIPPET_CHARS);
  const snippet: Snippet = { text: '', marks: [] };
  const add = (start: number, end: number) => {
    const piece = text.slice(start, end).replace(/\s+/g, ' ');
    const follows = snippet.text === '' || snippet.text.endsWith(' ');
    snippet.text += follows ? piece.replace(/^ /, '') : piece;
  };
  let at = from;
  for (const [start, end] of marks) {
    if (start >= to) break;
    add(at, start);
    const begin = snippet.text.length;
    at = Math.min(end, to);
    add(start, at);
    snippet.marks.push([begin, snippet.text.length]);
  }
  add(at, to);
  return snippet;
}
