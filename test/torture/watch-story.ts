/**
 * The recordings of an agent as its CLI writes them into a home folder: lines appended, sometimes in two pieces; documents
 * rewritten as a whole; rows of a database inserted and updated by transactions. Several sessions grow at the same time.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { jsonIn } from '../../src/lib/json.ts';
import type { Agent } from '../../src/model/agent.ts';
import type { Random } from './random.ts';

const AGENTS = join(import.meta.dirname, '../../src/agents');
/** Where the files of a recording are in a home folder, if they are not recorded with that path. */
const HOMES: Readonly<Record<string, string>> = {
  copilot: '.copilot/session-state',
  demo: 'demo',
  grok: '.grok',
  omp: '.omp/agent',
  pi: '.pi/agent',
};
const DATABASES: ReadonlySet<string> = new Set(['kilo', 'opencode']);
const TABLES = ['session', 'message', 'part'] as const;
const SESSIONS_TOGETHER = 3;
/** How many lines are written in two pieces. */
const TORN = 0.2;

/** One change of the home folder. */
type Write = () => void;

interface Session {
  scenario: string;
  /** When it began. */
  at_ms: number;
  writes: Write[];
}

interface Timed {
  at_ms: number;
  write: Write;
}

export interface Story {
  writes: Write[];
  close(): void;
}

/** `scenarios`: how many. Those with sub-agents come first. */
export function storyOf(agent: Agent, home: string, random: Random, scenarios = 1_000): Story {
  const database = DATABASES.has(agent.id) ? new Database(home, agent.id, random) : null;
  const folder = join(AGENTS, agent.id, 'testdata');
  const sessions = readdirSync(folder)
    .filter((scenario) => existsSync(join(folder, scenario, 'session')))
    .sort((a, b) => Number(b.startsWith('subagent')) - Number(a.startsWith('subagent')))
    .slice(0, scenarios)
    .map((scenario, n) => {
      const root = join(folder, scenario, 'session');
      const timed = database?.writesOf(root) ?? fileWrites(agent, scenario, n, { home, random });
      timed.sort((a, b) => a.at_ms - b.at_ms);
      const at_ms = timed.find((one) => one.at_ms > 0)?.at_ms ?? 0;
      return { scenario, at_ms, writes: timed.map(({ write }) => write) };
    })
    .sort((a, b) => a.at_ms - b.at_ms || (a.scenario < b.scenario ? -1 : 1));
  const writes: Write[] = [];
  for (let at = 0; at < sessions.length; at += SESSIONS_TOGETHER)
    writes.push(...mixed(sessions.slice(at, at + SESSIONS_TOGETHER), random));
  return { writes, close: () => database?.close() };
}

/** The writes of several sessions, each in its order. */
function* mixed(sessions: readonly Session[], random: Random): Generator<Write> {
  const rest = sessions.map(({ writes }) => [...writes]).filter((writes) => writes.length > 0);
  while (rest.length > 0) {
    const writes = random.pick(rest);
    yield writes.shift() as Write;
    if (writes.length === 0) rest.splice(rest.indexOf(writes), 1);
  }
}

function filesBelow(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  return names.filter((name) => statSync(join(root, name)).isFile());
}

/** The demo's sessions all begin at the same time: they would be forks of each other. */
function ownTime(bytes: Buffer, scenario: number): Buffer {
  const text = bytes.toString('latin1');
  const day = String(1 + scenario).padStart(2, '0');
  return Buffer.from(text.replaceAll('2026-01-01T', `2026-01-${day}T`), 'latin1');
}

/** The session files of the nth recording, with their places in a home folder. */
export function placeOf(agent: string, scenario: string, n: number) {
  const root = join(AGENTS, agent, 'testdata', scenario, 'session');
  return filesBelow(root).map((name) => ({
    path: /^(?:dot-|[.])/.test(name) ? name.replace(/^dot-/, '.') : join(HOMES[agent] ?? '', name),
    bytes: ownTime(readFileSync(join(root, name)), n),
  }));
}

interface Setting {
  home: string;
  random: Random;
}

function fileWrites(agent: Agent, scenario: string, n: number, { home, random }: Setting): Timed[] {
  return placeOf(agent.id, scenario, n).flatMap(({ path: name, bytes }) => {
    const path = join(home, name);
    if (name.endsWith('.jsonl')) return lineWrites(agent, path, bytes, random);
    const document = jsonIn(bytes.toString('utf8')) as { messages?: unknown[] } | undefined;
    if (name.endsWith('.messages.json') && Array.isArray(document?.messages))
      return documentWrites(path, document as Document, bytes);
    return [{ at_ms: 0, write: () => replaced(path, bytes) }];
  });
}

