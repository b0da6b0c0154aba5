/**
 * Redaction (ST-7): text that looks like a secret is replaced with `[REDACTED:<kind>:<8 hex>]` before it is stored or sent.
 * Contract: the same secret has the same mark everywhere; redacting twice changes nothing; the time is linear.
 */

import { changedText, fromByteText, toByteText } from '../lib/byte-text.ts';
import { LIMITS } from '../lib/limits.ts';
import { cutUtf8, utf8Bytes } from '../lib/utf8.ts';
import type { Found } from './anchors.ts';
import { createFinders } from './find.ts';
import { KEY_BLOCK_CHARS_MAX, openKeyBlock } from './key-blocks.ts';
import { REDACT_LIMITS } from './limits.ts';
import { createKeyLines } from './lines.ts';
import { isWord, type Redacting, redactValue } from './objects.ts';
import { compilePatterns } from './patterns.ts';
import { createStreams } from './streams.ts';
import { isLongNumber, knownSecrets } from './values.ts';

export interface RedactorOptions {
  /** The run's environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** Variables that contain secrets although their names do not show it. */
  secret_env: readonly string[];
  /** Configured regular expressions. */
  patterns?: readonly string[];
  /** Texts are byte text, as in `forByteText`. */
  byte_text?: boolean;
  /** 8 hex digits: a hash of the text under the state folder's key. */
  hash: (text: string) => string;
}

export type Redactor = ReturnType<typeof redactorWith>;

/** Length of a character that is written as an escape. */
const ENCODED_MAX = 6;
const HEAD_STREAM = '\nhead';

const PLAIN_KEYS_MAX = 1024;
/** Cached marks: a frequent secret is hashed once. */
const HASHES_MAX = 1024;
const MARK = /\[REDACTED:[a-z_]{1,20}:[0-9a-f]{8}\]/g;

export function createRedactor(options: RedactorOptions) {
  const parts = partsOf(options);
  return {
    ...redactorWith(parts, options.byte_text === true),
    /** The same, with shared counts, for byte text (lib/byte-text). Possible secrets are inspected as ordinary text. */
    forByteText: () => redactorWith(parts, true),
  };
}

/** A redactor that also works on byte text. */
export type AnyRedactor = ReturnType<typeof createRedactor>;

function partsOf(options: RedactorOptions) {
  const known = knownSecrets(options.env, options.secret_env);
  const finders = createFinders(known.values, compilePatterns(options.patterns ?? []));
  const longest = known.values.reduce((most, value) => Math.max(most, value.length), 0);
  const reach = Math.max(REDACT_LIMITS.redaction_hold_chars, ENCODED_MAX * longest);
  return { known, finders, reach, ...createMarks(options.hash) };
}

function redactorWith(parts: ReturnType<typeof partsOf>, byte_text: boolean) {
  const { known, finders, reach, mark, replace, counts } = parts;

  function find(text: string): Found[] {
    const found = finders.find(text);
    return found.length === 0 ? found : settled(text, found);
  }

  function redactText(text: string): string {
    const found = find(text);
    return found.length === 0 ? text : replace(text, found);
  }

  function redactBytes(text: string): string {
    if (!finders.near(finders.find(text))) return text;
    return toByteText(redactText(fromByteText(text)));
  }

  const redact = byte_text ? redactBytes : redactText;

  /** A text after a word that makes it a secret. */
  function redactBehind(word: string, text: string): string {
    return replace(text, behind(word, find(`${word}: ${text}`)));
  }

  const redactKey = knowingPlain(redact);
  const redacting: Redacting = {
    text(text, word) {
      const safe = redact(text);
      if (!isWord(word)) return safe;
      const name = byte_text ? fromByteText(word) : word;
      return changedText(safe, (real) => redactBehind(name, real), byte_text);
    },
    key: redactKey,
    lines: keyLines,
    number: null,
  };
  const redactingNumbers = { ...redacting, number: numbersBy(known.values, redacting.text) };

  const streams = createStreams({ find, redact: redactText, cutOff: finders.cutOff });
  /** The beginning of a text: redacted, then truncated. A possible part of a secret at the end is omitted. */
  const headOf = (text: string, bytes_max: number): string => {
    if (utf8Bytes(text) <= bytes_max) return cutUtf8(redactText(text), bytes_max);
    const safe = streams.delta(HEAD_STREAM, text.slice(0, LIMITS.excerpt_read_bytes));
    streams.drop(HEAD_STREAM);
    return cutUtf8(safe, bytes_max);
  };
  function keyLines(): ReturnType<typeof createKeyLines> {
    const lines = createKeyLines(headOf, (line) => mark('pem', line));
    return (channel, text, bytes_max) =>
      changedText(text, (real) => lines(channel, real, bytes_max), byte_text);
  }

  return {
    text: redact,
    /** The same, faster for repeated names. */
    name: redactKey,
    /** Every string in a JSON value, including keys. Returns the same object if nothing was found. */
    value: <T>(value: T) => redactValue(value, redacting) as T,
    /** The same for a value from an agent or a tool: also redacts numbers. */
    foreign: <T>(value: T) => redactValue(value, redactingNumbers) as T,
    /**
     * One line of a channel that is processed line by line. Also finds keys that span several lines. Truncated like `head`
     * if a limit is given.
     */
    line: keyLines(),
    head: (text: string, bytes_max: number) =>
      changedText(text, (real) => headOf(real, bytes_max), byte_text),
    /** A piece of a text in pieces. A possible beginning of a secret is held back. */
    delta: (key: string, text: string) =>
      changedText(text, (real) => streams.delta(key, real), byte_text),
    /** The held-back text, at the end of the stream. */
    flush: (key: string) => changedText('', () => streams.flush(key), byte_text),
    /** The number of replaced secrets, by kind. */
    counts,
    /** Names of secret-looking variables with values that are too short to be redacted. */
    too_short: known.too_short,
    /** How much of a text must be inspected together to find secrets that are split over its pieces. */
    reachOf: (text: string) =>
      openKeyBlock(text) < 0 ? reach : Math.max(reach, KEY_BLOCK_CHARS_MAX),
    /** Whether byte text (lib/byte-text) has the same result as the text that it encodes. */
    bytes_too: !finders.needsText,
  };
}

