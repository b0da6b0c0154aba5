/** Known secret values, found in any of the forms they are printed in. */
import type { Found } from './redact-rules.ts';

const VALUE_CHARS_MIN = 8;
const VALUE_CHARS_MAX = 4096;

const SECRET_NAME =
  /(?:^|_|API|ACCESS|PRIVATE|SECRET|AUTH)KEYS?(?:_|$)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSWRD|_PASS$|_PWD$|CREDENTIAL|AUTH(?!OR)|COOKIE|SIGNING|CONNECTION_STRING/i;
/** Names that say where a secret lies or who it is for, not what it is. */
const OPEN_NAME =
  /_(?:FILE|PATH|DIR|SOCK|HOST|PORT|USER|USERNAME|NAME|TYPE|METHOD|MODE|ENABLED|TTL|LIMIT|MAX)$/i;
/** What a secret-looking variable is set to when it is a switch. */
const WORDS = new Set([
  'disabled',
  'enabled',
  'required',
  'optional',
  'undefined',
  'localhost',
  'production',
  'development',
]);

/** Values of the variables that are listed or whose names look secret. */
export function secretValues(
  env: Readonly<Record<string, string | undefined>>,
  listed: readonly string[],
): string[] {
  const values = new Set<string>();
  const sure = new Set(listed);
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const secret = value.trim();
    if (secret.length < VALUE_CHARS_MIN || secret.length > VALUE_CHARS_MAX) continue;
    if (sure.has(name)) values.add(secret);
    else if (looksSecret(name) && !looksOpen(secret)) values.add(secret);
  }
  return [...values];
}

function looksSecret(name: string): boolean {
  return SECRET_NAME.test(name) && !OPEN_NAME.test(name);
}

/** Switches, and paths: a socket or a file, not a secret. */
function looksOpen(value: string): boolean {
  return WORDS.has(value.toLowerCase()) || /^(?:\/|\.\.?\/|~\/|[A-Za-z]:\\)[^\n]*[/\\]/.test(value);
}

export interface Needle {
  text: string;
  value: string;
  kind: string;
}

/** A value as it is, as JSON and doubly so, as in a URL, and as in base64 at any of three alignments. */
export function needlesOf(value: string, kind: string): Needle[] {
  const forms = new Set([value, value.toWellFormed()]);
  const json = JSON.stringify(value).slice(1, -1);
  forms.add(json);
  forms.add(JSON.stringify(json).slice(1, -1));
  const url = encodeURIComponent(value.toWellFormed());
  forms.add(url);
  forms.add(url.replaceAll('%20', '+'));
  for (const form of base64Forms(value)) forms.add(form);
  return [...forms]
    .filter((text) => text.length >= VALUE_CHARS_MIN)
    .map((text) => ({ text, value, kind }));
}

/** The characters that do not depend on what stands before and after the value. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  const forms: string[] = [];
  for (let shift = 0; shift < 3; shift++) {
    const padded = Buffer.concat([Buffer.alloc(shift), bytes]);
    const whole = padded.subarray(0, padded.length - (padded.length % 3)).toString('base64');
    const form = whole.slice(shift === 0 ? 0 : 4);
    forms.push(form, form.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}

const WINDOW = VALUE_CHARS_MIN;

/**
 * Finds all needles in one pass that looks at every seventh pair of characters of a text without them
 * (Wu and Manber): how many needles there are does not matter.
 */
export function createNeedleFinder(
  needles: readonly Needle[],
): (text: string, found: Found[]) => void {
  const far = WINDOW - 1;
  const shifts = new Uint8Array(65536).fill(far);
  const endings = new Map<number, Needle[]>();
  for (const needle of needles) {
    for (let at = 0; at < far; at++) {
      const pair = pairAt(needle.text, at);
      shifts[pair] = Math.min(shifts[pair] as number, far - 1 - at);
    }
    const last = pairAt(needle.text, far - 1);
    endings.set(last, [...(endings.get(last) ?? []), needle].sort(longestFirst));
  }
  return (text, found) => {
    for (let at = 0; at + WINDOW <= text.length; ) {
      const pair = pairAt(text, at + far - 1);
      const shift = shifts[pair] as number;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const needle = endings.get(pair)?.find((each) => text.startsWith(each.text, at));
      if (needle !== undefined) {
        const end = at + needle.text.length;
        found.push({ start: at, end, kind: needle.kind, value: needle.value });
        at = end;
      } else {
        at += 1;
      }
    }
  };
}

function longestFirst(a: Needle, b: Needle): number {
  return b.text.length - a.text.length;
}

/** Two characters as one number; characters beyond Latin-1 share numbers, which costs a look and no more. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff);
}
