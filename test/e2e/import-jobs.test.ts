/** `tacho import --jobs`: several processes make the same store as one, and lose nothing when one of them is killed. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readAll } from '../../src/store/journal/read.ts';
import { filesBelow, kill, type Row, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const PROJECT = '.claude/projects/-home-user-project';
const SCENARIOS = ['bash-fail', 'denied', 'parallel', 'skill', 'subagent', 'text', 'write-edit'];
const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';

const testdata = (agent: string) => join(root, 'src/agents', agent, 'testdata');

/** Sessions of three agents, with forks that begin like others. */
function fillHome(): void {
  const kept: Record<string, [from: string, to: string]> = {
    claude: ['.claude', '.claude'],
    codex: ['.codex', '.codex'],
    pi: ['', '.pi/agent'],
  };
  for (const [agent, [from, to]] of Object.entries(kept))
    for (const scenario of SCENARIOS) {
      const source = join(testdata(agent), scenario, 'session', from);
      if (existsSync(source)) cpSync(source, join(place.folder, to), { recursive: true });
    }
  const path = join(testdata('claude'), 'resume/session', PROJECT, `${ID}.jsonl`);
  const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
  const second = lines.findIndex((line) => line.includes('And now say goodbye.'));
  const texts = [lines.slice(0, second), lines, lines.slice(0, second)].map((part) =>
    part.join(''),
  );
  for (const [n, text] of texts.entries()) {
    const id = n === 0 ? ID : `${n}${ID.slice(1)}`;
    const other = join(place.folder, `${PROJECT}-${n}`);
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, `${id}.jsonl`), text.replaceAll(ID, id));
  }
}

const into = (name: string) => ['--state-dir', join(place.folder, name), '--json'];

/** Rows by path, entries by run. */
async function imported(name: string, ...args: string[]) {
  const { code, records, stderr } = await place.tacho(['import', '--all', ...into(name), ...args]);
  expect([code, stderr]).toEqual([0, '']);
  const entries: Record<string, string[]> = {};
  for await (const { session, body } of readAll(join(place.folder, name, 'journal')))
    entries[session] = [...(entries[session] ?? []), body];
  const list = await place.tacho(['runs', 'list', '--limit', '500', ...into(name)]);
  const rows = records.toSorted((a: Row, b: Row) => (a.path < b.path ? -1 : 1));
  return { rows, entries, runs: list.records };
}

verifies(
  'AG-15',
  'several jobs make the same store as one job',
  async () => {
    fillHome();
    const one = await imported('one');
    expect(one.rows.length).toBeGreaterThan(15);
    expect(new Set(one.rows.map((row) => row.state))).toEqual(new Set(['imported', 'shared']));
    for (const jobs of ['2', '5'])
      expect(await imported(`of-${jobs}`, '--jobs', jobs)).toEqual(one);
    const again = await imported('of-5', '--jobs', '3');
    expect(again.entries).toEqual(one.entries);
    expect(again.rows.filter((row) => row.state === 'imported')).toEqual([]);
    const text = await place.tacho(['import', '--all', '--jobs', '2', '--state-dir', place.state]);
    const words = [
      ...(text.stdout.split('all  ').at(-1) ?? '').matchAll(
        /(\d+) (new|copied from other sessions)/g,
      ),
    ];
    const sum = (word: string) =>
      words.reduce((all, [, count, what]) => all + (what === word ? Number(count) : 0), 0);
    expect([sum('new'), sum('copied from other sessions')]).toEqual([one.rows.length - 1, 1]);
  },
  120_000,
);

verifies('AG-15', 'a file that a job cannot read is reported as with one job', async () => {
  fillHome();
  const missing = join(place.folder, 'missing.jsonl');
  const good = join(place.folder, `${PROJECT}-0`, `${ID}.jsonl`);
  const args = ['import', 'claude', missing, good, '--jobs', '2'];
  const { code, records } = await place.tacho([...args, ...into('state')]);
  expect(code).toBe(1);
  expect(records.map((row) => row.state).sort()).toEqual(['failed', 'imported']);
  for (const wrong of ['0', 'x', '65'])
    expect((await place.tacho(['import', '--all', '--jobs', wrong])).code).toBe(2);
  const alone = await place.tacho(['import', '--share'], { input: '' });
  expect([alone.code, alone.stderr]).toEqual([
    2,
    expect.stringContaining('only for tacho import --jobs'),
  ]);
});

