/**
 * Redaction (ST-7): what looks like a secret is replaced by `[REDACTED:<kind>:<8 hex>]` before anything lasts or leaves.
 * Contract: the same secret has the same mark everywhere; redacting twice changes nothing; the time is linear.
 */
import { type Anchor, createAnchors } from './redact-anchors.ts';
import { compilePattern } from './redact-patterns.ts';
import { type Found, findRuns, findUserinfo, SHAPE_ANCHORS } from './redact-rules.ts';
import { createStreams } from './redact-streams.ts';
import { formAnchor, formsOf, secretValues } from './redact-values.ts';

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
  /** Every string in a JSON value, keys too. The same object when nothing was found. */
  value<T>(value: T): T;
  /** A piece of a text that comes in pieces. What may be the beginning of a secret is held back. */
  delta(stream: string, text: string): string;
  /** What was held back; the stream has ended. */
  flush(stream: string): string;
  /** How many were replaced, by kind. */
  counts(): Record<string, number>;
}

const TEXT_CHARS_MIN = 8;
/** Marks kept at hand: a secret that is found often is hashed once. */
const HASHES_MAX = 1024;
const MARK = /\[REDACTED:[a-z_]{1,20}:[0-9a-f]{8}\]/g;

export function createRedactor(options: RedactorOptions): Redactor {
  const { hash } = options;
  const values = secretValues(options.env, options.secret_env);
  const findAnchors = createAnchors([...values.flatMap(anchorsFor), ...SHAPE_ANCHORS]);
  const patterns = (options.patterns ?? []).map(compilePattern);
  const totals = new Map<string, number>();
  const hashes = new Map<string, string>();

  function find(text: string): Found[] {
    const found: Found[] = [];
    if (text.length < TEXT_CHARS_MIN) return found;
    findAnchors(text, found);
    findRuns(text, found);
    findUserinfo(text, found);
    for (const pattern of patterns) findPattern(text, pattern, found);
    return found.length === 0 ? found : settled(text, found);
  }

  function replace(text: string, found: readonly Found[]): string {
    let result = '';
    let done = 0;
    for (const { start, end, kind, value } of found) {
      totals.set(kind, (totals.get(kind) ?? 0) + 1);
      const mark = `[REDACTED:${kind}:${hashOf(value ?? text.slice(start, end))}]`;
      result += text.slice(done, start) + mark;
      done = end;
    }
    return result + text.slice(done);
  }

  function hashOf(secret: string): string {
    const known = hashes.get(secret);
    if (known !== undefined) return known;
    const made = hash(secret);
    if (hashes.size >= HASHES_MAX) hashes.clear();
    hashes.set(secret, made);
    return made;
  }

  function redact(text: string): string {
    const found = find(text);
    return found.length === 0 ? text : replace(text, found);
  }

  const spaced = values.flatMap(formsOf).filter((form) => /\s/.test(form));
  const streams = createStreams({ find, redact, spaced });
  return {
    text: redact,
    value: (value) => redactValue(value, redact) as typeof value,
    delta: streams.delta,
    flush: streams.flush,
    counts: () => Object.fromEntries([...totals].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** A value that has a known shape is of that kind, in whichever run and form it is met. */
function anchorsFor(value: string): Anchor[] {
  const found: Found[] = [];
  findRuns(value, found);
  const whole = found.find(({ start, end }) => start === 0 && end === value.length);
  return formsOf(value).map((form) => formAnchor(form, value, whole?.kind ?? 'env'));
}

function findPattern(text: string, pattern: RegExp, found: Found[]): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (match[0] === '') pattern.lastIndex += 1;
    else found.push({ start: match.index, end: match.index + match[0].length, kind: 'pattern' });
  }
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

function union(first: Found, second: Found): Found {
  return { start: first.start, end: second.end, kind: first.kind };
}

function redactValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    let changed: unknown[] | null = null;
    for (let i = 0; i < value.length; i++) {
      const item = redactValue(value[i], redact);
      if (item === value[i]) continue;
      changed ??= [...value];
      changed[i] = item;
    }
    return changed ?? value;
  }
  return redactObject(value as Record<string, unknown>, redact);
}

function redactObject(
  value: Record<string, unknown>,
  redact: (text: string) => string,
): Record<string, unknown> {
  let changed: [string, unknown][] | null = null;
  let at = 0;
  for (const key in value) {
    const item = value[key];
    const safe_key = redact(key);
    const safe = redactValue(item, redact);
    if (changed === null && (safe_key !== key || safe !== item)) {
      changed = Object.entries(value).slice(0, at);
    }
    changed?.push([safe_key, safe]);
    at += 1;
  }
  // fromEntries makes `__proto__` a key like any other.
  return changed === null ? value : Object.fromEntries(changed);
}
