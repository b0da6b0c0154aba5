/**
 * What secrets look like. Each finder goes over a text once: no input makes one slow. Where a shape is known by a run
 * of key characters, only the few runs of a text that are long enough are looked at.
 */

/** A secret in a text. `value` is what its mark is made of, where that is not the text itself. */
export interface Found {
  start: number;
  end: number;
  kind: string;
  value?: string;
}

const RUN_CHARS_MIN = 16;
const SECRET_CHARS_MAX = 4096;
const PEM_CHARS_MAX = 64 * 1024;

const TOKEN = new Uint8Array(65536);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-') {
  TOKEN[char.charCodeAt(0)] = 1;
}

/** Shapes within one run of key characters. Every quantifier is bounded and none is followed by anything. */
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

/** All built-in finders. */
export function findShapes(text: string, found: Found[]): void {
  findRuns(text, found);
  if (text.includes('-----BEGIN ')) findPem(text, found);
  if (text.includes('://')) findUserinfo(text, found);
  findHeaders(text, found);
  findAwsSecrets(text, found);
}

/** Goes from run to run: one of 16 characters or more covers a position that is a multiple of 16. */
function findRuns(text: string, found: Found[]): void {
  let floor = 0;
  for (let at = RUN_CHARS_MIN - 1; at < text.length; ) {
    if (TOKEN[text.charCodeAt(at)] === 0) {
      at += RUN_CHARS_MIN;
      continue;
    }
    let start = at;
    while (start > floor && TOKEN[text.charCodeAt(start - 1)] === 1) start -= 1;
    let end = at + 1;
    while (end < text.length && TOKEN[text.charCodeAt(end)] === 1) end += 1;
    if (end - start >= RUN_CHARS_MIN) findInRun(text, start, end, found);
    floor = end;
    at = end + RUN_CHARS_MIN;
  }
}

function findInRun(text: string, start: number, end: number, found: Found[]): void {
  const dotted = text.charCodeAt(end) === 0x2e;
  if (dotted && text.startsWith('eyJ', end + 1) && findJwt(text, start, end, found)) return;
  // The two parts behind a dot are runs of their own; the first is short.
  const from = text.startsWith('SG.', start - 3) ? start - 3 : start;
  const to = from < start ? Math.min(text.length, end + 80) : end;
  const run = text.slice(from, to);
  RUN_RULES.lastIndex = 0;
  for (let match = RUN_RULES.exec(run); match !== null; match = RUN_RULES.exec(run)) {
    const kind = RUN_KINDS[match.findIndex((group, i) => i > 0 && group !== undefined) - 1];
    const at = from + match.index;
    found.push({ start: at, end: at + match[0].length, kind: kind as string });
  }
}

/** Header, dot, claims, dot, signature; the first two are base64url of `{"`. */
function findJwt(text: string, start: number, end: number, found: Found[]): boolean {
  const at = text.indexOf('eyJ', start);
  if (at < 0 || at > end - RUN_CHARS_MIN) return false;
  const limit = Math.min(text.length, at + SECRET_CHARS_MAX * 2);
  let last = end + 1;
  let dots = 1;
  while (last < limit) {
    const code = text.charCodeAt(last);
    if (code === 0x2e && dots < 4) dots += 1;
    else if (TOKEN[code] === 0) break;
    last += 1;
  }
  if (text.charCodeAt(last - 1) === 0x2e) last -= 1;
  found.push({ start: at, end: last, kind: 'jwt' });
  return true;
}

function findPem(text: string, found: Found[]): void {
  for (let at = text.indexOf('-----BEGIN '); at >= 0; ) {
    const label = text.slice(at + 11, at + 11 + 40);
    const close = label.indexOf('-----');
    if (close >= 0 && label.slice(0, close).includes('PRIVATE KEY')) {
      const end = endOfPem(text, at + 11);
      found.push({ start: at, end, kind: 'pem' });
      at = text.indexOf('-----BEGIN ', end);
    } else {
      at = text.indexOf('-----BEGIN ', at + 11);
    }
  }
}

