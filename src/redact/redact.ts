/**
 * Redaction (ST-7): what looks like a secret is replaced by `[REDACTED:<kind>:<8 hex>]` before anything lasts or leaves.
 * Contract: the same secret has the same mark everywhere; redacting twice changes nothing; the time is linear.
 */
import { LIMITS } from '../lib/limits.ts';
import { cutUtf8, utf8Bytes } from '../lib/utf8.ts';
import type { Found } from './anchors.ts';
import { createFinders } from './find.ts';
import { createKeyLines } from './lines.ts';
import { isWord, type Redacting, redactValue } from './objects.ts';
import { compilePatterns } from './patterns.ts';
import { KEY_BLOCK_CHARS_MAX, openKeyBlock } from './rules.ts';
import { createStreams } from './streams.ts';
import { isLongNumber, knownSecrets } from './values.ts';

export interface RedactorOptions {
  /** The run's environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** Variables that hold secrets whatever their names look like. */
  secret_env: readonly string[];
  /** Configured regular expressions. */
  patterns?: readonly string[];
  /** 8 hex digits of a text, under the state folder's key. */
  hash: (text: string) => string;
}

export interface Redactor {
  text(text: string): string;
  /** The same, faster for names that come again and again. */
  name(text: string): string;
  /** Every string in a JSON value, keys too. The same object when nothing was found. */
  value<T>(value: T): T;
  /** The same for a value that an agent or a tool made up: numbers too. */
  foreign<T>(value: T): T;
  /**
   * One line of a channel of which every line comes by itself: keys over several lines are found too. Cut like `head`
   * where a limit is given.
   */
  line(channel: string, text: string, bytes_max?: number): string;
  /** The beginning of a text: redacted, then cut. What may be a part of a secret at the cut is left out. */
  head(text: string, bytes_max: number): string;
  /** A piece of a text that comes in pieces. What may be the beginning of a secret is held back. */
  delta(stream: string, text: string): string;
  /** What was held back; the stream has ended. */
  flush(stream: string): string;
  /** How many were replaced, by kind. */
  counts(): Record<string, number>;
  /** Names of secret-looking variables with values that are too short to be redacted. */
  readonly too_short: readonly string[];
  /** How much of a text must be seen at once to find what is split over its pieces. */
  reachOf(text: string): number;
  /** Whether byte text (lib/byte-text) is redacted as the text that it encodes. */
  readonly bytes_too: boolean;
}

/** Characters of one that is written as an escape. */
const ENCODED_MAX = 6;
const HEAD_STREAM = '\nhead';

const PLAIN_KEYS_MAX = 1024;
/** Marks kept at hand: a secret that is found often is hashed once. */
const HASHES_MAX = 1024;
const MARK = /\[REDACTED:[a-z_]{1,20}:[0-9a-f]{8}\]/g;

export function createRedactor(options: RedactorOptions): Redactor {
  const known = knownSecrets(options.env, options.secret_env);
  const finders = createFinders(known.values, compilePatterns(options.patterns ?? []));
  const longest = known.values.reduce((most, value) => Math.max(most, value.length), 0);
  const reach = Math.max(LIMITS.redaction_hold_chars, ENCODED_MAX * longest);
  const { mark, replace, counts } = createMarks(options.hash);

  function find(text: string): Found[] {
    const found = finders.find(text);
    return found.length === 0 ? found : settled(text, found);
  }

  function redact(text: string): string {
    const found = find(text);
    return found.length === 0 ? text : replace(text, found);
  }

  /** Also what is a secret because of the word before it. */
  function redactBehind(word: string, text: string): string {
    const from = word.length + 2;
    const found = find(`${word}: ${text}`)
      .filter(({ end }) => end > from)
      .map((each) => ({ ...each, start: Math.max(0, each.start - from), end: each.end - from }));
    return replace(text, found);
  }

  /** Names of fields are few and come often. */
  const plain_keys = new Set<string>();
  function redactKey(key: string): string {
    if (plain_keys.has(key)) return key;
    const safe = redact(key);
    if (safe === key && plain_keys.size < PLAIN_KEYS_MAX) plain_keys.add(key);
    return safe;
  }

  const redacting: Redacting = {
    text: (text, word) => (isWord(word) ? redactBehind(word, redact(text)) : redact(text)),
    key: redactKey,
    lines: keyLines,
    number: null,
  };
  /** Numbers are rounded and have no zeros before them, so a known value is compared as one. */
  const numbers = new Map(known.values.filter(isLongNumber).map((value) => [Number(value), value]));
  function redactNumber(value: number, word: string): number | string {
    const text = numbers.get(value) ?? String(value);
    const safe = redacting.text(text, word);
    return safe === text ? value : safe;
  }

  const streams = createStreams({ find, redact, cutOff: finders.cutOff });
  const head = (text: string, bytes_max: number): string => {
    if (utf8Bytes(text) <= bytes_max) return cutUtf8(redact(text), bytes_max);
    const safe = streams.delta(HEAD_STREAM, text.slice(0, LIMITS.excerpt_read_bytes));
    streams.drop(HEAD_STREAM);
    return cutUtf8(safe, bytes_max);
  };
  function keyLines() {
    return createKeyLines(head, (line) => mark('pem', line));
  }

  return {
    text: redact,
    name: redactKey,
    value: (value) => redactValue(value, redacting) as typeof value,
    foreign: (value) => redactValue(value, { ...redacting, number: redactNumber }) as typeof value,
    line: keyLines(),
    head,
    delta: streams.delta,
    flush: streams.flush,
    counts,
    too_short: known.too_short,
    reachOf: (text) => (openKeyBlock(text) < 0 ? reach : Math.max(reach, KEY_BLOCK_CHARS_MAX)),
    bytes_too: !finders.needsText,
  };
}

/** Marks in the place of secrets, counted by kind. */
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

/** In order, without overlaps, and without what lies in a mark. */
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

/** A secret that lies in another is a part of that one. */
function union(first: Found, second: Found): Found {
  return { start: first.start, end: second.end, kind: first.kind };
}
