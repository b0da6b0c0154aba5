import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { countCalls } from '../../../test/count-opens.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { measured } from '../../../test/measured.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { sumRuns } from '../../store/index/index-schema.ts';
import { closedForm, identityOf } from '../../store/index/segment-book.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { isSegment, listSegments, segmentBytes, segmentOf } from '../../store/journal/scan.ts';
import { logPath, transcriptPath } from '../../store/spool/run-files.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { collect, statsOf } from './retention.ts';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 0, 1);
const runId = (at: number) => `r_${String(at).padStart(26, '0')}`;

function outcomeAt(at: number, agent: string, at_ms: number): RunOutcome {
  const make = createMaker();
  const fold = createOutcomeFold({ keepIo: false });
  const own = { run_id: runId(at), at_ms };
  fold.push(make('run_started', { agent }, own));
  fold.push(make('run_finished', { cost_usd: null }, own));
  const outcome = fold.finish();
  return { ...outcome, metrics: { ...outcome.metrics, start_time_ms: at_ms } };
}

function writeFileAt(path: string, bytes: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'x'.repeat(bytes));
}

/** Run `at` has `at + 1` entries, a transcript of 100 bytes and a log of 7. */
async function fill(agents: readonly string[]): Promise<StateDir> {
  const state = openStateDir(join(testFolder(), 'state'));
  using index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  for (const [at, agent] of agents.entries()) {
    const outcome = outcomeAt(at, agent, FIRST_MS + Math.floor(at / 2) * DAY_MS);
    const bodies = Array.from({ length: at + 1 }, (_, n) => ({
      session: outcome.run_id,
      source: 'capture',
      seq: n + 1,
      body: JSON.stringify({ text: 'x'.repeat(500) }),
    }));
    await journal.append(bodies);
    writeFileAt(transcriptPath(state, agent, outcome.run_id), 100);
    writeFileAt(logPath(state, agent, outcome.run_id), 7);
    index.saveRuns(measured(outcome));
  }
  await journal.close();
  return state;
}

test('sums are by agent and by day, and unknown values stay unknown', async () => {
  const state = await fill(['one', 'two', 'one', 'one']);
  using index = openIndex(state);
  index.saveRuns(measured(outcomeAt(9, 'two', Number.MAX_SAFE_INTEGER)));
  const { total, by_agent, by_day } = await statsOf(state, { days: 10 });
  expect(total).toMatchObject({ name: 'all', runs: 5, ok: 5, cost: null });
  expect(by_agent.map(({ name, runs }) => [name, runs])).toEqual([
    ['one', 3],
    ['two', 2],
  ]);
  const days = by_day.map(({ name, runs }) => [name, runs]);
  expect(days).toContainEqual(['2026-01-02', 2]);
  expect(days).toContainEqual(['2026-01-01', 2]);
  expect(days).toContainEqual(['unknown', 1]);
  // Each sum is rounded separately.
  const of_days = by_day.reduce((sum, row) => sum + row.bytes, 0);
  expect(Math.abs(of_days - total.bytes)).toBeLessThanOrEqual(by_day.length);
});

test('the size of runs is their share of the journal by entries, and their files', async () => {
  const state = await fill(['one', 'two']);
  const [segment = ''] = listSegments(state.journal);
  const bytes = segmentBytes(state.journal, segment);
  const { total, by_agent } = await statsOf(state, { days: 1 });
  expect(total.bytes).toBe(bytes + 2 * 107);
  expect(by_agent.map((row) => [row.name, row.bytes]).sort()).toEqual([
    ['one', Math.round(bytes / 3) + 107],
    ['two', Math.round((bytes * 2) / 3) + 107],
  ]);
});

test('the files of runs that an older tacho saved are measured only once', async () => {
  const state = await fill(['one', 'two']);
  const { total } = await statsOf(state, { days: 1 });
  const db = new DatabaseSync(state.db);
  db.exec('UPDATE runs SET file_bytes = NULL');
  db.close();
  expect((await statsOf(state, { days: 1 })).total.bytes).toBe(total.bytes);
  rmSync(state.transcripts, { recursive: true });
  expect((await statsOf(state, { days: 1 })).total.bytes).toBe(total.bytes);
});

test('sums read no outcome', async () => {
  const state = await fill(['one']);
  const db = new DatabaseSync(state.db);
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sumRuns('agent')}`).all('{}');
  db.close();
  expect(plan.map(({ detail }) => detail)).toContain(
    'SCAN runs USING COVERING INDEX runs_by_agent',
  );
});

verifies('ST-5', 'a plan by size counts the journal and the files of each run', async () => {
  const state = await fill(['one', 'one', 'one']);
  const { by_agent } = await statsOf(state, { days: 1 });
  const all = by_agent[0]?.bytes ?? 0;
  const policy = {
    ...{
      name: 'p',
      agent: null,
      status: null,
      project: null,
      labels: {},
      age_ms_max: null,
      runs_max: null,
    },
    ...{ keep_failed: false, keep_successful: false, archive: false },
  };
  const goingAt = async (bytes_max: number) => {
    const options = { now_ms: FIRST_MS, dry_run: true };
    const { leaving } = await collect(state, [{ ...policy, bytes_max }], options);
    return leaving.map(({ run }) => run.run_id);
  };
  expect(await goingAt(all + 3)).toEqual([]);
  expect(await goingAt(all - 3)).toEqual([runId(0)]);
  expect(await goingAt(0)).toEqual([runId(2), runId(1), runId(0)]);
});

verifies('ST-6', 'sums do not wait while another process writes the index', async () => {
  const state = await fill(['one', 'two']);
  const before = await statsOf(state, { days: 10 });
  const other = new DatabaseSync(state.db);
  other.exec('UPDATE runs SET file_bytes = NULL');
  other.exec('BEGIN IMMEDIATE');
  const began = performance.now();
  expect(await statsOf(state, { days: 10 })).toEqual(before);
  expect(performance.now() - began).toBeLessThan(2_000);
  other.exec('ROLLBACK');
  expect(await statsOf(state, { days: 10 })).toEqual(before);
  const sql = 'SELECT count(*) AS n FROM runs WHERE file_bytes IS NULL';
  expect(other.prepare(sql).get()?.n).toBe(0);
  other.close();
});

test('sizes of runs stay the same once their segments are closed, and follow later changes', async () => {
  const state = await fill(['one', 'two', 'one']);
  const before = await statsOf(state, { days: 10 });
  const segments = listSegments(state.journal);
  using index = openIndex(state);
  const close = () =>
    index.book.close(
      identityOf(state.journal),
      segments.map((segment) => closedForm(state.journal, segment)),
    );
  close();
  const stats = countCalls('lstatSync', (path) => isSegment(segmentOf(basename(path))));
  expect(await statsOf(state, { days: 10 })).toEqual(before);
  expect(stats()).toBe(0);
  for (const segment of segments) index.forgetSegment(segment);
  expect(await statsOf(state, { days: 10 })).toEqual(before);
  close();
  const segment = `${'0'.repeat(26)}.jsonl`;
  writeFileSync(join(state.journal, segment), 'x'.repeat(77));
  const range = { offset: 0, first_seq: 1, last_seq: 2 };
  index.cover(segment, 77, [{ session: runId(0), source: 'x', segment, ...range }]);
  index.book.close(identityOf(state.journal), [closedForm(state.journal, segment)]);
  expect((await statsOf(state, { days: 10 })).total.bytes).toBe(before.total.bytes + 77);
});
