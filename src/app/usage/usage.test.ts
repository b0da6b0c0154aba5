/** Usage of imported sessions: each counted once, each figure explained by lines of the files. */
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { recordingsIn } from '../../../test/test-agent.ts';
import type { Usage } from '../../model/parts.ts';
import { openStore, type Store } from '../runs/open-store.ts';
import type { ExplainedLine, ExplainedRun } from './explained.ts';

const AGENTS = join(import.meta.dirname, '../../agents');
const recordings = (agent: string) =>
  recordingsIn(join(AGENTS, agent, 'testdata')).filter(({ channel }) => channel === 'session');

/** Enough for a test that imports them. */
const SOME = ['text', 'bash-ok', 'parallel', 'subagent', 'provider-error', 'resume', 'compaction'];
const some = (agent: string) =>
  recordings(agent)
    .filter(({ scenario }) => SOME.includes(scenario))
    .map(({ path }) => path);

const ALL = { since: 0 };

async function importing(store: Store, agent: string, files: readonly string[]) {
  const rows = await Array.fromAsync(store.import({ agent, files }));
  return rows.map(({ state }) => state);
}

async function totals(store: Store): Promise<[runs: number, tokens: number | null]> {
  const { total } = await store.usage(ALL);
  return [total.runs, total.tokens_total];
}

/** A session of two turns, and the tokens of the second. */
const SECOND = 3164;
const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
function twoTurns() {
  const { bytes } = recordings('claude').find(({ scenario }) => scenario === 'resume') as {
    bytes: Buffer;
  };
  // As in an interactive session, which has the CLI's own sum only at its end.
  const isMessage = (line: string) => !line.includes('"type":"cost-state"');
  const lines = bytes
    .toString()
    .split(/(?<=\n)/)
    .filter(isMessage);
  const second = lines.findIndex((line) => line.includes('And now say goodbye.'));
  // The scripted model began to count again.
  const later = lines.slice(second).join('').replaceAll('msg_mock_', 'msg_second_');
  return { first: lines.slice(0, second).join(''), second: later };
}

verifies('SE-5', 'forks, resumed sessions and copied histories count once', async () => {
  const folder = testFolder();
  using store = openStore({ stateDir: join(folder, 'state') });
  const { first, second } = twoTurns();
  const file = (name: string) => join(folder, `${name}.jsonl`);
  writeFileSync(file(ID), first);
  expect(await importing(store, 'claude', [file(ID)])).toEqual(['imported']);
  const [, one] = await totals(store);
  // Resumed: the same run.
  writeFileSync(file(ID), first + second);
  expect(await importing(store, 'claude', [file(ID)])).toEqual(['grown']);
  const [runs, both] = await totals(store);
  expect([runs, both]).toEqual([1, (one ?? 0) + SECOND]);
  // A fork begins with a copy of both turns, and continues with another answer.
  const fork = ID.replace(/^.{8}/, '11111111');
  const again = (minute: string, message: string) =>
    second.replaceAll('T01:18:', `T01:${minute}:`).replaceAll('msg_second_', `msg_${message}_`);
  const later = again('28', 'third');
  writeFileSync(file(fork), (first + second + later).replaceAll(ID, fork));
  expect(await importing(store, 'claude', [file(fork)])).toEqual(['imported']);
  const forked = await totals(store);
  expect(forked).toEqual([2, (both ?? 0) + SECOND]);
  // The fork grows, also while it is read a second time.
  appendFileSync(file(fork), again('38', 'fourth').replaceAll(ID, fork));
  expect(await importing(store, 'claude', [file(fork)])).toEqual(['grown']);
  const grown = await totals(store);
  expect(grown).toEqual([2, (forked[1] ?? 0) + SECOND]);
  // The same session at a second place, and all of it a second time.
  copyFileSync(file(ID), join(folder, 'copy.jsonl'));
  const all = [join(folder, 'copy.jsonl'), file(ID), file(fork)];
  expect(await importing(store, 'claude', all)).toEqual(['known', 'known', 'known']);
  expect(await totals(store)).toEqual(grown);
});

verifies(
  'SE-5',
  'a session that continues next week counts on both days, with all tokens',
  async () => {
    const folder = testFolder();
    using store = openStore({ stateDir: join(folder, 'state') });
    const { first, second } = twoTurns();
    // At noon UTC: no time zone has the same day a week later.
    const at = (text: string, day: string) =>
      text.replaceAll('2026-11-15T01:', `2026-11-${day}T12:`);
    writeFileSync(join(folder, `${ID}.jsonl`), at(first, '08') + at(second, '15'));
    await importing(store, 'claude', [join(folder, `${ID}.jsonl`)]);
    const { groups, total } = await store.usage(ALL);
    expect(groups.map(({ tokens_total }) => tokens_total)).toEqual([3094, SECOND]);
    expect(groups.map(({ keys }) => keys.day)).toEqual([
      expect.stringMatching(/^2026-11-0[89]$/),
      expect.stringMatching(/^2026-11-1[56]$/),
    ]);
    expect(total).toMatchObject({ runs: 1, tokens_total: 3094 + SECOND });
  },
);

