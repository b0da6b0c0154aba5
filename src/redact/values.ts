/** Finds known secret values in any encoding in which they may be printed. */
import type { Anchor, Found } from './anchors.ts';
import { fullyDecoded } from './decode.ts';

/** Shorter values occur in too many ordinary words and figures. */
export const VALUE_CHARS_MIN = 6;
/** Minimum length of a line that counts as a secret on its own, in a value of several lines. */
const LINE_CHARS_MIN = 8;

const SECRET_NAME = new RegExp(
  [
    '(?:^|_)KEYS?\\d{0,3}(?:_|$)',
    '(?:API|ACCESS|PRIVATE|SECRET|AUTH)KEYS?\\d{0,3}(?:_|$)',
    // Other words have the same ending.
    '[A-Z](?<!MON|DON|TUR|HOT|TURN|WHIS)KEYS?\\d{0,3}$',
    'PASSWORD|PASSWD|PASSPHRASE|PASSWRD|(?:^|_|SSH)PASS$|_PWD$',
    'TOKEN|SECRET|CREDENTIAL|_CREDS?$|_PAT$|COOKIE|SIGNING|CONNECTION_STRING',
    // Not AUTHOR.
    'AUTH(?!OR(?!I))',
  ].join('|'),
  'i',
);
/** Names of a secret's location or owner, not of its value. */
const OPEN_NAME =
  /_(?:FILE|PATH|DIR|SOCK|HOST|PORT|USER|USERNAME|NAME|TYPE|METHOD|MODE|ENABLED|TTL|LIMIT|MAX|TIMEOUT|EXPIRY|EXPIRES|INTERVAL|SECONDS|MS|COUNT|SIZE|LENGTH)$/i;
/** Names of token counts. */
const AMOUNT_NAME = /TOKENS|(?:^|_)(?:MAX|MIN)_/i;
/** Values of a secret-looking variable that is a switch. */
const WORDS = new Set(
  'default disabled enabled required optional undefined localhost production development staging testing always automatic manual strict system public private secret secrets password github gitlab google openai bearer oauth2 apikey api_key browser device keychain keyring interactive anonymous'.split(
    ' ',
  ),
);
/** The beginning of a path. A slash alone may also begin a key. */
const PATH =
  /^(?:\/(?:app|apps|builds|data|dev|etc|github|home|mnt|nix|opt|private|proc|root|run|snap|srv|sys|tmp|usr|var|workspace|workspaces|Applications|Library|Users|Volumes)\/|\.\.?\/|~\/|[A-Za-z]:\\)[^\n]*$/;
const ARMOUR = /^-----(?:BEGIN|END) [A-Z0-9 ]{1,60}-----$/;
/** Lines of JSON that are the same in every such file, such as `"type": "service_account",`. */
const COMMON_MEMBER =
  /^"[\w.-]{1,40}":\s{0,4}(?:"(?:[a-z_ -]{0,40}|https?:\/\/[^\s"@?]{1,200})"|true|false|null|-?\d{1,6}|[[{])?,?$/;

export interface KnownSecrets {
  values: string[];
  /** Names of variables with values that are too short to search for. */
  too_short: string[];
}

/** Values of listed and secret-looking variables, including the lines and fields inside them. */
export function knownSecrets(
  env: Readonly<Record<string, string | undefined>>,
  listed: readonly string[],
): KnownSecrets {
  const values = new Set<string>();
  const too_short: string[] = [];
  const sure = new Set(listed);
  for (const [name, value] of Object.entries(env)) {
    const secret = value?.trim() ?? '';
    if (secret === '' || !(sure.has(name) || isSecret(name, secret))) continue;
    if (secret.length < VALUE_CHARS_MIN) too_short.push(name);
    else for (const part of partsOf(secret)) values.add(part);
  }
  return { values: [...values], too_short: too_short.sort() };
}

/** Whether a value, without leading zeros, is a number with enough digits to be distinctive. */
export const isLongNumber = (value: string): boolean =>
  /^0*[1-9]\d*$/.test(value) && Number(value) >= 10 ** (VALUE_CHARS_MIN - 1);

/** Whether a variable or a JSON field contains a secret. */
function isSecret(name: string, value: string): boolean {
  if (!SECRET_NAME.test(name) || OPEN_NAME.test(name)) return false;
  if (AMOUNT_NAME.test(name) && /^\d+$/.test(value)) return false;
  return !looksOpen(value);
}

/** Switches and paths (a socket or a file) are not secrets. */
function looksOpen(value: string): boolean {
  return (
    WORDS.has(value.toLowerCase()) ||
    /^(?:true|false|yes|no|on|off|none|null|auto)$/i.test(value) ||
    PATH.test(value)
  );
}

