/** Results: one row per graded run, stored as JSONL, and their summary by test. */
import type { Spread } from '../model/comparison.ts';
import { reaches } from './score.ts';
import type { AssertionResult, Repeat, Verdict } from './types.ts';

export const RESULT_SCHEMA = 'tacho.eval_result.v1';

/** The result of a test on one run. */
export interface EvalRow {
  /** Version of this format. */
  schema_version: typeof RESULT_SCHEMA;
  /** Equal for the same test, run and position: a stored row is reused. */
  key: string;
  /** Path of the eval file. */
  eval: string;
  /** Line of the test in its file. */
  line: number;
  /** Id of the test. */
  id: string;
  /** Target of tacho.yaml that the run used; null if none. */
  target: string | null;
  /** From 1 to `repeats`. */
  repeat: number;
  /** Number of runs of the test. */
  repeats: number;
  /** When a repeated test passes. */
  strategy: Repeat['strategy'];
  /** File that the transcript was read from; null when it was run for this eval. */
  transcript: string | null;
  /** Line in that file; null when it was run for this eval. */
  transcript_line: number | null;
  /** Id of the run; null if there was none. */
  run_id: string | null;
  /** Id of the agent; null if unknown. */
  agent: string | null;
  /** Whether the test passed on this run. */
  verdict: Verdict;
  /** 0 to 1. */
  score: number;
  /** Score from which the test passes. */
  threshold: number;
  /** The result of each assertion. */
  assertions: AssertionResult[];
  /** Why there was nothing to grade. */
  error: string | null;
  /** Why the run ended; null if unknown. */
  exit_reason: string | null;
  /** Duration of the run in milliseconds; null if unknown. */
  duration_ms: number | null;
  /** Cost of the run in US dollars; null if unknown. */
  cost_usd: number | null;
  /** Tokens of the run; null if unknown. */
  tokens: number | null;
  /** Number of tool calls; null if unknown. */
  tool_calls: number | null;
  /** Number of steps; null if unknown. */
  steps: number | null;
}

/** The repeats of a test, compared call by call. */
export interface RepeatReport {
  /** Number of runs that were compared. */
  compared: number;
  /** Id of the run that is nearest to all others; null for two runs. */
  medoid: string | null;
  /** Number of calls that all runs have, in the same order. */
  shared_calls: number;
  /** Number of shared calls before the first place where the runs part; null if they never part. */
  parts_after: number | null;
  /** The different things that runs do at this place. */
  ways: {
    /** The runs that do it. */
    run_ids: string[];
    /** Number of calls up to the next shared call. */
    count: number;
    /** The first of these calls, for people. */
    calls: string[];
  }[];
  /** The distribution of each figure over the runs. */
  spread: { cost_usd: Spread; duration_ms: Spread; tokens: Spread; calls: Spread };
}

type TestFields = 'id' | 'eval' | 'line' | 'target' | 'transcript' | 'transcript_line';
type ResultFields = 'verdict' | 'score' | 'duration_ms' | 'cost_usd' | 'tokens';

/** `assertions`, `error` and the position are those of the first failed run, otherwise of the last run. */
export interface TestSummary
  extends Pick<EvalRow, TestFields | ResultFields | 'assertions' | 'error' | 'threshold'> {
  /** Share of passed runs. */
  pass_rate: number;
  /** The runs of the test. */
  runs: Pick<EvalRow, 'run_id' | 'verdict' | 'score'>[];
  /** The runs compared with each other; null if there is only one, or if they are not stored. */
  repeats: RepeatReport | null;
}

/** Sum of the known figures; null if no run has one. `unknown`: the number of runs without one. */
export interface EvalTotal {
  /** Sum of the known figures; null when no run has one. */
  sum: number | null;
  /** Number of runs without the figure. */
  unknown: number;
}

/** Each run counts once, however many tests grade it. */
export interface EvalTotals {
  /** Number of runs. */
  runs: number;
  /** US dollars. */
  cost_usd: EvalTotal;
  /** Tokens. */
  tokens: EvalTotal;
  /** Milliseconds. */
  duration_ms: EvalTotal;
}

/** The results of an eval by test. */
export interface EvalReport {
  /** A summary per test. */
  tests: TestSummary[];
  /** Number of tests that passed. */
  passed: number;
  /** Number of tests that failed. */
  failed: number;
  /** Figures of all runs. */
  totals: EvalTotals;
  /** Exit code of `tacho eval`: 0 if every test passed. */
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
    repeats: null,
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
