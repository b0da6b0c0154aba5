/** Matches the calls of a run with the patterns of a rule. Pure, and in bounded time. */
import { isMap } from '../../lib/own.ts';
import { headCopy } from '../../lib/utf8.ts';
import type { Event } from '../../model/event.ts';
import { compilePatterns } from '../../redact/gate.ts';
import { APP_LIMITS } from '../limits.ts';
import { regexOf } from './notify-rules.ts';

/** Fields of an input that name what is run, read or written. Contents of files are not compared. */
const NAMING = /(?:command|cmd|path|paths|file|files|file_?name|url)$/i;
const DEPTH_MAX = 3;

const bounded = (text: string) => headCopy(text, APP_LIMITS.notify_matched_chars_max);

/** A command as a list of words is compared as one line. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return bounded(value);
  const words = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return words ? bounded(value.join(' ')) : null;
}

function* namesIn(input: unknown, depth: number): Generator<string> {
  if (typeof input !== 'object' || input === null || depth === 0) return;
  for (const [name, value] of Object.entries(input)) {
    const text = Array.isArray(input) || NAMING.test(name) ? textOf(value) : null;
    if (text !== null) yield text;
    else if (isMap(value) || Array.isArray(value)) yield* namesIn(value, depth - 1);
  }
}

export interface NamedCall {
  tool: string;
  /** The names of its tool, commands and paths. */
  texts: string[];
}

/** Null if the event is not a call and names no file. */
export function namedCall({ kind, data }: Event): NamedCall | null {
  if (kind === 'file_changed') return { tool: data.operation, texts: [bounded(data.path)] };
  if (kind !== 'call_requested') return null;
  const { tool, native_tool, input, reads } = data;
  const most = APP_LIMITS.notify_matched_texts_max;
  const named = typeof input === 'string' ? [bounded(input)] : namesIn(input, DEPTH_MAX);
  const texts = [tool, native_tool, ...reads.slice(0, most).map(bounded)];
  for (const text of named) if (texts.length < most) texts.push(text);
  return { tool, texts };
}

interface Match {
  pattern: string;
  /** The text that matched. */
  text: string;
}

export type Matcher = (call: NamedCall) => Match | null;

/** `patterns`: texts that are contained, or `/regex/`. */
export function createMatcher(patterns: readonly string[]): Matcher {
  const tests = patterns.map((pattern) => {
    const source = regexOf(pattern);
    if (source === null) return { pattern, test: (text: string) => text.includes(pattern) };
    const compiled = compilePatterns([source]);
    const test = (text: string) => {
      let found = false;
      compiled?.find(text, () => {
        found = true;
      });
      return found;
    };
    return { pattern, test };
  });
  return ({ texts }) => {
    for (const { pattern, test } of tests) {
      const text = texts.find(test);
      if (text !== undefined) return { pattern, text };
    }
    return null;
  };
}
