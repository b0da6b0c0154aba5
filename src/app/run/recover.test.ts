import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { countCalls } from '../../../test/count-opens.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createSpool } from '../../store/spool/spool.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { recoverAll } from './recover.ts';
import type { Recovery } from './recover-run.ts';

const runId = (n: number) => `r_01m7fgscfd${String(n).padStart(16, '0')}`;
const newState = () => openStateDir(join(testFolder(), 'state'));

async function all(...args: Parameters<typeof recoverAll>): Promise<Recovery[]> {
  const found: Recovery[] = [];
  for await (const recovery of recoverAll(...args)) found.push(recovery);
  return found;
}

verifies(
  'ST-3',
  'a spool that cannot be locked is named, and the others get their turn',
  async () => {
    const state = newState();
    for (const n of [1, 2]) mkdirSync(join(createSpool(state, runId(n)).path, 'recovering'));
    const found = await all(state, { wait: false });
    expect(found).toEqual([
      { state: 'unreadable', run_id: runId(1), why: expect.stringContaining('recovering') },
      { state: 'unreadable', run_id: runId(2), why: expect.stringContaining('recovering') },
    ]);
  },
);

verifies('ST-3', 'a recovery removes unfinished files of dead processes', async () => {
  const state = newState();
  const left = join(
    state.transcripts,
    'demo',
    `.${runId(1)}.transcript.jsonl.${2 ** 22 + 1}-5.tmp`,
  );
  mkdirSync(dirname(left), { recursive: true });
  writeFileSync(left, 'said in a run');
  utimesSync(left, 1_700_000_000, 1_700_000_000);
  expect(await all(state, { wait: false })).toEqual([]);
  expect(existsSync(left)).toBe(false);
});

verifies(['ST-3', 'ST-8'], 'every recovery removes temporary files of dead processes', async () => {
  for (const auto of [null, { until_ms: Number.POSITIVE_INFINITY }]) {
    const state = newState();
    mkdirSync(state.tmp, { recursive: true });
    const left = join(state.tmp, `spill-${2 ** 22 + 1}-5-0123456789ab`);
    writeFileSync(left, 'said in a run');
    expect(await all(state, { wait: false, auto })).toEqual([]);
    expect(existsSync(left)).toBe(false);
  }
});

/** Runs that a dead process began, each in its own segment, without a spool. */
function orphaned(runs: number): StateDir {
  const state = newState();
  const first = { v: 1, pid: 2 ** 22 + 1, ticks: 1, space: null, life: '0123456789abcdef' };
  for (let n = 0; n < runs; n++) {
    const run_id = runId(n);
    const e = createMaker()('run_started', { agent: 'demo', cwd: state.path }, { run_id });
    const lines = [`${JSON.stringify(first)}\n`, journalLine({ s: run_id, o: 'capture', n: 1, e })];
    const path = join(state.journal, `${run_id.slice(2)}.jsonl`);
    writeFileSync(path, Buffer.concat(lines.map((line) => Buffer.from(line))));
  }
  return state;
}

verifies(
  'ST-3',
  'many runs without a spool cost one scan of the journal, however many there are',
  async () => {
    const costs: { opens: number; lists: number; stats: number }[] = [];
    for (const runs of [2, 12]) {
      const state = orphaned(runs);
      // Each time the index is opened, its file is checked.
      const opens = countCalls('lstatSync', (path) => path === state.db);
      const lists = countCalls('readdirSync', (path) => path === state.journal);
      const stats = countCalls('lstatSync', (path) => dirname(path) === state.journal);
      const found = await all(state, { wait: false });
      expect(found.map((one) => one.state)).toEqual(Array(runs).fill('recovered'));
      costs.push({ opens: opens(), lists: lists(), stats: stats() / runs });
    }
    const [few, many] = costs;
    expect(many?.opens).toBe(few?.opens);
    expect(many?.lists).toBe(few?.lists);
    expect(many?.stats).toBeLessThanOrEqual(few?.stats ?? 0);
  },
);
