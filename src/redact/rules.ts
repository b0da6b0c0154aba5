/**
 * The formats of secrets. Each finder scans a text once, so no input makes it slow. For formats that are a run of key
 * characters, only runs that are long enough are inspected, and texts contain few of them.
 */

import type { Anchor, Found } from './anchors.ts';
import { tableOf } from './code-units.ts';
import { KEY_ANCHORS } from './key-blocks.ts';

const RUN_CHARS_MIN = 16;
const SECRET_CHARS_MAX = 4096;

const TOKEN = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-');

/** Formats within one run of key characters. Every quantifier is bounded and at the end of its pattern. */
const RUN_SHAPES: readonly (readonly [kind: string, shape: string])[] = [
  ['anthropic', 'sk-ant-[\\w-]{20,4096}'],
  ['openai', 'sk-(?:proj|svcacct|admin|or-v1)-[\\w-]{20,4096}'],
  ['openai', 'sk-[A-Za-z0-9]{32,512}'],
  ['github', 'gh[pousr]_[A-Za-z0-9]{30,255}'],
  ['github', 'github_pat_\\w{20,255}'],
  ['gitlab', 'gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[\\w-]{16,512}'],
  ['aws', '(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}'],
  ['google', 'AIza[\\w-]{35}'],
  ['google', 'GOCSPX-[\\w-]{20,64}'],
  ['slack', 'xox[abceoprs]-[\\w-]{10,512}'],
  ['stripe', '(?:[srp]k|rk)_(?:live|test)_[A-Za-z0-9]{16,255}'],
  ['stripe', 'whsec_[A-Za-z0-9]{24,255}'],
  ['npm', 'npm_[A-Za-z0-9]{30,64}'],
  ['pypi', 'pypi-[\\w-]{32,512}'],
  ['huggingface', 'hf_[A-Za-z0-9]{30,64}'],
  ['digitalocean', 'do[opr]_v1_[a-f0-9]{32,64}'],
  ['sendgrid', 'SG\\.[\\w-]{16,64}\\.[\\w-]{16,64}'],
  ['xai', 'xai-[A-Za-z0-9]{32,128}'],
  ['groq', 'gsk_[A-Za-z0-9]{32,128}'],
  ['replicate', 'r8_[A-Za-z0-9]{30,64}'],
  ['perplexity', 'pplx-[A-Za-z0-9]{32,128}'],
];
const RUN_KINDS = RUN_SHAPES.map(([kind]) => kind);
const RUN_RULES = new RegExp(RUN_SHAPES.map(([, shape]) => `(${shape})`).join('|'), 'g');

/** Checks each stretch of 16 characters from its end: a character that is not part of a key rules out all before it. */
export function findRuns(text: string, found: Found[]): void {
  for (let start = 0; start + RUN_CHARS_MIN <= text.length; ) {
    let at = start + RUN_CHARS_MIN - 1;
    while (at >= start && TOKEN[text.charCodeAt(at)] === 1) at -= 1;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    let end = start + RUN_CHARS_MIN;
    while (end < text.length && TOKEN[text.charCodeAt(end)] === 1) end += 1;
    start = findInRun(text, start, end, found);
  }
}

/** First two characters of the formats. Most runs contain none of them. */
const OPENINGS = new Uint8Array(65536);
for (const pair of 'sk gh gi gl AK AS AB AC AI GO xo rk pk wh np py hf do xa gs r8 pp'.split(' ')) {
  OPENINGS[(pair.charCodeAt(0) << 8) | pair.charCodeAt(1)] = 1;
}

function mayHold(text: string, start: number, end: number): boolean {
  if (text.startsWith('SG.', start - 3)) return true;
  let pair = text.charCodeAt(start);
  for (let at = start + 1; at < end; at++) {
    pair = ((pair & 0xff) << 8) | text.charCodeAt(at);
    if (OPENINGS[pair] === 1) return true;
  }
  return false;
}

/** Returns the position to continue from. */
function findInRun(text: string, start: number, end: number, found: Found[]): number {
  if (text.charCodeAt(end) === 0x2e && text.startsWith('eyJ', end + 1)) {
    const last = findJwt(text, start, end, found);
    if (last > 0) return last;
  }
  if (!mayHold(text, start, end)) return end;
  // The two long parts of such a key are separate runs; the prefix before them is short.
  const from = text.startsWith('SG.', start - 3) ? start - 3 : start;
  const to = from < start ? Math.min(text.length, end + 80) : end;
  const run = text.slice(from, to);
  let last = end;
  RUN_RULES.lastIndex = 0;
  for (let match = RUN_RULES.exec(run); match !== null; match = RUN_RULES.exec(run)) {
    const kind = RUN_KINDS[match.indexOf(match[0], 1) - 1] as string;
    const at = from + match.index;
    last = Math.max(last, at + match[0].length);
    found.push({ start: at, end: at + match[0].length, kind });
  }
  return last;
}

/** Header, dot, claims, dot, signature; the first two are base64url of `{"`. */
function findJwt(text: string, start: number, end: number, found: Found[]): number {
  const at = text.indexOf('eyJ', start);
  if (at < 0 || at > end - RUN_CHARS_MIN) return -1;
  const limit = Math.min(text.length, at + SECRET_CHARS_MAX * 2);
  let last = end + 1;
  let dots = 1;
  while (last < limit) {
    const code = text.charCodeAt(last);
    if (code === 0x2e && dots < 4) dots += 1;
    else if (TOKEN[code] === 0) break;
    last += 1;
  }
  while (text.charCodeAt(last - 1) === 0x2e) last -= 1;
  found.push({ start: at, end: last, kind: 'jwt' });
  return last;
}

