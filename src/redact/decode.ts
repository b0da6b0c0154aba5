/**
 * Texts as other programs escape them: backslash escapes (JSON, JavaScript, Python, shells), percent-encoding and HTML
 * entities, decoded together with the places they came from. Contract: linear time; the text itself is not changed.
 */

/** A part of a text around escapes, decoded. Places are mapped to the text that was decoded first. */
export interface Decoded {
  text: string;
  /** Where the character at this place begins in the source. */
  start(at: number): number;
  /** Where the character before this place ends in the source. */
  end(at: number): number;
  /** Whether it goes to the end of the source. */
  last: boolean;
}

export interface DecodeOptions {
  /** Characters that may be part of a secret: a backslash escape or an entity for any other one is left as it is. */
  chars: ReadonlySet<number>;
  /** Whether a line break between two places may be within a secret. */
  breaks(text: string, before: number, after: number): boolean;
  /** How far around an escape is looked at. */
  reach: number;
}

/** JSON in JSON in JSON, and more levels for an address or a page around it. */
const LEVELS_MAX = 5;
const NO_PARTS: readonly Decoded[] = [];

/** The parts of a text that hold escapes, decoded once, twice, and so on, while there is something to decode. */
export function decodedParts(source: string, options: DecodeOptions): readonly Decoded[] {
  // Most texts have none.
  if (!source.includes('\\') && !source.includes('%') && !source.includes('&')) return NO_PARTS;
  const parts: Decoded[] = [];
  let level = decodeOnce(source, options, null);
  for (let i = 0; i < LEVELS_MAX && level.length > 0; i++) {
    parts.push(...level);
    level = level.flatMap((part) => decodeOnce(part.text, options, part));
  }
  return parts;
}

/** Without any escape, as far as `decodedParts` decodes. */
export function fullyDecoded(source: string): string {
  let text = source;
  for (let i = 0; i < LEVELS_MAX; i++) {
    const [whole] = decodeOnce(text, { chars: ANY, breaks: () => true, reach: text.length }, null);
    if (whole === undefined) break;
    text = whole.text;
  }
  return text;
}

/** Escapes that the end of a text cuts off, or may: the first bytes of a character. */
const CUT_ESCAPE =
  /(?:\\{1,64}(?:u[0-9a-fA-F]{0,3}|u\{[0-9a-fA-F]{0,6}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?|[0-3][0-7]?)?|(?:%[89a-fA-F][0-9a-fA-F]){0,3}(?:%[0-9a-fA-F]{0,2})?|&#?[0-9A-Za-z]{0,8})$/;
const CUT_CHARS_MAX = 80;

/** The text up to an escape that its end cuts off. */
export function withoutCutEscape(text: string): string {
  const end = text.slice(-CUT_CHARS_MAX);
  const cut = CUT_ESCAPE.exec(end)?.[0].length ?? 0;
  return cut === 0 ? text : text.slice(0, -cut);
}

const ANY: ReadonlySet<number> = Object.assign(new Set<number>(), { has: () => true });

const LEADS = ['\\', '%', '&'];

/** Escapes of a text, in order: their places, and their decoded text. */
interface Escapes {
  from: number[];
  to: number[];
  text: string[];
}

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

function escapesOf(text: string, options: DecodeOptions): Escapes {
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

function partOf(
  source: string,
  escapes: Escapes,
  [from, to]: readonly [number, number],
  outer: Decoded | null,
): Decoded {
  const pieces: string[] = [];
  /** Where each escape begins and ends in the decoded text. */
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
  /** `inside`: used for a place within an escape; `shift`: added to any other place. */
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

/** The index of the last number that is not over `most`; -1 when all are. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] as number) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The decoded text of the escape that `escapeAt` found last. */
let escaped = '';

/** The length of the escape at this place; 0 when there is none, and negative for what need not be looked at again. */
function escapeAt(text: string, at: number, options: DecodeOptions): number {
  const lead = text.charCodeAt(at);
  if (lead === BACKSLASH) return backslashAt(text, at, options);
  // Addresses have few, and in them the signs around a secret are encoded too.
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
/** In a row: six levels of JSON in JSON. */
const BACKSLASHES_MAX = 64;
const PERCENT_SIGN = 0x25;
const AMPERSAND = 0x26;

/** Whether what was decoded may be part of a secret, or the beginning of another escape. */
function matters(chars: ReadonlySet<number>): boolean {
  const code = escaped.charCodeAt(0);
  return chars.has(code) || code === BACKSLASH || code === PERCENT_SIGN || code === AMPERSAND;
}

/** Of several backslashes in a row each second one is escaped by the one before; the last may escape what follows. */
function backslashAt(text: string, at: number, { chars, breaks }: DecodeOptions): number {
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

/** Whether the escape that was decoded is a line break that may be within a secret. */
function breaksAt(text: string, at: number, breaks: DecodeOptions['breaks']): boolean {
  if (escaped !== '\n' && escaped !== '\r') return false;
  // Most lines end with something else.
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
  if (control === undefined && isWord(code)) return 0;
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

function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x5f
  );
}

/** `\uXXXX` or `\u{X…}`; `at` is behind the u. */
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

/** -1 when it is no number of this many digits. */
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

/** Escapes that decode to a byte each: characters beyond ASCII take several. */
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
  // Not UTF-8: the character of Latin-1.
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

/** Names of HTML for what programs escape: punctuation, and the letters of Latin-1 in their order. */
const PUNCTUATION =
  'amp& lt< gt> quot" apos\' sol/ bsol\\ plus+ equals= colon: semi; comma, period. excl! quest? num# dollar$ percnt% ast* lpar( rpar) lsqb[ rsqb] lbrack[ rbrack] lcub{ rcub} lbrace{ rbrace} verbar| vert| grave` lowbar_ commat@ Hat^ tilde~ hyphen- Tab\t NewLine\n';
const LATIN1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';
const ENTITIES = new Map([
  ...PUNCTUATION.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const),
  ...LATIN1.split(' ').map((name, at) => [name, String.fromCharCode(0xa0 + at)] as const),
]);
