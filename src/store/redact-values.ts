/** Known secret values, found in any of the forms they are printed in. */
import type { Anchor } from './redact-anchors.ts';

const VALUE_CHARS_MIN = 8;
const VALUE_CHARS_MAX = 4096;

const SECRET_NAME =
  /(?:^|_|API|ACCESS|PRIVATE|SECRET|AUTH)KEYS?\d{0,3}(?:_|$)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSWRD|_PASS$|_PWD$|CREDENTIAL|AUTH(?!OR)|COOKIE|SIGNING|CONNECTION_STRING/i;
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

/** A value as it is, as JSON and doubly so, as in a URL, and as in base64 at any of three alignments. */
export function formsOf(value: string): string[] {
  const forms = new Set([value, value.toWellFormed()]);
  const json = JSON.stringify(value).slice(1, -1);
  forms.add(json);
  forms.add(JSON.stringify(json).slice(1, -1));
  const url = encodeURIComponent(value.toWellFormed());
  forms.add(url);
  forms.add(url.replaceAll('%20', '+'));
  for (const form of base64Forms(value)) forms.add(form);
  return [...forms].filter((text) => text.length >= VALUE_CHARS_MIN);
}

/** Finds `form` as the secret `value`: in whatever form it is met, its mark is the same. */
export function formAnchor(form: string, value: string, kind: string): Anchor {
  return {
    text: form,
    take(_text, at, found) {
      const end = at + form.length;
      found.push({ start: at, end, kind, value });
      return end;
    },
  };
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
