/** Big recordings in the shape of real ones: a turn of a recorded run, repeated with new ids each time. */
import { once } from 'node:events';
import { createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Shape {
  readonly agent: string;
  readonly from: 'stdout' | 'session';
  /** The recording in the agent's test data. */
  readonly scenario: string;
  /** First and last line of the repeated part: a request to the model, a call, its end. */
  readonly turn: readonly [number, number];
}

export const SHAPES: readonly Shape[] = [
  { agent: 'claude', from: 'stdout', scenario: 'read', turn: [2, 6] },
  { agent: 'claude', from: 'session', scenario: 'read', turn: [5, 16] },
  { agent: 'codex', from: 'stdout', scenario: 'read', turn: [3, 5] },
  { agent: 'codex', from: 'session', scenario: 'read', turn: [8, 14] },
  { agent: 'copilot', from: 'stdout', scenario: 'read', turn: [5, 28] },
  { agent: 'copilot', from: 'session', scenario: 'read', turn: [3, 14] },
  { agent: 'gemini', from: 'stdout', scenario: 'bash-ok', turn: [3, 5] },
  { agent: 'gemini', from: 'session', scenario: 'read-session', turn: [5, 9] },
  { agent: 'opencode', from: 'stdout', scenario: 'read', turn: [1, 4] },
  { agent: 'pi', from: 'stdout', scenario: 'read', turn: [3, 21] },
  { agent: 'pi', from: 'session', scenario: 'read', turn: [6, 7] },
  { agent: 'qwen', from: 'stdout', scenario: 'read', turn: [3, 5] },
  { agent: 'qwen', from: 'session', scenario: 'read', turn: [3, 7] },
];

/** Text appended to messages, inputs and outputs: the recordings have a few words, real runs a page. */
const PAGE = 'lorem ipsum dolor sit amet, consectetur — naïve 日本語 🚀 '.repeat(18);
/** The text of the recorded model before its call; inputs and outputs have non-ASCII characters. */
const SHORT = /^(?:I will|Listed)|[^\u0000-\u007f]/;
/** UUIDs, ids with a prefix, and the eight hexadecimal digits of pi, each as a whole value. */
const ID =
  /"((?:msg_)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(?:call|toolu|msg|fc|fco|resp|prt|item)_\w+|\w+__fc_\w+|[0-9a-f]{8})"(?!:)/g;
const PARENT = /"parent(?:Uuid|Id)":"([^"]+)"/;
const OWN = /"(?:uuid|id)":"([^"]+)"/g;

function lengthened(value: unknown): unknown {
  if (typeof value === 'string') return SHORT.test(value) ? value + PAGE : value;
  if (Array.isArray(value)) return value.map(lengthened);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    key === 'command' ? item : lengthened(item),
  ]);
  return Object.fromEntries(entries);
}

const idsIn = (text: string) => new Set([...text.matchAll(ID)].map((found) => found[1] as string));

/** The recording's file. */
export function recordingAt({ agent, from, scenario }: Shape): string {
  const folder = join(import.meta.dirname, '..', 'src', 'agents', agent, 'testdata', scenario);
  const names = readdirSync(join(folder, from === 'stdout' ? '' : 'session'), {
    recursive: true,
    encoding: 'utf8',
  });
  const name = names.filter((one) => one.endsWith('.jsonl')).sort()[0] ?? '';
  return from === 'stdout' ? join(folder, 'stdout.jsonl') : join(folder, 'session', name);
}

function linesOf(shape: Shape, change: (text: string) => string): string[] {
  return change(readFileSync(recordingAt(shape), 'utf8'))
    .trimEnd()
    .split('\n');
}

/** Text split at its ids, so that each turn is only a join. */
class Template {
  readonly #pieces: readonly string[];
  /** Whether the piece is an id of the turn, the parent of its first record, or text. */
  readonly #kinds: readonly ('own' | 'parent' | 'text')[];
  readonly #last: string;

  constructor(text: string, own: ReadonlySet<string>, parent: string | null, last: string) {
    this.#pieces = text.split(ID);
    this.#last = last;
    this.#kinds = this.#pieces.map((piece, n) => {
      if (n % 2 === 0) return 'text';
      return piece === parent ? 'parent' : own.has(piece) ? 'own' : 'text';
    });
  }

  /** The text of turn number `turn`; it refers to the previous turn unless it is the first. */
  text(turn: number): string {
    let text = '';
    this.#pieces.forEach((piece, n) => {
      if (n % 2 === 0) text += piece;
      else if (this.#kinds[n] === 'own') text += `"${piece}-${turn}"`;
      else if (this.#kinds[n] === 'parent' && turn > 0) text += `"${this.#last}-${turn - 1}"`;
      else text += `"${piece}"`;
    });
    return text;
  }
}

/** The lines of a recording of about this size, several turns at a time. */
function* textsOf(
  shape: Shape,
  bytes: number,
  change: (text: string) => string,
): Generator<string> {
  const lines = linesOf(shape, change);
  const [first, last] = shape.turn;
  const joined = (some: readonly string[]) => some.map((line) => `${line}\n`).join('');
  const head = joined(lines.slice(0, first - 1));
  const turn = joined(
    lines.slice(first - 1, last).map((line) => JSON.stringify(lengthened(JSON.parse(line)))),
  );
  const tail = joined(lines.slice(last));
  const known = idsIn(head);
  const own = new Set([...idsIn(turn)].filter((id) => !known.has(id)));
  const parent = PARENT.exec(turn)?.[1] ?? null;
  const named = [...turn.matchAll(OWN)].map((found) => found[1] as string);
  const link = named.filter((id) => own.has(id)).at(-1) ?? '';
  const linked = parent !== null && !own.has(parent) ? parent : null;
  const template = new Template(turn, own, linked, link);
  yield head;
  const turns = Math.ceil(bytes / Buffer.byteLength(turn));
  for (let n = 0; n < turns; n++) yield template.text(n);
  yield new Template(tail, own, null, '').text(turns - 1);
}

/** `change`: turns the recorded session into another one. */
export async function writeRecording(
  shape: Shape,
  path: string,
  bytes: number,
  change = (text: string) => text,
): Promise<void> {
  const out = createWriteStream(path);
  let held = '';
  for (const text of textsOf(shape, bytes, change)) {
    held += text;
    if (held.length < 1_000_000) continue;
    if (!out.write(held)) await once(out, 'drain');
    held = '';
  }
  out.end(held);
  await once(out, 'close');
}