function lineWrites(agent: Agent, path: string, bytes: Buffer, random: Random): Timed[] {
  let at_ms = 0;
  return bytes
    .toString('latin1')
    .split(/(?<=\n)/)
    .flatMap((text) => {
      const line = Buffer.from(text, 'latin1');
      at_ms = Math.max(at_ms, agent.session?.timeOf(jsonIn(line.toString('utf8'))) ?? 0);
      const cut = random.is(TORN) ? random.below(line.length) : 0;
      const pieces = cut === 0 ? [line] : [line.subarray(0, cut), line.subarray(cut)];
      return pieces.map((piece) => ({ at_ms, write: () => appended(path, piece) }));
    });
}

interface Document {
  messages: { ts?: number }[];
}

/** The document after each message. The last one is the recorded one. */
function documentWrites(path: string, document: Document, bytes: Buffer): Timed[] {
  const { messages } = document;
  return messages.map(({ ts = 0 }, n) => {
    const some = { ...document, messages: messages.slice(0, n + 1) };
    const last = n + 1 === messages.length;
    const text = last ? bytes : Buffer.from(JSON.stringify(some, null, 2));
    return { at_ms: ts, write: () => replaced(path, text) };
  });
}

function appended(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, bytes);
}

function replaced(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

type Row = Record<string, unknown> & { time_created: number; time_updated: number };

/** The database of a CLI. Closed and opened again from time to time, as by several processes of the CLI. */
class Database {
  readonly #path: string;
  readonly #random: Random;
  #db: DatabaseSync;

  constructor(home: string, name: string, random: Random) {
    this.#path = join(home, '.local/share', name, `${name}.db`);
    this.#random = random;
    mkdirSync(dirname(this.#path), { recursive: true });
    this.#db = this.#opened();
    this.#db.exec(readFileSync(join(AGENTS, 'opencode/testdata/schema.sql'), 'utf8'));
  }

  #opened(): DatabaseSync {
    const options = { enableForeignKeyConstraints: false, timeout: 10_000 };
    const db = new DatabaseSync(this.#path, options);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 20');
    return db;
  }

  writesOf(root: string): Timed[] {
    return TABLES.flatMap((table) => {
      const lines = readFileSync(join(root, `db-${table}.jsonl`), 'utf8').split('\n');
      const rows = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
      return rows.flatMap((row) =>
        statesOf(table, row).map((state) => ({
          at_ms: state.time_updated,
          write: () => this.#store(table, state),
        })),
      );
    });
  }

  #store(table: string, row: Row): void {
    if (this.#random.is(0.02)) {
      this.#db.close();
      this.#db = this.#opened();
    }
    const names = Object.keys(row).map((name) => `"${name}"`);
    const values = Object.values(row).map((value) =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    );
    const marks = names.map(() => '?').join();
    const sql = `INSERT OR REPLACE INTO ${table} (${names.join()}) VALUES (${marks})`;
    this.#db.exec('BEGIN IMMEDIATE');
    this.#db.prepare(sql).run(...(values as SQLInputValue[]));
    this.#db.exec('COMMIT');
  }

  close(): void {
    this.#db.close();
  }
}

interface ToolState {
  status?: string;
  input?: unknown;
  time?: { start?: number };
  metadata?: { sessionId?: string };
}

/** The states of a row, as far as the recordings show when it was created and last written. */
function statesOf(table: (typeof TABLES)[number], row: Row): Row[] {
  const { time_created, time_updated } = row;
  const data = row.data as Record<string, unknown> | undefined;
  const begun = { ...row, time_updated: time_created };
  if (time_updated === time_created) return [row];
  if (table === 'session' || data === undefined) return [begun, row];
  const time = data.time as { created?: number; start?: number } | undefined;
  if (table === 'message') {
    if (data.role !== 'assistant') return [begun, row];
    const { finish: _, error: __, ...some } = data;
    const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
    const open = { ...some, cost: 0, tokens, time: { created: time?.created } };
    return [{ ...begun, data: open }, row];
  }
  if (data.type === 'text' && time?.start !== undefined)
    return [{ ...begun, data: { ...data, text: '', time: { start: time.start } } }, row];
  const state = data.state as ToolState | undefined;
  if (data.type !== 'tool' || state?.time?.start === undefined) return [row];
  const pending = { ...data, state: { status: 'pending', input: {}, raw: '' } };
  const { input, time: times, metadata } = state;
  const child = metadata?.sessionId === undefined ? {} : { metadata };
  const running = {
    ...data,
    state: { status: 'running', input, time: { start: times.start }, ...child },
  };
  const middle = Math.min(Math.max(state.time.start, time_created), time_updated);
  // A tool that does not exist never runs.
  const runs = state.status === 'error' ? [] : [{ ...begun, time_updated: middle, data: running }];
  return [{ ...begun, data: pending }, ...runs, row];
}
