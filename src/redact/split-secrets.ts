/** Finds secrets that an agent prints in pieces over several records, in any agent's format, by joining the texts. */
import { LIMITS } from '../lib/limits.ts';
import type { Redactor } from './redact.ts';

/** Fields that agents use to stream texts. */
const STREAMED = /(?:text|delta|content|thinking|json|output|chunk|arguments|data)$/i;
const MARK = '[REDACTED:split]';

interface Piece {
  line: number;
  path: string;
  chars: number;
}

interface Tail {
  text: string;
  pieces: Piece[];
}

export class SplitSecrets {
  readonly #redactor: Redactor;
  /** The last characters of each text, in two generations. The older one is dropped to bound memory. */
  #tails = new Map<string, Tail>();
  #tails_before = new Map<string, Tail>();
  readonly #found = new Map<number, Set<string>>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Reads the records in order. */
  look(record: object | null, line: number): void {
    if (record === null) return;
    const type = (record as { type?: unknown }).type;
    const ids = idsOf(record, IDS_DEPTH);
    eachText(record, '', (path, text) => {
      const piece = { line, path, chars: text.length };
      // Not every agent identifies its texts, and pieces of several texts may alternate.
      this.#piece(`${type}${path}`, piece, text);
      if (ids !== '') this.#piece(`${type}${path}${ids}`, piece, text);
    });
  }

  /** Fields of a line that contain a part of a split secret. */
  in(line: number): ReadonlySet<string> | null {
    return this.#found.get(line) ?? null;
  }

  #piece(key: string, piece: Piece, text: string): void {
    const known = this.#tails.get(key) ?? this.#tails_before.get(key);
    const tail = known ?? { text: '', pieces: [] };
    const safe = (part: string) => this.#redactor.text(part);
    const whole = tail.text + text;
    const reach = this.#redactor.reachOf(whole);
    tail.pieces.push(piece);
    const head = text.slice(0, reach);
    if (tail.text !== '' && safe(tail.text + head) !== safe(tail.text) + safe(head)) {
      for (const { line, path } of tail.pieces) this.#mark(line, path);
    }
    tail.text = whole.slice(-reach);
    let chars = tail.pieces.reduce((sum, { chars }) => sum + chars, 0);
    while (chars - (tail.pieces[0]?.chars ?? 0) >= reach) chars -= tail.pieces.shift()?.chars ?? 0;
    if (this.#tails.size >= LIMITS.open_calls_max) {
      this.#tails_before = this.#tails;
      this.#tails = new Map();
    }
    this.#tails.set(key, tail);
  }

  #mark(line: number, path: string): void {
    const paths = this.#found.get(line) ?? new Set();
    this.#found.set(line, paths.add(path));
  }
}

/** The record without these fields. */
export function withoutFields<T>(value: T, paths: ReadonlySet<string>, path = ''): T {
  if (typeof value === 'string') return (paths.has(path) ? MARK : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.map((item, at) => withoutFields(item, paths, `${path}/${at}`)) as T;
  const entries = Object.entries(value).map(([name, item]) => [
    name,
    withoutFields(item, paths, `${path}/${name}`),
  ]);
  return Object.fromEntries(entries) as T;
}

/** Fields that identify the text of a piece. */
const IDS = /^(?:t|type|sessionUpdate|index|(?:\w{0,40}_?)?id|\w{0,40}Id)$/;
const IDS_DEPTH = 4;
const ID_CHARS_MAX = 200;

/** All identifying fields in order, without times and UUIDs, which differ from piece to piece. */
function idsOf(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || depth === 0) return '';
  let ids = '';
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === 'object') ids += idsOf(item, depth - 1);
    else if (name !== 'uuid' && IDS.test(name) && String(item).length <= ID_CHARS_MAX)
      ids += ` ${name}=${item}`;
  }
  return ids;
}

function eachText(value: unknown, path: string, take: (path: string, text: string) => void): void {
  if (typeof value === 'string') {
    if (value !== '' && STREAMED.test(path)) take(path, value);
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) eachText(item, `${path}/${at}`, take);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) eachText(item, `${path}/${name}`, take);
  }
}
