/**
 * Escapes of common formats: backslash escapes (JSON, JavaScript, Python, shells), percent-encoding and HTML entities.
 * Contract: linear time.
 */
import { isWordUnit } from './code-units.ts';
import { ENTITIES } from './html-entities.ts';

export interface EscapeOptions {
  /** Characters that may be part of a secret. Backslash escapes and entities of other characters are not decoded. */
  chars: ReadonlySet<number>;
  /** Whether a line break between two positions may be within a secret. */
  breaks(text: string, before: number, after: number): boolean;
}

const LEADS = ['\\', '%', '&'];

/** The escapes of a text in order: their positions and decoded text. */
export interface Escapes {
  from: number[];
  to: number[];
  text: string[];
}

export function escapesOf(text: string, options: EscapeOptions): Escapes {
  const escapes: Escapes = { from: [], to: [], text: [] };
  const next = LEADS.map((lead) => text.indexOf(lead));
  for (let at = earliest(next); at >= 0; at = earliest(next)) {
    const length = escapeAt(text, at, options);
    let behind = at + Math.abs(length);
    if (length > 0) {
      escapes.from.push(at);
      escapes.to.push(behind);
      escapes.text.push(escaped);
    } else behind = Math.max(behind, at + 1);
    for (let i = 0; i < LEADS.length; i++) {
      const known = next[i] as number;
      if (known >= 0 && known < behind) next[i] = text.indexOf(LEADS[i] as string, behind);
    }
  }
  return escapes;
}

function earliest(next: readonly number[]): number {
  let first = -1;
  for (const at of next) if (at >= 0 && (first < 0 || at < first)) first = at;
  return first;
}