/** Behind the END line; a block that is cut off goes on to the end of the text. */
function endOfPem(text: string, from: number): number {
  const limit = Math.min(text.length, from + PEM_CHARS_MAX);
  const block = text.slice(from, limit);
  const last = block.indexOf('-----END ');
  if (last < 0) return limit;
  const close = block.indexOf('-----', last + 9);
  return close < 0 || close > last + 60 ? from + last + 9 : from + close + 5;
}

const STOPS = new Set('/?#\\"\'`<>()[]{}|^,; \t\r\n'.split(''));

/** `scheme://user:password@host`: the password, or a long user name that stands alone. */
function findUserinfo(text: string, found: Found[]): void {
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    const limit = Math.min(text.length, start + 512);
    let colon = -1;
    let end = start;
    while (end < limit && !STOPS.has(text[end] as string) && text[end] !== '@') {
      if (colon < 0 && text[end] === ':') colon = end;
      end += 1;
    }
    if (end >= limit || text[end] !== '@') continue;
    const from = colon < 0 ? start : colon + 1;
    const secret = text.slice(from, end);
    if (secret === '' || (colon < 0 && secret.length < 20) || /^[$%*]|^x+$/i.test(secret)) continue;
    found.push({ start: from, end, kind: 'url' });
  }
}

const AUTHORIZATION =
  /^["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}(?:(?:basic|bearer|token|digest|apikey|negotiate)\s{1,4})?([^\s"'\\,;<>()[\]{}]{8,4096})/i;
const BEARER = /^\s{0,4}([\w.~+/=-]{16,4096})/;
const API_KEY = /^["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}([^\s"'\\,;<>()[\]{}]{8,4096})/;
/** Anchors begin with rare letters: looking for them costs next to nothing. */
const HEADERS: readonly (readonly [anchor: string, before: RegExp | null, value: RegExp])[] = [
  ['zation', /authori$/i, AUTHORIZATION],
  ['ZATION', /AUTHORI$/, AUTHORIZATION],
  ['Bearer ', null, BEARER],
  ['bearer ', null, BEARER],
  ['BEARER ', null, BEARER],
  ['-api-key', null, API_KEY],
  ['-Api-Key', null, API_KEY],
  ['-API-KEY', null, API_KEY],
];

function findHeaders(text: string, found: Found[]): void {
  for (const [anchor, before, value] of HEADERS) {
    for (let at = text.indexOf(anchor); at >= 0; at = text.indexOf(anchor, at + anchor.length)) {
      if (before !== null && !before.test(text.slice(Math.max(0, at - 8), at))) continue;
      const from = at + anchor.length;
      const match = value.exec(text.slice(from, from + SECRET_CHARS_MAX));
      if (match === null) continue;
      const secret = match[1] as string;
      if (value === BEARER && !(secret.length >= 32 || /\d/.test(secret))) continue;
      const start = from + match[0].length - secret.length;
      found.push({ start, end: start + secret.length, kind: 'authorization' });
    }
  }
}

const AWS_SECRET =
  /^["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}([A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])/;
const AWS_ANCHORS = ['_access_key', '_ACCESS_KEY', 'AccessKey'];

/** The 40 characters behind `…secret_access_key`; they have no shape of their own. */
function findAwsSecrets(text: string, found: Found[]): void {
  for (const anchor of AWS_ANCHORS) {
    for (let at = text.indexOf(anchor); at >= 0; at = text.indexOf(anchor, at + anchor.length)) {
      if (!/secret$/i.test(text.slice(Math.max(0, at - 6), at))) continue;
      const from = at + anchor.length;
      const match = AWS_SECRET.exec(text.slice(from, from + 64));
      if (match === null) continue;
      const start = from + match[0].length - 40;
      found.push({ start, end: start + 40, kind: 'aws' });
    }
  }
}
