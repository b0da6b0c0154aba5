/**
 * Splits text for the search index. Contract: identifiers are indexed as the sequence of their parts (getUserName as
 * get, User, Name) and as a whole; every CJK character is a word. SQLite's tokenizer then splits at everything that is
 * neither a letter nor a digit, folds case and removes diacritics. Queries are split in the same way, so an identifier
 * or several CJK characters are a phrase.
 */
import { SEARCH_LIMITS } from './limits.ts';

/** Separates texts, so that no phrase spans two of them. A private character: texts are stripped of it. */
export const GAP = '\ue000';
/** Begins the words that are not part of a text: the name of a tool. */
const MARK = '\ue001';
/** Replaces other characters in such a word. */
const JOINER = '\ue002';

export interface SplitText {
  /** Identifiers and CJK text are split by spaces. */
  text: string;
  /** Identifiers of several parts, without underscores. */
  whole: string[];
  /** Whether words with digits were left out. */
  cut: boolean;
}

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const UNDERSCORE = 4;
const LETTER = 5;
const CJK = 6;

function asciiClass(code: number): number {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code === 95 ? UNDERSCORE : OTHER;
}

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => asciiClass(code));

/** Kana, ideographs, Hangul, and their compatibility forms; the surrogates of ideographs beyond the first plane. */
function isCjk(code: number): boolean {
  if (code < 0x2e80) return false;
  return (
    code <= 0x9fff ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xd840 && code <= 0xd888) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xff66 && code <= 0xff9d)
  );
}

export function classOf(code: number): number {
  if (code < 128) return ASCII[code] as number;
  return isCjk(code) ? CJK : LETTER;
}

export const isCjkClass = (kind: number) => kind === CJK;

/** Whether a part of an identifier ends before `at`: getUser, HTTPServer, utf8Text. */
export function isBoundary(text: string, at: number, before: number, here: number): boolean {
  if (here !== UPPER) return false;
  if (before === LOWER || before === DIGIT) return true;
  return before === UPPER && classOf(text.charCodeAt(at + 1)) === LOWER;
}

const isWordClass = (kind: number) => kind !== OTHER && kind !== CJK && kind !== LETTER;

/** Shorter words with digits are few. */
const NUMBER_CHARS_MIN = 4;

/** The same for text that is already composed. */
function splitComposed(text: string, numbers_max: number): SplitText {
  const pieces: string[] = [];
  const whole = new Set<string>();
  const numbers = new Set<string>();
  let from = 0;
  let before = OTHER;
  let cut_any = false;
  /** The current word: its start, its boundaries, whether it has digits, and the state before it. */
  let word = { at: 0, parts: 0, digits: false, pieces: 0, from: 0 };
  const cut = (at: number) => {
    pieces.push(text.slice(from, at));
    from = at;
  };
  /** Whether the word is indexed. */
  const keeps = (at: number): boolean => {
    if (!word.digits || at - word.at < NUMBER_CHARS_MIN || numbers_max === Number.POSITIVE_INFINITY)
      return true;
    const number = text.slice(word.at, at);
    if (numbers.size < numbers_max) numbers.add(number);
    return numbers.has(number);
  };
  const endWord = (at: number) => {
    if (keeps(at)) {
      if (word.parts > 0) whole.add(text.slice(word.at, at).replaceAll('_', ''));
      return;
    }
    cut_any = true;
    pieces.length = word.pieces;
    pieces.push(text.slice(word.from, word.at), GAP);
    from = at;
  };
  for (let at = 0; at < text.length; at++) {
    const here = classOf(text.charCodeAt(at));
    if (isWordClass(here)) {
      if (!isWordClass(before)) word = { at, parts: 0, digits: false, pieces: pieces.length, from };
      else if (here === UNDERSCORE) word.parts += at > word.at ? 1 : 0;
      else if (isBoundary(text, at, before, here)) {
        word.parts += 1;
        cut(at);
      }
      if (here === DIGIT) word.digits = true;
    } else if (isWordClass(before)) endWord(at);
    if (here === CJK) {
      cut(at);
      // A surrogate pair is one character.
      const pair = text.charCodeAt(at) >= 0xd800 && text.charCodeAt(at) < 0xdc00 ? 2 : 1;
      cut(at + pair);
      at += pair - 1;
    }
    before = here;
  }
  if (isWordClass(before)) endWord(text.length);
  cut(text.length);
  return { text: pieces.join(' '), whole: [...whole], cut: cut_any };
}

const NOT_ASCII = /[^\u0000-\u007f]/;
const PRIVATE = /[\ue000-\ue002]/g;

/** Without private characters, and with composed characters. */
export function composed(text: string): string {
  return NOT_ASCII.test(text) ? text.replace(PRIVATE, ' ').normalize('NFC') : text;
}

/** `numbers_max`: further words with digits are left out. */
export function splitText(text: string, numbers_max = Number.POSITIVE_INFINITY): SplitText {
  return splitComposed(composed(text), numbers_max);
}

/** Letters, digits, `+` and `/`. */
function isDataAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const kind = code < 128 ? ASCII[code] : OTHER;
  return kind === LOWER || kind === UPPER || kind === DIGIT || code === 43 || code === 47;
}

/** The text with a space in place of encoded data. Looks only at every 200th character: data has at least one of them. */
export function withoutData(text: string): string {
  const least = SEARCH_LIMITS.word_chars_max;
  const pieces: string[] = [];
  let from = 0;
  for (let at = least - 1; at < text.length; at += least) {
    if (!isDataAt(text, at)) continue;
    let start = at;
    while (start > from && isDataAt(text, start - 1)) start -= 1;
    let end = at + 1;
    while (end < text.length && isDataAt(text, end)) end += 1;
    if (end - start < least) continue;
    pieces.push(text.slice(from, start));
    from = end;
    at = end - 1;
  }
  return pieces.length === 0 ? text : [...pieces, text.slice(from)].join(' ');
}

/** The word that marks the events of a tool. */
export function toolMark(tool: string): string {
  return MARK + composed(tool).replaceAll(/[^A-Za-z0-9\u0080-\uffff]/g, JOINER);
}

/** The same for all names that it can be found by: a tool of an MCP server also without the name of the server. */
export function toolMarks(tool: string): string[] {
  const own = /^mcp__.*?__(.+)$/s.exec(tool)?.[1];
  return own === undefined ? [toolMark(tool)] : [toolMark(tool), toolMark(own)];
}
