import { appendFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { createCatalogue } from './catalogue.ts';
import { openIndex } from './index-db.ts';
import { openJournal } from './journal.ts';
import { listSegments, newReport } from './scan.ts';
import { createSegment } from './segment.ts';
import { createSpool } from './spool.ts';
import { openStateDir } from './state-dir.ts';
import { listSessions, readTombstones, removeRun, sweepSegments } from './tombstones.ts';

const RUNS = ['r_01m7ek9waharpypwdc3ap3fmfq', 'r_01m7ek9wbbpwgmptw6ebvv5a3n'] as const;

async function stateWithRuns() {
  const state = openStateDir(join(testFolder(), 'state'));
  const index = openIndex(state);
  for (const session of RUNS) {
    const journal = openJournal(state.journal, { index });
    await journal.append([1, 2].map((seq) => ({ session, source: 'run', seq, body: `${seq}` })));
    await journal.close();
  }
  return { state, index };
}

test('a deleted run stays deleted after the index was made again', async () => {
  const { state, index } = await stateWithRuns();
  createSpool(state, RUNS[0]);
  expect(await listSessions(state, index)).toEqual([...RUNS]);
  // This process lives and could go on appending: its segments stay.
  expect(await removeRun(state, index, RUNS[0])).toEqual({ found: false, segments: [] });
  expect(listSegments(state.journal).length).toBe(2);
  index.clear();
  expect(await listSessions(state, index)).toEqual([RUNS[1]]);
  expect(readTombstones(state)).toEqual(new Set([RUNS[0]]));
  expect(readdirSync(state.spool)).toEqual([]);
  index.close();
});

test('a segment of a dead writer goes when all its sessions are deleted', async () => {
  const { state, index } = await stateWithRuns();
  const name = `${'0'.repeat(26)}.jsonl`;
  const dead = createSegment(state.journal, name);
  dead.close();
  const { readFileSync, writeFileSync } = await import('node:fs');
  const path = join(state.journal, name);
  const [, second] = listSegments(state.journal);
  const lines = readFileSync(join(state.journal, second as string), 'utf8')
    .split('\n')
    .slice(1)
    .join('\n');
  const owner = { v: 1, pid: 1073741824, ticks: 1, space: null, life: null };
  writeFileSync(path, `${JSON.stringify(owner)}\n${lines}`);
  await createCatalogue(state.journal, index).refresh(newReport());
  expect(index.sessionsIn(name)).toEqual([RUNS[0]]);
  expect(sweepSegments(state, index)).toEqual([]);
  expect((await removeRun(state, index, RUNS[0])).segments).toEqual([name]);
  expect(listSegments(state.journal)).not.toContain(name);
  expect(index.covered().has(name)).toBe(false);
  index.close();
});

test('a torn line among the deletions takes no other with it', async () => {
  const { state, index } = await stateWithRuns();
  await removeRun(state, index, RUNS[0]);
  const path = join(state.journal, 'tombstones.jsonl');
  appendFileSync(path, '{"deleted":"r_01');
  await removeRun(state, index, RUNS[1]);
  expect(readTombstones(state)).toEqual(new Set(RUNS));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  index.close();
});