/** Found in the text after `word: `: a secret because of the preceding word. */
function behind(word: string, found: readonly Found[]): Found[] {
  const from = word.length + 2;
  return found
    .filter(({ end }) => end > from)
    .map((each) => ({ ...each, start: Math.max(0, each.start - from), end: each.end - from }));
}

/** There are few field names, and they are frequent. */
function knowingPlain(redact: (text: string) => string): (name: string) => string {
  const plain = new Set<string>();
  return (name) => {
    if (plain.has(name)) return name;
    const safe = redact(name);
    if (safe === name && plain.size < PLAIN_KEYS_MAX) plain.add(name);
    return safe;
  };
}

/** Numbers are rounded and have no leading zeros, so known values are compared as numbers. */
function numbersBy(values: readonly string[], redact: Redacting['text']): Redacting['number'] {
  const numbers = new Map(values.filter(isLongNumber).map((value) => [Number(value), value]));
  return (value, word) => {
    const text = numbers.get(value) ?? String(value);
    const safe = redact(text, word);
    return safe === text ? value : safe;
  };
}

/** Replaces secrets with marks and counts them by kind. */
function createMarks(hash: (text: string) => string) {
  const totals = new Map<string, number>();
  const hashes = new Map<string, string>();

  function mark(kind: string, secret: string): string {
    totals.set(kind, (totals.get(kind) ?? 0) + 1);
    return `[REDACTED:${kind}:${hashOf(secret)}]`;
  }

  function replace(text: string, found: readonly Found[]): string {
    let result = '';
    let done = 0;
    for (const { start, end, kind, value } of found) {
      result += text.slice(done, start) + mark(kind, value ?? text.slice(start, end));
      done = end;
    }
    return result + text.slice(done);
  }

  function hashOf(secret: string): string {
    const known_hash = hashes.get(secret);
    if (known_hash !== undefined) return known_hash;
    const made = hash(secret);
    if (hashes.size >= HASHES_MAX) hashes.clear();
    hashes.set(secret, made);
    return made;
  }

  const counts = () => Object.fromEntries([...totals].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { mark, replace, counts };
}

/** In order, without overlaps, and without matches inside a mark. */
function settled(text: string, found: Found[]): Found[] {
  const marks = text.includes('[REDACTED:') ? [...text.matchAll(MARK)] : [];
  const spans = marks.map((mark) => [mark.index, mark.index + mark[0].length] as const);
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const result: Found[] = [];
  let mark = 0;
  for (const each of found) {
    while (mark < spans.length && (spans[mark] as readonly [number, number])[1] <= each.start)
      mark += 1;
    const span = spans[mark];
    if (span !== undefined && span[0] <= each.start && each.end <= span[1]) continue;
    const last = result.at(-1);
    if (last === undefined || each.start >= last.end) result.push(each);
    else if (each.end > last.end) result[result.length - 1] = union(last, each);
  }
  return result;
}

/** A secret inside another one is a part of it. */
function union(first: Found, second: Found): Found {
  return { start: first.start, end: second.end, kind: first.kind };
}