test('copies of a resumed session of Codex count once', async () => {
  const folder = testFolder();
  using store = openStore({ stateDir: join(folder, 'state') });
  const path = recordings('codex').find(({ scenario }) => scenario === 'resume')?.path as string;
  expect(await importing(store, 'codex', [path])).toEqual(['imported']);
  const one = await totals(store);
  copyFileSync(path, join(folder, 'copied.jsonl'));
  expect(await importing(store, 'codex', [join(folder, 'copied.jsonl')])).toEqual(['known']);
  expect(await totals(store)).toEqual(one);
});

const KINDS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

/** Sums, with unknown figures as null. */
function sumOf(runs: readonly ExplainedRun[]): Usage {
  const sum: Usage = {
    ...{ input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
  };
  for (const { added } of runs.flatMap(({ lines }) => lines))
    for (const kind of KINDS)
      if (added.tokens[kind] !== null) sum[kind] = (sum[kind] ?? 0) + (added.tokens[kind] ?? 0);
  return sum;
}

/** All numbers in a JSON line. */
const numbersIn = (line: string) => new Set((line.match(/\d+/g) ?? []).map(Number));

/** The raw line that an explanation names, in the main file of the session. */
function lineAt(path: string, { raw }: ExplainedLine): string {
  const bytes = readFileSync(path);
  const offset = raw?.offset ?? -1;
  const end = bytes.indexOf(10, offset);
  const before = bytes.subarray(0, offset).toString().split('\n').length;
  expect([raw?.channel, before]).toEqual(['session', raw?.line]);
  return bytes.toString('utf8', offset, end === -1 ? undefined : end);
}

verifies('SE-7', 'the explained figures add up to the table, group by group', async () => {
  using store = openStore({ stateDir: join(testFolder(), 'state') });
  for (const agent of ['claude', 'codex', 'copilot', 'pi']) {
    expect(new Set(await importing(store, agent, some(agent)))).not.toContain('failed');
  }
  const by = ['agent', 'model'];
  const table = await store.usage({ ...ALL, by });
  const whole = await store.explainUsage({ ...ALL, by });
  expect(whole.report).toEqual(table);
  expect(sumOf(whole.runs)).toEqual(table.total.tokens);
  expect(table.groups.length).toBeGreaterThan(3);
  for (const { keys, runs: count, tokens, cost } of table.groups) {
    const group = Object.values(keys)
      .map((value) => value ?? 'unknown')
      .join(',');
    const { runs, report } = await store.explainUsage({ ...ALL, by, group });
    expect([runs.length, sumOf(runs)], group).toEqual([count, tokens]);
    expect(report.total).toMatchObject({ tokens, cost });
    const costs = runs.flatMap((run) => run.costs.flatMap((one) => one.cost ?? []));
    const sum = costs.length === 0 ? null : costs.reduce((a, b) => a + b);
    expect(sum === null ? null : Number(sum.toFixed(9)), group).toBe(cost);
  }
  await expect(store.explainUsage({ ...ALL, by, group: 'nobody' })).rejects.toThrow('nobody');
});

verifies(
  'SE-7',
  'an explanation names lines of session files that have these figures',
  async () => {
    using store = openStore({ stateDir: join(testFolder(), 'state') });
    let named = 0;
    for (const agent of ['kimi', 'grok', 'copilot']) {
      const files = some(agent);
      const rows = await Array.fromAsync(store.import({ agent, files }));
      const paths = new Map(rows.map(({ run_id }, at) => [run_id, files[at] as string]));
      const { runs } = await store.explainUsage({ ...ALL, agent });
      expect(runs.length).toBeGreaterThan(1);
      for (const { run_id, lines } of runs) {
        for (const line of lines) {
          if (line.raw === null || line.raw.file !== undefined) continue;
          named += 1;
          const numbers = numbersIn(lineAt(paths.get(run_id) as string, line));
          const { tokens } = line.reported as ExplainedLine['added'];
          for (const kind of ['output', 'cache_read'] as const)
            if (tokens[kind]) expect(numbers, `${run_id} ${line.raw.line}`).toContain(tokens[kind]);
        }
      }
    }
    expect(named).toBeGreaterThan(10);
  },
);

test('options are checked, and an empty store has an empty report', async () => {
  using store = openStore({ stateDir: join(testFolder(), 'state') });
  const { groups, total } = await store.usage();
  expect([groups, total.runs, total.cost, total.success_rate]).toEqual([[], 0, null, null]);
  await expect(store.usage({ by: ['hour'] })).rejects.toThrow('unknown key "hour"');
  await expect(store.usage({ by: ['role'] })).rejects.toThrow('unknown key "role"');
  await expect(store.usage({ agent: 'nobody' })).rejects.toThrow('nobody');
  await expect(store.usage({ days: 3 } as never)).rejects.toThrow('days');
});
