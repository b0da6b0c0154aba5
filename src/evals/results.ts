/** Results: one row per graded run, stored as JSONL, and their summary by test. */
import { reaches } from './score.ts';
import type { AssertionResult, Repeat, Verdict } from './types.ts';

export const RESULT_SCHEMA = 'tacho.eval_result.v1';

export interface EvalRow {
  schema_version: typeof RESULT_SCHEMA;
  /** Equal for the same test, run and position: a stored row is reused. */
  key: string;
  eval: string;
  line: number;
  id: string;
  target: string | null;
  /** From 1 to `repeats`. */
  repeat: number;
  repeats: number;
  strategy: Repeat['strategy'];
  /** File and line it was read from; null if it was run for this eval. */
  transcript: string | null;
  transcript_line: number | null;
  run_id: string | null;
  agent: string | null;
  verdict: Verdict;
  score: number;
  threshold: number;
  assertions: AssertionResult[];
  /** Why there was nothing to grade. */
  error: string | null;
  exit_reason: string | null;
  duration_ms: number | null;
  cost_usd: number | null;
  tokens: number | null;
  tool_calls: number | null;
  steps: number | null;
}

type TestFields = 'id' | 'eval' | 'line' | 'target' | 'transcript' | 'transcript_line';
type ResultFields = 'verdict' | 'score' | 'duration_ms' | 'cost_usd' | 'tokens';

/** `assertions`, `error` and the position are those of the first failed run, otherwise of the last run. */
export interface TestSummary
  extends Pick<EvalRow, TestFields | ResultFields | 'assertions' | 'error' | 'threshold'> {
  /** Share of passed runs. */
  pass_rate: number;
  runs: Pick<EvalRow, 'run_id' | 'verdict' | 'score'>[];
}

/** Sum of the known figures; null if no run has one. `unknown`: the number of runs without one. */
export interface EvalTotal {
  sum: number | null;
  unknown: number;
}

/** Each run counts once, however many tests grade it. */
export interface EvalTotals {
  runs: number;
  cost_usd: EvalTotal;
  tokens: EvalTotal;
  duration_ms: EvalTotal;
}

export interface EvalReport {
  tests: TestSummary[];
  passed: number;
  failed: number;
  totals: EvalTotals;
  exit_code: number;
}

export const mean = (figures: readonly (number | null)[]): number | null =>
  figures.includes(null) || figures.length === 0
    ? null
    : (figures as number[]).reduce((sum, figure) => sum + figure, 0) / figures.length;

const PASSES: Record<Repeat['strategy'], (rows: readonly EvalRow[], rate: number) => boolean> = {
  pass_all: (_, rate) => rate === 1,
  pass_any: (_, rate) => rate > 0,
  mean: (rows) =>
    reaches(mean(rows.map((row) => row.score)) ?? 0, rows[0]?.threshold ?? 1) &&
    rows.every(({ error }) => error === null),
};

function summaryOf(rows: readonly EvalRow[]): TestSummary {
  const [first] = rows as [EvalRow];
  const { id, eval: file, line, target } = first;
  const shown = rows.find(({ verdict }) => verdict === 'fail') ?? (rows.at(-1) as EvalRow);
  const pass_rate = rows.filter(({ verdict }) => verdict === 'pass').length / rows.length;
  // A test with missing runs has not passed.
  const whole = first.transcript !== null || rows.length >= first.repeats;
  const passed = whole && PASSES[first.strategy](rows, pass_rate);
  return {
    ...{ id, eval: file, line, target },
    transcript: shown.transcript,
    transcript_line: shown.transcript_line,
    verdict: passed ? 'pass' : 'fail',
    score: mean(rows.map((row) => row.score)) ?? 0,
    pass_rate,
    runs: rows.map(({ run_id, verdict, score }) => ({ run_id, verdict, score })),
    threshold: first.threshold,
    assertions: shown.assertions,
    error: whole ? shown.error : (shown.error ?? 'some runs of the test are missing'),
    duration_ms: mean(rows.map((row) => row.duration_ms)),
    cost_usd: mean(rows.map((row) => row.cost_usd)),
    tokens: mean(rows.map((row) => row.tokens)),
  };
}

/** Rows of one test that are repeats of each other; each transcript is a separate case. */
const groupOf = ({ eval: file, id, target, transcript, transcript_line, run_id }: EvalRow) =>
  JSON.stringify(
    transcript === null ? [file, id, target] : [file, id, transcript, transcript_line, run_id],
  );

/** In the order of first appearance of the tests. A later row replaces an earlier one with the same key. */
export function summarise(rows: readonly EvalRow[]): TestSummary[] {
  const latest = new Map(rows.map((row) => [row.key, row]));
  const groups = Map.groupBy(latest.values(), groupOf);
  return [...groups.values()].map((group) => summaryOf(group.sort((a, b) => a.repeat - b.repeat)));
}

function totalOf(rows: readonly EvalRow[], name: 'cost_usd' | 'tokens' | 'duration_ms'): EvalTotal {
  const known = rows.map((row) => row[name]).filter((figure) => figure !== null);
  const sum = known.length === 0 ? null : known.reduce((all, figure) => all + figure, 0);
  return { sum, unknown: rows.length - known.length };
}

function totalsOf(rows: readonly EvalRow[]): EvalTotals {
  const graded = rows.filter(({ run_id, transcript }) => run_id !== null || transcript !== null);
  const keyOf = ({ run_id, transcript, transcript_line }: EvalRow) =>
    JSON.stringify(run_id ?? [transcript, transcript_line]);
  const runs = [...new Map(graded.map((row) => [keyOf(row), row])).values()];
  return {
    runs: runs.length,
    cost_usd: totalOf(runs, 'cost_usd'),
    tokens: totalOf(runs, 'tokens'),
    duration_ms: totalOf(runs, 'duration_ms'),
  };
}

export function reportOf(rows: readonly EvalRow[], bad_input: boolean): EvalReport {
  const tests = summarise(rows);
  const failed = tests.filter(({ verdict }) => verdict === 'fail').length;
  return {
    tests,
    passed: tests.length - failed,
    failed,
    totals: totalsOf(rows),
    exit_code: bad_input ? 2 : failed > 0 || tests.length === 0 ? 1 : 0,
  };
}
