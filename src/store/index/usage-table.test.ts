import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import { openStateDir } from '../state-dir.ts';
import { openIndex } from './index-db.ts';
import { MIGRATIONS } from './index-schema.ts';

const newState = () => openStateDir(join(testFolder(), 'state'));

const NOTHING = { input: null, output: null, cache_read: null, cache_write: null, reasoning: null };

const row = (changes: Partial<UsageRow> = {}): UsageRow => ({
  at_ms: 900_000,
  model: 'big',
  sub_agent: false,
  tokens: { ...NOTHING, input: 5 },
  cost_usd: null,
  computed_usd: null,
  ...changes,
});

function run(run_id: string, usage: readonly UsageRow[], agent = 'demo'): MeasuredRun {
  const make = createMaker();
  const fold = createOutcomeFold({ keepIo: false });
  const config = { ...make('run_started').data.config, labels: { team: 'a' } } as never;
  fold.push(make('run_started', { agent, config }, { run_id, at_ms: 1_000_000 }));
  fold.push(
    make('run_finished', { cost_usd: 2, cost_source: 'agent' }, { run_id, at_ms: 1_500_000 }),
  );
  return { outcome: measuredBy(fold).outcome, usage };
}

const A = 'r_a0000000000000000000000000';
const B = 'r_b0000000000000000000000000';

test('usage is saved with its run, replaced with it and removed with it', () => {
  using index = openIndex(newState());
  const rows = [row(), row({ at_ms: null, model: null, sub_agent: true, cost_usd: 2 })];
  index.saveRuns([run(A, rows), run(B, [row({ model: 'small' })], 'other')]);
  const found = [...index.usage()];
  expect(found.filter(({ run_id }) => run_id === A)).toEqual(
    expect.arrayContaining(rows.map((one) => expect.objectContaining(one))),
  );
  expect(found).toHaveLength(3);
  expect(found[0]).toMatchObject({
    agent: 'demo',
    labels: { team: 'a' },
    success: true,
    exit_reason: 'ok',
    started_ms: 1_000_000,
    run_cost: 2,
    run_cost_source: 'agent',
    measured: true,
  });
  index.saveRun(run(A, [row({ model: 'new' })]), []);
  const models = () => [...index.usage()].map(({ run_id, model }) => [run_id, model]).sort();
  expect(models()).toEqual([
    [A, 'new'],
    [B, 'small'],
  ]);
  index.deleteRuns([A]);
  expect(models()).toEqual([[B, 'small']]);
});

test('usage is selected by its own time, and by the facts of its run', () => {
  using index = openIndex(newState());
  const later = row({ at_ms: 9_000_000, model: 'later' });
  const timeless = row({ at_ms: null, model: 'timeless' });
  index.saveRuns([run(A, [row(), later, timeless]), run(B, [row()], 'other')]);
  const found = (query: Parameters<typeof index.usage>[0]) =>
    [...index.usage(query)].map(({ run_id, model }) => `${run_id[2]} ${model}`).sort();
  expect(found({ since_ms: 1_000_000 })).toEqual(['a later', 'a timeless']);
  expect(found({ until_ms: 9_000_000 })).toEqual(['a big', 'a timeless', 'b big']);
  expect(found({ agent: 'other' })).toEqual(['b big']);
  expect(found({ labels: [{ name: 'team', value: 'b' }] })).toEqual([]);
  expect(found({ model: 'toy' })).toHaveLength(4);
});

test('a run of which the list of prices gave the cost says so', () => {
  using index = openIndex(newState());
  index.saveRuns([run(A, [row({ computed_usd: 1 }), row({ model: 'b', computed_usd: 1 })])]);
  expect([...index.usage()].map((one) => one.run_cost_source)).toEqual(['computed', 'computed']);
});

test('runs that an older tacho saved have one row of unknown figures', () => {
  const state = newState();
  const older = new DatabaseSync(state.db);
  for (const step of MIGRATIONS.slice(0, 8)) older.exec(step);
  older.exec(`PRAGMA user_version = 8;
    INSERT INTO runs (run_id, agent, started_ms, success, exit_reason, cost, steps, tool_calls, labels, outcome)
    VALUES ('${A}', 'demo', 5, 1, 'ok', 3, 1, 0, '{}', '{}')`);
  older.close();
  using index = openIndex(state);
  expect([...index.usage()]).toEqual([
    expect.objectContaining({ measured: false, run_cost: 3, tokens: NOTHING, cost_usd: null }),
  ]);
});
