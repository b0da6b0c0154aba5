/** Rules that keep start-up short and work linear, as far as the source text shows it. */
import { type Code, isDeferred, lineAt, readCode } from './code-text.ts';

export interface Source {
  path: string;
  text: string;
}

export interface Breach {
  rule: Rule;
  path: string;
  line: number;
  text: string;
}

export type Rule = keyof typeof RULES;

/** Places in a file that break a rule. */
type Find = (code: Code, path: string) => Iterable<number>;

/** Largest number of entries in one literal, each made by a call, that a file may create when it is loaded. */
const ENTRIES_MAX = 100;

const RULES = {
  /** No Unicode or locale table is created at load: a segmenter alone takes 9 ms. */
  'Intl at load': (code) => eagerly(code, /\bIntl\b/g),
  /** An expression with `\p{…}` or the flag `v` is compiled when it is created; `\p{RGI_Emoji}` takes 13 ms. */
  'Unicode expression at load': eagerPatterns,
  /** No large table is computed at load. */
  'table at load': eagerTables,
  /** Deleting a Map's first key leaves a hole that the next search for the first key skips: quadratic in large Maps. */
  'a Map as a queue': queues,
  /** Work that opens, lists or reads a whole structure for one run is done once for many runs. */
  'work in a loop over runs': loopsOverRuns,
  /** A flag that changes compiled code or the heap, set at run time, can crash the process (lib/memory.ts, ADR 20). */
  'V8 flag at run time': ({ code }) => matches(code, /\bsetFlagsFromString\s*\(/g),
} satisfies Record<string, Find>;

export function breaches(sources: readonly Source[]): Breach[] {
  return sources.flatMap(({ path, text }) => {
    const code = readCode(text);
    return Object.entries(RULES).flatMap(([rule, find]) =>
      [...find(code, path)].map((at) => {
        const line = lineAt(text, at);
        return { rule: rule as Rule, path, line, text: text.split('\n')[line - 1]?.trim() ?? '' };
      }),
    );
  });
}

function* matches(text: string, pattern: RegExp): Generator<number> {
  for (const { index } of text.matchAll(pattern)) yield index;
}

function* eagerly(code: Code, pattern: RegExp): Generator<number> {
  for (const at of matches(code.code, pattern)) if (!isDeferred(code, at)) yield at;
}

const OF_UNICODE = /\\p\{/i;

function* eagerPatterns(code: Code): Generator<number> {
  for (const { at, text } of code.patterns) {
    const flags = text.slice(text.lastIndexOf('/') + 1);
    if ((OF_UNICODE.test(text) || flags.includes('v')) && !isDeferred(code, at)) yield at;
  }
  for (const at of eagerly(code, /\bRegExp\s*\(/g)) {
    const open = code.code.indexOf('(', at);
    if (OF_UNICODE.test(code.text.slice(open, code.pairs.get(open)))) yield at;
  }
}

/** A length given as a number. */
const LENGTH =
  /\b(?:Array\.from\s*\(\s*\{\s*length\s*:\s*|new\s+(?:\w*Array|Map|Set)\s*\(\s*)([\d_]+)/g;

function* eagerTables(code: Code): Generator<number> {
  for (const [from, to] of code.pairs)
    if (code.code[from] !== '(' && !isDeferred(code, from) && madeByCalls(code, from, to))
      yield from;
  for (const { index, 1: length = '' } of code.code.matchAll(LENGTH))
    if (Number(length.replaceAll('_', '')) > ENTRIES_MAX && !isDeferred(code, index)) yield index;
  yield* eagerly(code, /^(?:for|while|do)\b/gm);
}

/** Whether a literal has too many entries with a call in them. */
function madeByCalls({ code, pairs }: Code, from: number, to: number): boolean {
  let count = 0;
  let called = false;
  for (let at = from + 1; at <= to; at++) {
    if (code[at] === ',' || at === to) {
      if (called) count++;
      called = false;
    }
    const closing = pairs.get(at);
    if (closing === undefined) continue;
    called ||= /\(/.test(code.slice(at, closing + 1));
    at = closing;
  }
  return count > ENTRIES_MAX;
}

const FIRST_OF_MAP = /\.(?:keys|values|entries)\s*\(\s*\)\s*\.next\s*\(|\bdropOldest\s*\(/g;
const LOOP_OVER_KEYS =
  /\bfor\s*\(\s*const\s+\[?\w+[^)]*\bof\s+([\w.#]+?)(?:\.(?:keys|entries)\(\))?\s*\)/g;

/** The first key taken repeatedly: directly, by a loop that ends early, or by a helper that does it. */
function* queues({ code, pairs }: Code): Generator<number> {
  for (const at of matches(code, FIRST_OF_MAP))
    if (!/\bfunction\s+$/.test(code.slice(0, at))) yield at;
  for (const { index, 0: head, 1: map = '' } of code.matchAll(LOOP_OVER_KEYS)) {
    const body = bodyAt(code, index + head.length, pairs);
    if (body.includes(`${map}.delete(`) && /\b(?:return|break)\b/.test(body)) yield index;
  }
}

/** A statement: a block, or up to its semicolon. */
function bodyAt(code: string, from: number, pairs: ReadonlyMap<number, number>): string {
  const start = from + (/\S/.exec(code.slice(from))?.index ?? 0);
  const end = code[start] === '{' ? pairs.get(start) : undefined;
  return code.slice(start, end ?? code.indexOf(';', start) + 1);
}

const OF_RUNS = String.raw`(?:[\w.#]*\b)?(?:run_?ids?|runs|rows)`;
const EACH_RUN = new RegExp(
  [
    String.raw`\bfor\s*(?:await\s*)?\(\s*const\s+[^)]*?\bof\s+(?:await\s+)?${OF_RUNS}\b[^)]*\)`,
    String.raw`\b${OF_RUNS}(?:\.\w+\([^()]*\))*\.(?:map|forEach|flatMap|filter|some|every|find|reduce)\s*(?=\()`,
  ].join('|'),
  'gi',
);
const FOR_ONE_RUN =
  /\b(?:openIndex|listSegments|readdirSync|readTombstones|createCatalogue|readSession|l?statSync|scanSegment)\s*\(/;

function* loopsOverRuns({ code, pairs }: Code, path: string): Generator<number> {
  if (!/^src\/(?:app|cli)\//.test(path)) return;
  for (const { index, 0: head } of code.matchAll(EACH_RUN)) {
    const end = index + head.length;
    const callback = code[end] === '(' ? code.slice(end, pairs.get(end)) : null;
    if (FOR_ONE_RUN.test(callback ?? bodyAt(code, end, pairs))) yield index;
  }
}
