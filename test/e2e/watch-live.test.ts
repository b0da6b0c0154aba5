/** `tacho watch --live` with real processes: two homes, one collector, kills, and a collector that is away. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { eventIn } from '../../src/app/runs/journal-events.ts';
import { runEntries } from '../../src/app/runs/run-entries.ts';
import type { LiveMessage } from '../../src/model/live.ts';
import { LiveProjector } from '../../src/projections/live/live.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { kill, root, type Started, usePlace } from './cli.ts';
import { until } from './until.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const testdata = (agent: string, scenario: string) =>
  join(root, 'src/agents', agent, 'testdata', scenario, 'session');
const CLAUDE = '.claude/projects/-home-user-project/7e15eb39-6be6-4422-a6f5-9c0868fe7f65.jsonl';
const CODEX =
  '.codex/sessions/2026/11/15/rollout-2026-11-15T01-14-30-01a1dcc5-26d2-7d21-bc07-3c12b460f723.jsonl';
const TIME = /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A machine: a home with sessions, a store, and a watcher that sends. */
function machine(name: string, url: string) {
  const home = join(place.folder, name);
  const state = `${place.state}-${name}`;
  mkdirSync(home);
  const env = { HOME: home, TACHO_HOME: state, TZ: 'UTC' };
  let watcher: Started | null = null;
  return {
    state,
    file: (path: string) => join(home, path),
    start: (...args: string[]) => {
      watcher = place.start(['watch', '--live', url, ...args], { env });
    },
    end: async (signal: NodeJS.Signals) => {
      kill(watcher?.pid ?? 0, signal);
      return watcher?.done;
    },
    tacho: (...args: string[]) => place.tacho(args, { env }),
    with: (input: string, ...args: string[]) => place.tacho(args, { env, input }),
    status: async () => {
      const { stdout } = await place.tacho(['watch', '--status', '--json'], { env });
      return JSON.parse(stdout) as { health: { live: Record<string, unknown> } | null };
    },
  };
}

/** Lines of a recorded session. `now`: as if they were written today. */
function linesOf(agent: string, scenario: string, path: string, now: boolean): string[] {
  const lines = readFileSync(join(testdata(agent, scenario), path), 'utf8').split(/(?<=\n)/);
  return now ? lines.map((line) => line.replace(TIME, new Date().toISOString())) : lines;
}

function grow(path: string, lines: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true });
  for (const line of lines) appendFileSync(path, line);
}

/** The messages of one projection of the whole record. */
async function projected(state: string, run_id: string): Promise<LiveMessage[]> {
  const times = { call_timeout_ms: null, abandoned_ms: null };
  const projector = new LiveProjector({ session_id: run_id, trace: null, ...times });
  const messages: LiveMessage[] = [];
  for await (const { body } of runEntries(readSession(join(state, 'journal'), run_id))) {
    const event = eventIn(body, run_id);
    if (event !== null) messages.push(...projector.push(event));
  }
  return messages;
}

const typesOf = (lines: readonly string[] = []) =>
  lines.map((line) => (JSON.parse(line) as LiveMessage).type);
const outboxOf = (state: string) =>
  existsSync(join(state, 'outbox'))
    ? readdirSync(join(state, 'outbox')).filter((name) => name.endsWith('.jsonl'))
    : [];

verifies(
  'WA-14',
  'two watchers send to one collector: everything once and in order, across kills and an outage; history is not sent',
  async () => {
    const collected = place.state;
    const socket = join(place.folder, 'collector.sock');
    const collector = await startServe(collected, '--socket', socket);
    const [a, b] = [machine('a', `unix:${socket}`), machine('b', `unix:${socket}`)];
    const claude = a.file(CLAUDE);
    const lines = linesOf('claude', 'bash-ok', CLAUDE, false);
    // A session of three days ago, which somebody continues later.
    grow(claude, lines.slice(0, 5));
    a.start();
    b.start();
    await until('both connections', async () => {
      const both = await Promise.all([a.status(), b.status()]);
      return both.every(({ health }) => health?.live?.connected === true);
    });
    expect((await storedIn(collected)).size).toBe(0);
    grow(claude, lines.slice(5, 8));
    grow(b.file(CODEX), linesOf('codex', 'bash-fail', CODEX, true).slice(0, 8));
    await until('both sessions', async () => (await storedIn(collected)).size === 2);
    await a.end('SIGKILL');
    grow(claude, lines.slice(8, 11));
    await collector.end('SIGTERM');
    a.start();
    grow(claude, lines.slice(11));
    grow(b.file(CODEX), linesOf('codex', 'bash-fail', CODEX, true).slice(8));
    await until('messages that wait', async () => {
      const both = await Promise.all([a.status(), b.status()]);
      return both.every(({ health }) => Number(health?.live?.waiting_messages) > 0);
    });
    const { stdout } = await a.tacho('doctor');
    expect(stdout).toMatch(/not connected to unix:.*messages wait in the outbox/);
    await a.end('SIGKILL');
    // Nobody continues them: long ago, so that nobody has to wait.
    utimesSync(claude, 0, 0);
    a.start();
    const again = await startServe(collected, '--socket', socket);
    const runs = [...(await storedIn(collected)).keys()];
    const run = runs.find((id) => id.startsWith('r_01m7e')) ?? '';
    await until('the end of the session', async () =>
      typesOf((await storedIn(collected)).get(run)).includes('session_end'),
    );
    await until('an empty outbox', async () => outboxOf(a.state).length === 0);
    const stored = (await storedIn(collected)).get(run) ?? [];
    expect(stored.map((line) => JSON.parse(line))).toEqual(await projected(a.state, run));
    const { stdout: tail } = await a.tacho('tail', '--to', `unix:${socket}`, '--no-follow');
    expect(tail).toMatch(/Bash cat notes\/unicode\.txt/);
    // Another sender in the same state folder.
    const line = { type: 'session_start', data: { agent: 'mine' } };
    const emit = ['emit', '--to', `unix:${socket}`, '--session', 'mine'];
    const emitted = await a.with(`${JSON.stringify(line)}\n`, ...emit);
    expect([emitted.code, typesOf((await storedIn(collected)).get('mine'))]).toEqual([
      0,
      ['session_start', 'session_end'],
    ]);
    // Continued after its end: another session with what is new.
    grow(
      claude,
      linesOf('claude', 'bash-ok', CLAUDE, true)
        .slice(8, 11)
        .map((line) => line.replace(/"uuid":"/g, '"uuid":"9')),
    );
    await until('the second session', async () => (await storedIn(collected)).has(`${run}.2`));
    const [start] = (await storedIn(collected)).get(`${run}.2`) ?? [];
    expect(JSON.parse(start ?? '')).toMatchObject({
      type: 'session_start',
      data: { parent_session_id: run },
    });
    expect((await b.end('SIGINT'))?.code).toBe(0);
    await a.end('SIGINT');
    for (const [id, all] of await storedIn(collected)) {
      const numbers = all.map((line) => (JSON.parse(line) as LiveMessage).seq);
      expect(numbers, id).toEqual(all.map((_, n) => n + 1));
    }
    await again.end('SIGTERM');
  },
  180_000,
);
