import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { compare } from './compare.ts';
import { type EvalRow, reportOf, summarise } from './results.ts';

function row(id: string, score: number, more: Partial<EvalRow> = {}): EvalRow {
  const at = [id, more.repeat ?? 1, more.transcript ?? null, more.transcript_line ?? null];
  return {
    schema_version: 'tacho.eval_result.v1',
    key: JSON.stringify(at),
    eval: 'a.yaml',
    line: 1,
    id,
    target: null,
    repeat: 1,
    repeats: 1,
    strategy: 'pass_all',
    transcript: null,
    transcript_line: null,
    run_id: null,
    agent: 'demo',
    verdict: score >= 0.8 ? 'pass' : 'fail',
    score,
    threshold: 0.8,
    assertions: [],
    error: null,
    exit_reason: 'ok',
    duration_ms: 1000,
    cost_usd: 0.1,
    tokens: 100,
    tool_calls: 1,
    steps: 1,
    ...more,
  };
}

const repeats = (strategy: EvalRow['strategy'], scores: number[]) =>
  scores.map((score, i) => row('a', score, { repeat: i + 1, repeats: scores.length, strategy }));

describe('repeats', () => {
  const cases: [EvalRow['strategy'], number[], string, number][] = [
    ['pass_all', [1, 1, 1], 'pass', 1],
    ['pass_all', [1, 0, 1, 1], 'fail', 0.75],
    ['pass_any', [0, 0, 0, 1], 'pass', 0.25],
    ['pass_any', [0, 0], 'fail', 0],
    ['mean', [1, 0.7, 0.7], 'pass', 1 / 3],
    ['mean', [1, 0.5], 'fail', 0.5],
  ];
  verifies('EV-8', 'a repeated test passes by its strategy, and its pass rate is reported', () => {
    for (const [strategy, scores, verdict, pass_rate] of cases) {
      const [one] = summarise(repeats(strategy, scores));
      expect({ strategy, scores, verdict: one?.verdict, pass_rate: one?.pass_rate }).toEqual({
        strategy,
        scores,
        verdict,
        pass_rate,
      });
    }
  });

  test('a test with a missing run has not passed', () => {
    const [one] = summarise(repeats('pass_all', [1, 1]).slice(0, 1));
    expect([one?.verdict, one?.error]).toEqual(['fail', 'some runs of the test are missing']);
  });

  test('a later row replaces an earlier one of the same key', () => {
    expect(summarise([row('a', 0), row('a', 1)]).map(({ verdict }) => verdict)).toEqual(['pass']);
  });

  test('each transcript is a separate case', () => {
    const rows = [1, 2].map((line) => row('a', 1, { transcript: 't', transcript_line: line }));
    expect(summarise(rows)).toHaveLength(2);
  });
});

describe('totals', () => {
  test('each run counts once, and unknown figures are counted as unknown', () => {
    const rows = [
      row('a', 1, { run_id: 'r1' }),
      row('b', 0, { run_id: 'r1' }),
      row('a', 1, { run_id: 'r2', repeat: 2, cost_usd: null, tokens: null }),
      row('c', 0, { error: 'there is no run' }),
    ];
    expect(reportOf(rows, false).totals).toEqual({
      runs: 2,
      cost_usd: { sum: 0.1, unknown: 1 },
      tokens: { sum: 100, unknown: 1 },
      duration_ms: { sum: 2000, unknown: 0 },
    });
    expect(reportOf(rows.slice(3), false).totals).toMatchObject({
      runs: 0,
      cost_usd: { sum: null, unknown: 0 },
    });
  });
});

describe('exit codes', () => {
  verifies('EV-9', '0 only when every test passed', () => {
    const code = (rows: EvalRow[], bad = false) => reportOf(rows, bad).exit_code;
    expect([
      code([row('a', 1), row('b', 1)]),
      code([row('a', 1), row('b', 0)]),
      code([row('a', 1)], true),
      code([]),
    ]).toEqual([0, 1, 2, 1]);
  });
});

describe('compare', () => {
  const changes = (a: EvalRow[], b: EvalRow[]) =>
    compare(a, b).tests.map((one) => [one.id, ...one.changes]);

  test('tests that got better, worse, costlier, slower', () => {
    const before = [row('a', 1), row('b', 0), row('c', 1), row('d', 1), row('e', 1), row('f', 1)];
    const after = [
      row('a', 0),
      row('b', 1),
      row('c', 1, { cost_usd: 0.2, duration_ms: 3000 }),
      row('d', 1, { cost_usd: 0.105, duration_ms: 1050 }),
      row('e', 1, { cost_usd: null, duration_ms: 100 }),
      row('g', 1),
    ];
    expect(changes(before, after)).toEqual([
      ['a', 'worse'],
      ['b', 'better'],
      ['c', 'costlier', 'slower'],
      ['d'],
      ['e', 'faster'],
      ['f'],
      ['g'],
    ]);
    expect(compare(before, after)).toMatchObject({
      regression: true,
      counts: {
        worse: 1,
        better: 1,
        costlier: 1,
        slower: 1,
        cheaper: 0,
        faster: 1,
        same: 1,
        added: 1,
        removed: 1,
      },
    });
  });

  test('a lower score of a test that still passes is worse', () => {
    expect(changes([row('a', 1)], [row('a', 0.9)])).toEqual([['a', 'worse']]);
    expect(compare([row('a', 0.9)], [row('a', 1)]).regression).toBe(false);
  });

  test('a lower pass rate is worse', () => {
    const [before, after] = [repeats('pass_any', [1, 1]), repeats('pass_any', [1, 0])];
    expect(changes(before, after)).toEqual([['a', 'worse']]);
  });
});