/** Escapes that the end of a text truncates or may truncate: the first bytes of a character. */
const CUT_ESCAPE =
  /(?:\\{1,64}(?:u[0-9a-fA-F]{0,3}|u\{[0-9a-fA-F]{0,6}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?|[0-3][0-7]?)?|(?:%[89a-fA-F][0-9a-fA-F]){0,3}(?:%[0-9a-fA-F]{0,2})?|&#?[0-9A-Za-z]{0,8})$/;
const CUT_CHARS_MAX = 80;

/** The text up to an escape that is truncated at the end. */
export function withoutCutEscape(text: string): string {
  const end = text.slice(-CUT_CHARS_MAX);
  const cut = CUT_ESCAPE.exec(end)?.[0].length ?? 0;
  return cut === 0 ? text : text.slice(0, -cut);
}

/** The decoded text of the escape that `escapeAt` found last. */
let escaped = '';

/** The length of the escape at this position; 0 if there is none; negative for text that can be skipped. */
function escapeAt(text: string, at: number, options: EscapeOptions): number {
  const lead = text.charCodeAt(at);
  if (lead === BACKSLASH) return backslashAt(text, at, options);
  // URLs have few escapes, and the delimiters around a secret are encoded too.
  if (lead === PERCENT_SIGN) return bytesAt(text, at, PERCENT);
  const length = entityAt(text, at);
  return length > 0 && matters(options.chars) ? length : 0;
}

const BACKSLASH = 0x5c;
/** Frequent escapes that decode to themselves or to a blank. */
const PLAIN = new Map([
  [0x22, 0x22],
  [0x27, 0x27],
  [0x74, 9],
]);
/** Consecutive backslashes: six levels of JSON in JSON. */
const BACKSLASHES_MAX = 64;
const PERCENT_SIGN = 0x25;
const AMPERSAND = 0x26;

/** Whether the decoded text may be part of a secret, or the beginning of another escape. */
function matters(chars: ReadonlySet<number>): boolean {
  const code = escaped.charCodeAt(0);
  return chars.has(code) || code === BACKSLASH || code === PERCENT_SIGN || code === AMPERSAND;
}

/** In a series of backslashes every second one is escaped by its predecessor. The last may escape the next character. */
function backslashAt(text: string, at: number, { chars, breaks }: EscapeOptions): number {
  let last = at;
  while (text.charCodeAt(last + 1) === BACKSLASH) last += 1;
  const plain = PLAIN.get(text.charCodeAt(last + 1));
  if (plain !== undefined && !chars.has(plain) && !chars.has(BACKSLASH)) return at - last - 1;
  if (last - at > BACKSLASHES_MAX) return at - last - 1;
  const ends = simpleAt(text, last) > 0 && (matters(chars) || breaksAt(text, at, breaks));
  if (!ends && !chars.has(BACKSLASH)) return at - last - 1;
  if (last === at) return ends ? simpleAt(text, at) : 0;
  escaped = '\\';
  return 2;
}

const BREAKS = /(?:\\{1,64}[rn]){1,8}[ \t]{0,64}/y;
const BREAK_BEFORE = /(?:\\{1,64}[rn]){1,8}$/;
const BREAK_CHARS_MAX = 64;

/** Whether the decoded escape is a line break that may be within a secret. */
function breaksAt(text: string, at: number, breaks: EscapeOptions['breaks']): boolean {
  if (escaped !== '\n' && escaped !== '\r') return false;
  // Most lines do not end like this.
  if (!/[\w+/=-]/.test(text[at - 1] ?? '')) return false;
  BREAKS.lastIndex = at;
  if (!BREAKS.test(text)) return false;
  const before = text.slice(Math.max(0, at - BREAK_CHARS_MAX), at);
  const [earlier = ''] = BREAK_BEFORE.exec(before) ?? [];
  return breaks(text, at - earlier.length - 1, BREAKS.lastIndex);
}

/** The escape of one backslash. */
function simpleAt(text: string, at: number): number {
  const code = text.charCodeAt(at + 1);
  if (Number.isNaN(code)) return 0;
  switch (code) {
    case 0x75: // u
      return unitAt(text, at + 2);
    case 0x55: // U
      return codePoint(hexAt(text, at + 2, 8), 10);
    case 0x78: // x
      return bytesAt(text, at, HEX);
  }
  if (code >= 0x30 && code <= 0x33 && octalAt(text, at) >= 0) return bytesAt(text, at, OCTAL);
  const control = CONTROLS.get(code);
  if (control === undefined && isWordUnit(code)) return 0;
  escaped = control ?? (text[at + 1] as string);
  return 2;
}

const CONTROLS = new Map(
  Object.entries({
    n: '\n',
    r: '\r',
    t: '\t',
    b: '\b',
    f: '\f',
    v: '\v',
    a: '\u0007',
    e: '\u001b',
    0: '\0',
  }).map(([letter, control]) => [letter.charCodeAt(0), control]),
);

/** `\u` with four hexadecimal digits, or with any number of them in braces. `at` is the position after the u. */
function unitAt(text: string, at: number): number {
  if (text.charCodeAt(at) === 0x7b) {
    const close = text.indexOf('}', at + 1);
    const digits = close - at - 1;
    return close < 0 || digits < 1 || digits > 6
      ? 0
      : codePoint(hexAt(text, at + 1, digits), digits + 4);
  }
  const unit = hexAt(text, at, 4);
  if (unit < 0) return 0;
  escaped = String.fromCharCode(unit);
  return 6;
}

function codePoint(code: number, length: number): number {
  if (code < 0 || code > 0x10ffff) return 0;
  escaped = String.fromCodePoint(code);
  return length;
}

/** -1 if it is not a number of this length. */
function hexAt(text: string, at: number, digits: number): number {
  let value = 0;
  for (let i = at; i < at + digits; i++) {
    const code = text.charCodeAt(i) | 0x20;
    const digit =
      code >= 0x30 && code <= 0x39 ? code - 0x30 : code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function octalAt(text: string, at: number): number {
  const match = /^\\[0-3][0-7]{2}/.exec(text.slice(at, at + 4));
  return match === null ? -1 : Number.parseInt(match[0].slice(1), 8);
}

/** Escapes that decode to one byte each. Non-ASCII characters need several. */
interface ByteEscape {
  length: number;
  byte(text: string, at: number): number;
}
const PERCENT: ByteEscape = {
  length: 3,
  byte: (text, at) => (text.charCodeAt(at) === 0x25 ? hexAt(text, at + 1, 2) : -1),
};
const HEX: ByteEscape = {
  length: 4,
  byte: (text, at) => (text.startsWith('\\x', at) ? hexAt(text, at + 2, 2) : -1),
};
const OCTAL: ByteEscape = { length: 4, byte: octalAt };

function bytesAt(text: string, at: number, form: ByteEscape): number {
  const first = form.byte(text, at);
  if (first < 0) return 0;
  if (first < 0x80) {
    escaped = String.fromCharCode(first);
    return form.length;
  }
  const bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  let code = first & (0xff >> (bytes + 1));
  let read = 1;
  while (read < bytes) {
    const byte = form.byte(text, at + read * form.length);
    if (byte < 0x80 || byte > 0xbf) break;
    code = code * 64 + (byte & 0x3f);
    read += 1;
  }
  if (read === bytes && bytes > 1) return codePoint(code, bytes * form.length);
  // Not UTF-8: decoded as Latin-1.
  escaped = String.fromCharCode(first);
  return form.length;
}

const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/y;

function entityAt(text: string, at: number): number {
  ENTITY.lastIndex = at;
  const match = ENTITY.exec(text);
  if (match === null) return 0;
  const [whole, decimal, hex, name] = match;
  if (name === undefined)
    return codePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), whole.length);
  const known = ENTITIES.get(name);
  if (known === undefined) return 0;
  escaped = known;
  return whole.length;
}