/** Two sessions that take a while to read. */
function longSessions(): string[] {
  const name = '7578a839-0bdb-40f3-b53e-60c21d7ef2ec';
  const some = readFileSync(
    join(testdata('claude'), 'big/session', PROJECT, `${name}.jsonl`),
    'utf8',
  );
  return ['1', '2'].map((digit) => {
    const id = digit + name.slice(1);
    const path = join(place.folder, `${id}.jsonl`);
    const own = some.replaceAll(name, id).replaceAll('2026-11-15', `2026-11-1${digit}`);
    for (let n = 0; n < 400; n++)
      appendFileSync(path, own.replaceAll('toolu_', `toolu_${n}_`).replaceAll('msg_', `msg_${n}_`));
    return path;
  });
}

/** The content of the journal. */
const written = () =>
  filesBelow(join(place.state, 'journal')).reduce((sum, { bytes }) => sum + bytes.length, 0);

verifies(
  ['AG-15', 'ST-3'],
  'a killed job loses nothing: the next import completes it',
  async () => {
    const paths = longSessions();
    const args = ['import', 'claude', ...paths, '--json'];
    const { pid, done } = place.start([...args, '--jobs', '2']);
    await until(() => written() > 200_000, 'the beginning of the records');
    const [job] = place.left().filter((other) => other !== pid && childOf(other, pid));
    kill(job ?? 0);
    const { code, stderr } = await done;
    expect([code === 0, stderr]).toEqual([
      false,
      expect.stringContaining('the import was cut off'),
    ]);
    await until(() => place.left().length === 0, 'the end of the other job');
    const { records, code: next } = await place.tacho([...args, '--jobs', '2']);
    expect([next, records.length]).toEqual([0, 2]);
    const single = await place.tacho([...args, '--state-dir', join(place.folder, 'single')]);
    const idsOf = (rows: readonly Row[]) => rows.map((row) => row.run_id).sort();
    expect(idsOf(records)).toEqual(idsOf(single.records));
    for (const { run_id } of records)
      expect((await place.tacho(['runs', 'verify', run_id])).code).toBe(0);
  },
  120_000,
);

verifies(
  ['AG-15', 'ST-3'],
  'a job killed after its last session fails the import, which loses nothing',
  async () => {
    const args = ['import', 'claude', ...longSessions(), '--json', '--jobs', '2'];
    const env = { TACHO_FAIL_AT: 'before_packed' };
    const { code, records, stderr } = await place.tacho(args, { env });
    // The other job may still be running, and is stopped.
    expect(records[0]).toMatchObject({ state: 'imported' });
    expect([code === 0, stderr]).toEqual([
      false,
      expect.stringContaining('cut off: one of its processes was ended (SIGKILL)'),
    ]);
    const again = await place.tacho(args);
    expect([again.code, again.records.length]).toEqual([0, 2]);
  },
  120_000,
);

verifies(
  ['AG-15', 'ST-3'],
  'jobs end with the import that started them, however it exits',
  async () => {
    const paths = longSessions();
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const started = place.start(['import', 'claude', ...paths, '--jobs', '2']);
      const before = written();
      await until(() => written() > before + 500_000, 'the beginning of the records');
      process.kill(started.pid, signal);
      await started.done;
      await until(() => place.left().length === 0, 'the end of its jobs');
    }
    const { code } = await place.tacho(['import', 'claude', ...paths]);
    expect(code).toBe(0);
  },
  120_000,
);

function childOf(pid: number, parent: number): boolean {
  try {
    return new RegExp(`^PPid:\\s+${parent}$`, 'm').test(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    );
  } catch {
    return false;
  }
}
