/** An import killed while a session has grown: no session is counted twice, and nothing of it is lost. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { filesBelow, kill, type Row, root, until, usePlace } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place = usePlace();
const { tacho } = place;
const PROJECT = 'session/.claude/projects/-home-user-project';
const testdata = (path: string) => join(root, 'src/agents/claude/testdata', path);

/** A session of two turns: its file holds the first, `grow` adds the second. */
function grownSession() {
  const id = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
  const lines = readFileSync(testdata(`resume/${PROJECT}/${id}.jsonl`), 'utf8').split(/(?<=\n)/);
  const second = lines.findIndex((line) => line.includes('And now say goodbye.'));
  const path = join(place.folder, `${id}.jsonl`);
  writeFileSync(path, lines.slice(0, second).join(''));
  return { path, grow: () => appendFileSync(path, lines.slice(second).join('')) };
}

/** A session that takes a while to read. */
function longSession(): string {
  const id = '7578a839-0bdb-40f3-b53e-60c21d7ef2ec';
  const some = readFileSync(testdata(`big/${PROJECT}/${id}.jsonl`), 'utf8');
  const path = join(place.folder, `${id}.jsonl`);
  for (let n = 0; n < 400; n++)
    appendFileSync(path, some.replaceAll('toolu_', `toolu_${n}_`).replaceAll('msg_', `msg_${n}_`));
  return path;
}

const written = () =>
  filesBelow(join(place.state, 'journal')).reduce((sum, { bytes }) => sum + bytes.length, 0);

/** Runs of the session, by the list and by the totals. */
async function counted(path: string) {
  const { records } = await tacho(['runs', 'list', '--limit', 'all', '--json']);
  const stats = JSON.parse((await tacho(['runs', 'stats', '--json'])).stdout);
  const own = records.filter((row: Row) => row.session_id === basename(path, '.jsonl'));
  expect(stats.total.runs).toBe(records.length);
  return own.map((row: Row) => row.run_id as string);
}

async function grown() {
  const { path, grow } = grownSession();
  const { records } = await tacho(['import', 'claude', path, '--json']);
  grow();
  return { path, early: records[0].run_id as string };
}

verifies(
  ['AG-15', 'ST-3'],
  'a session that has grown is counted once when the import is killed later',
  async () => {
    const { path, early } = await grown();
    const long = longSession();
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const before = written();
      const { pid, done } = place.start(['import', 'claude', path, long]);
      await until(() => written() > before + 200_000, 'the beginning of the long session');
      // The list is also right while the import is running.
      kill(pid, 'SIGSTOP');
      expect(await counted(path)).toEqual([early]);
      kill(pid, signal);
      kill(pid, 'SIGCONT');
      expect((await done).signal).toBe(signal);
      expect(await counted(path)).toEqual([early]);
    }
    expect((await tacho(['import', 'claude', path, long])).code).toBe(0);
    expect(await counted(path)).toEqual([early]);
  },
);

for (const next of [
  ['runs', 'list'],
  ['runs', 'reindex'],
])
  verifies(
    ['AG-15', 'ST-3', 'WA-3'],
    `an import killed before the row of a grown run is saved loses nothing after ${next.join(' ')}`,
    async () => {
      const { path, early } = await grown();
      const killed = await tacho(['import', 'claude', path], {
        env: { TACHO_FAIL_AT: 'before_row' },
      });
      expect(killed.signal).toBe('SIGKILL');
      expect((await tacho(next)).code).toBe(0);
      expect(await counted(path)).toEqual([early]);
      const { records } = await tacho(['runs', 'list', '--json']);
      expect(records).toMatchObject([{ run_id: early, tool_calls: 2 }]);
      const again = await tacho(['import', 'claude', path, '--json']);
      expect(again.records).toMatchObject([{ state: 'known', run_id: early, replaced: [] }]);
      expect((await tacho(['runs', 'verify', early])).code).toBe(0);
    },
  );