/** The value, its lines, and if it is JSON, the secrets among its fields. */
function partsOf(value: string): string[] {
  const texts = [value, ...(/^[[{]/.test(value) ? fieldsOf(value) : [])];
  // Line breaks may be escaped, as in a `.env` file.
  return texts.flatMap((text) => [text, ...linesOf(text), ...linesOf(fullyDecoded(text))]);
}

function linesOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/);
  if (lines.length === 1) return [];
  return lines.map((line) => line.trim()).filter(isOwnLine);
}

/** Excludes lines that reveal nothing: the BEGIN and END of a key, punctuation, a common field. */
function isOwnLine(line: string): boolean {
  if (line.length < LINE_CHARS_MIN || ARMOUR.test(line) || COMMON_MEMBER.test(line)) return false;
  return (line.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= LINE_CHARS_MIN / 2;
}

function fieldsOf(json: string): string[] {
  const fields: string[] = [];
  try {
    JSON.parse(json, (name, field: unknown) => {
      const text = typeof field === 'string' ? field.trim() : '';
      const long = text.length >= VALUE_CHARS_MIN;
      if (long && isSecret(name, text) && !/^https?:\/\/[^\s@?]+$/.test(text)) fields.push(text);
      return field;
    });
  } catch {
    // It is not JSON.
  }
  return fields;
}

/** A text to search for, and whether an adjacent character also contains some bits of the value. */
export interface Form {
  text: string;
  before: boolean;
  after: boolean;
}

/** A quote within a quoted value, as CSV, SQL and shells write it. */
const QUOTINGS = [
  ['"', '""'],
  ["'", "''"],
  ["'", "'\\''"],
  ["'", `'"'"'`],
] as const;

/**
 * A value unchanged, with either line end, with doubled quotes, and without its own escapes; the value and its JSON form, in
 * UTF-8 and Latin-1, as hex, as base64 at any alignment, and encoded twice.
 */
export function formsOf(value: string): Form[] {
  const forms = new Map<string, Form>();
  const add = (text: string, before = false, after = false) => {
    if (text.length >= VALUE_CHARS_MIN && !forms.has(text))
      forms.set(text, { text, before, after });
  };
  const addCode = (bytes: Buffer, deep: boolean) => {
    const hex = bytes.toString('hex');
    add(hex);
    add(hex.toUpperCase());
    addBase64(bytes, add);
    if (!deep) return;
    for (const code of [hex, bytes.toString('base64').replace(/=+$/, '')])
      addCode(Buffer.from(code), false);
  };
  const lf = value.replaceAll('\r\n', '\n');
  for (const text of new Set([value, value.toWellFormed(), lf, lf.replaceAll('\n', '\r\n')])) {
    add(text);
    const plain = fullyDecoded(text);
    add(plain);
    add(plain.replaceAll(' ', '+'));
    for (const [quote, written] of QUOTINGS) add(text.replaceAll(quote, written));
    // An escape character at its end would combine with the next character.
    add(text.replace(/[\\%&]+$/, ''));
    for (const inner of new Set([text, JSON.stringify(text).slice(1, -1)]))
      for (const encoding of /[\u0080-\u00ff]/.test(inner) ? ENCODINGS : ENCODINGS.slice(0, 1))
        addCode(Buffer.from(inner, encoding), true);
  }
  return [...forms.values()];
}

const ENCODINGS = ['utf8', 'latin1'] as const;

/** For each alignment, the base64 characters that depend only on these bytes, not on their neighbours. */
function addBase64(
  bytes: Buffer,
  add: (text: string, before: boolean, after: boolean) => void,
): void {
  for (let shift = 0; shift < 3; shift++) {
    const bits = 8 * (shift + bytes.length);
    const [from, to] = [Math.ceil((8 * shift) / 6), Math.floor(bits / 6)];
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(from, to);
    for (const form of [text, text.replaceAll('+', '-').replaceAll('/', '_')])
      add(form, shift > 0, bits % 6 > 0);
  }
}

const BASE64 = /[A-Za-z0-9+/_-]/;

/** Finds `form` as the secret `value`: its mark is the same in every encoding. */
export function formAnchor(
  { text: form, before, after }: Form,
  value: string,
  kind: string,
): Anchor {
  return {
    text: form,
    take(_text, at, found) {
      const end = at + form.length;
      found.push({ start: at, end, kind, value, before, after });
      return end;
    },
  };
}

/** Includes the adjacent characters that contain a part of it. */
export function widened(found: Found, text: string): Found {
  const { start, end, before, after } = found;
  if (before !== true && after !== true) return found;
  return {
    ...found,
    start: before && BASE64.test(text[start - 1] ?? '') ? start - 1 : start,
    end: after && BASE64.test(text[end] ?? '') ? end + 1 : end,
  };
}
