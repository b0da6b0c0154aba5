/** An agent that stores its sessions in a database: imports, and the facts a run adds from there. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, expect } from 'vitest';
import { later, makeDatabase, rowsOf } from '../fixtures/opencode-database.ts';
import { type Truth, wrongFacts } from '../truth.ts';
import { fixture, type Row, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const SCENARIOS = ['bash-fail', 'subagent', 'text'];
let db: DatabaseSync | null = null;
afterEach(() => {
  db?.close();
  db = null;
});

function keep(scenarios: readonly string[], by_ms = 0): string {
  const folder = join(place.folder, '.local/share/opencode');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'opencode.db');
  db = makeDatabase(path, scenarios, by_ms);
  return path;
}

const recorded = (scenario: string, file: string) =>
  readFileSync(join(root, 'src/agents/opencode/testdata', scenario, file), 'utf8');

function truthOf(scenario: string): Truth {
  const truth: Truth = JSON.parse(recorded(scenario, 'truth.json')).session;
  // The outcome of a stored run has no inputs or outputs (ST-1).
  return { ...truth, calls: truth.calls.map((call) => ({ ...call, input: {} })) };
}

const outcomeOf = async (run_id: string) =>
  JSON.parse((await place.tacho(['runs', 'show', run_id, '--json'])).stdout);

/** For the root session. */
const usedMs = (scenario: string) =>
  Number(rowsOf(scenario, 'session').find((row) => row.parent_id === null)?.time_updated);
const importing = async (...args: string[]) => {
  const { records, code, stderr } = await place.tacho(['import', 'opencode', ...args, '--json']);
  return { rows: records, code, stderr };
};
const sessions = (rows: Row[]) => rows.map((row) => [row.state, row.session_id]);

verifies(
  ['AG-3', 'AG-15'],
  'sessions in a database are imported, oldest first and once each, with every fact',
  async () => {
    const database = keep(SCENARIOS);
    const order = [...SCENARIOS].sort((a, b) => usedMs(a) - usedMs(b));
    const ids = order.map((scenario) => truthOf(scenario).session_id);
    const first = await importing('--all');
    expect([first.code, first.stderr]).toEqual([0, '']);
    expect(sessions(first.rows)).toEqual(ids.map((id) => ['imported', id]));
    expect(first.rows.map((row) => row.path)).toEqual(ids.map((id) => join(database, String(id))));
    for (const [n, scenario] of order.entries()) {
      const outcome = await outcomeOf(first.rows[n].run_id);
      expect(wrongFacts(truthOf(scenario), outcome), scenario).toEqual([]);
    }
    expect(sessions((await importing('--all')).rows)).toEqual(ids.map((id) => ['known', id]));
  },
  120_000,
);

verifies(
  'AG-15',
  'the last session, one by its id, and those since a day can be imported alone',
  async () => {
    keep(SCENARIOS);
    const order = [...SCENARIOS].sort((a, b) => usedMs(a) - usedMs(b));
    const [oldest, , last] = order.map((scenario) => truthOf(scenario).session_id);
    expect(sessions((await importing('--last')).rows)).toEqual([['imported', last]]);
    const since = new Date(usedMs(order[1] ?? '')).toISOString();
    const rows = (await importing('--all', '--since', since)).rows;
    expect(sessions(rows).map(([state]) => state)).toEqual(['imported', 'known']);
    const named = await importing('--session', String(oldest));
    expect(sessions(named.rows)).toEqual([['imported', oldest]]);
  },
  120_000,
);

verifies(
  'AG-15',
  'a session that continues after its import keeps its run',
  async () => {
    keep(['text']);
    const [before] = (await importing('--all')).rows;
    const [session] = rowsOf('text', 'session');
    const at_ms = usedMs('text') + 60_000;
    const id = String(session?.id);
    const info = { role: 'user', time: { created: at_ms }, agent: 'build' };
    const text = { type: 'text', text: 'And then?' };
    const add = (table: string, ...values: string[]) =>
      db
        ?.prepare(`INSERT INTO ${table} VALUES (${values.map(() => '?').join()}, ?, ?)`)
        .run(...values.slice(0, -1), at_ms, at_ms, values.at(-1) ?? '');
    add('message', 'msg_zzz', id, JSON.stringify(info));
    add('part', 'prt_zzz', 'msg_zzz', id, JSON.stringify(text));
    const [after] = (await importing('--all')).rows;
    expect(after).toMatchObject({ state: 'grown', run_id: before.run_id, replaced: [] });
  },
  60_000,
);

verifies(
  'AG-2',
  'an invalid database is reported by name',
  async () => {
    const folder = join(place.folder, '.local/share/opencode');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'opencode.db'), 'no database at all'.repeat(50));
    const { rows, code } = await importing('--all');
    expect([code, rows[0]]).toMatchObject([
      1,
      { state: 'failed', why: expect.stringContaining('opencode.db: file is not a database') },
    ]);
  },
  60_000,
);

verifies(
  ['AG-10', 'AG-15'],
  'a run is completed from the database: both channels, nothing twice',
  async () => {
    const file = join(place.folder, 'stdout.jsonl');
    const command = JSON.stringify([process.execPath, fixture('prints-file.mjs')]);
    const env = JSON.stringify({ FILE: file });
    const toy = `agent: opencode\n    command: ${command}\n    env: ${env}`;
    writeFileSync(join(place.work, 'tacho.yaml'), `targets:\n  toy:\n    ${toy}\n`);
    for (const scenario of ['bash-fail', 'provider-error', 'skill', 'subagent']) {
      const [begun] = rowsOf(scenario, 'session');
      // Within the run: older records belong to earlier runs of the session.
      const by_ms = Date.now() + 60_000 - Number(begun?.time_created);
      writeFileSync(file, later(recorded(scenario, 'stdout.jsonl'), by_ms));
      db?.close();
      rmSync(join(place.folder, '.local'), { recursive: true, force: true });
      keep([scenario], by_ms);
      const run = await place.tacho(['run', '--target', 'toy', '--output', 'json', 'please']);
      const outcome = await outcomeOf(run.records[0].run_id);
      expect(wrongFacts(truthOf(scenario), outcome), scenario).toEqual([]);
      expect(outcome.completeness.gaps, scenario).toEqual([]);
      expect(outcome.completeness.filled, scenario).toContain('model');
    }
  },
  120_000,
);