const STOPS = tableOf('/?#\\"\'`<>()[]{}|^,; \t\r\n');
const URL_CHARS_MAX = 512;

/** Placeholders for a password: `$NAME`, `%NAME%`, `%s`, `***`, `xxx`. */
const PLACEHOLDER = /^(?:\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|%[a-z]|\*+|[xX]+)$/;

/** `scheme://user:password@host`: the password, or a long user name without one. A password may contain `@`. Returns whether there is a URL. */
export function findUserinfo(text: string, found: Found[]): boolean {
  const first = text.indexOf('://');
  for (let at = first; at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    const limit = Math.min(text.length, start + URL_CHARS_MAX);
    let [colon, end] = [-1, -1];
    for (let i = start; i < limit && STOPS[text.charCodeAt(i)] === 0; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x40) end = i;
      else if (code === 0x3a && colon < 0) colon = i;
    }
    const named = colon >= 0 && colon < end;
    const from = named ? colon + 1 : start;
    const secret = text.slice(from, end);
    if (end <= from || (!named && secret.length < 20) || PLACEHOLDER.test(secret)) continue;
    found.push({ start: from, end, kind: 'url' });
  }
  return first >= 0;
}

/** Words before a secret. In an object, its key may be one. */
const WORDS = 'authorization|x-api-key|secret_?access_?key';
export const WORD = new RegExp(`(?:${WORDS})$`, 'i');
/** Delimiters of these words and secrets: quotes, also escaped repeatedly, and HTML quotes. */
const HTML_QUOTE = '&(?:quot|apos|#3[49])';
const QUOTES = `(?:["'\\\\]|${HTML_QUOTE};){0,32}`;
const BLANKS = '\\s{0,4}';
const SIGN = `${QUOTES}${BLANKS}[:=]${BLANKS}${QUOTES}`;
const CHAR = `(?:[^\\s"'\\\\,;<>()[\\]{}&]|(?!${HTML_QUOTE})&)`;

/** An unlisted scheme: the text after it must not look like prose. A scheme of 8 letters or more may itself be the secret. */
const scheme = (letters: string): string =>
  `[a-z-]{${letters}}\\s{1,4}(?=${CHAR}{16})(?=${CHAR}{0,31}\\d|${CHAR}{32})(?!\\w{1,16}://)`;
const AUTHORIZATION = new RegExp(
  `${SIGN}(?:(?:basic|bearer|token|digest|apikey|negotiate)\\s{1,4}|${scheme('1,7')}|(?<long>${scheme('8,32')}))?(?<secret>${CHAR}{8,4096})`,
  'iy',
);
const BEARER = /\s{0,4}(?<secret>[\w.~+/=-]{16,4096})/y;
const API_KEY = new RegExp(`${SIGN}(?<secret>${CHAR}{8,4096})`, 'y');
/** The 40 characters after `…secret_access_key`, which have no other distinctive format. */
const AWS_SECRET = new RegExp(`${SIGN}(?<secret>[A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])`, 'y');

/** An end of a text after which a secret may follow, separated by white space. */
export const OPENING = new RegExp(
  `(?:(?:${WORDS})${QUOTES}${BLANKS}(?:[:=]${BLANKS}${QUOTES}(?:[\\w-]{1,32}\\s{1,4})?)?|bearer ${BLANKS}|---- )$`,
  'i',
);
export const OPENING_CHARS_MAX = 128;

/** A word before a secret. */
function opening(word: string, kind: string, value: RegExp): Anchor {
  return {
    text: word,
    take(text, at, found) {
      const from = at + word.length;
      value.lastIndex = from;
      const match = value.exec(text);
      if (match === null) return from;
      const { secret = '', long = '' } = match.groups ?? {};
      const end = from + match[0].length;
      // "bearer authentication" is not a secret.
      if (value === BEARER && secret.length < 32 && !/\d/.test(secret)) return from;
      found.push({ start: end - long.length - secret.length, end, kind, value: secret });
      return end;
    },
  };
}

/** A word in which each letter may be lower or upper case. */
function casesOf(word: string): string[] {
  let cases = [''];
  for (const char of word)
    cases = [...new Set([char, char.toUpperCase()])].flatMap((c) => cases.map((each) => each + c));
  return cases;
}

export const SHAPE_ANCHORS: readonly Anchor[] = [
  ...KEY_ANCHORS,
  ...['Authorization', 'authorization', 'AUTHORIZATION'].map((word) =>
    opening(word, 'authorization', AUTHORIZATION),
  ),
  ...['Bearer ', 'bearer ', 'BEARER '].map((word) => opening(word, 'authorization', BEARER)),
  ...casesOf('x-api-key').map((word) => opening(word, 'authorization', API_KEY)),
  ...['secret_access_key', 'SECRET_ACCESS_KEY', 'SecretAccessKey', 'secretAccessKey'].map((word) =>
    opening(word, 'aws', AWS_SECRET),
  ),
];
