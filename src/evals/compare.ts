/** Compares two evals of the same tests: better, worse, more expensive, slower. */
import { type EvalRow, mean, summarise, type TestSummary } from './results.ts';

const CHANGES = ['worse', 'better', 'costlier', 'slower', 'cheaper', 'faster'] as const;
type Change = (typeof CHANGES)[number];

export type Figures = Pick<
  TestSummary,
  'verdict' | 'pass_rate' | 'score' | 'cost_usd' | 'duration_ms' | 'tokens'
>;

export interface Compared {
  id: string;
  eval: string;
  /** Null if the test is not in this eval. */
  a: Figures | null;
  b: Figures | null;
  changes: Change[];
}

export interface Comparison {
  tests: Compared[];
  counts: Record<Change | 'same' | 'added' | 'removed', number>;
  regression: boolean;
}

/** Minimum relative change of cost or time that is reported: equal runs differ, too. */
const NOISE = 0.1;
const EPSILON = 1e-9;

/** A test may have been graded on several runs: their mean is compared. */
function figuresOf(group: readonly TestSummary[]): Figures {
  const of = (name: Exclude<keyof Figures, 'verdict'>) => mean(group.map((one) => one[name]));
  return {
    verdict: group.every(({ verdict }) => verdict === 'pass') ? 'pass' : 'fail',
    pass_rate: of('pass_rate') as number,
    score: of('score') as number,
    cost_usd: of('cost_usd'),
    duration_ms: of('duration_ms'),
    tokens: of('tokens'),
  };
}

function quality(a: Figures, b: Figures): Change | null {
  const turned = Number(b.verdict === 'pass') - Number(a.verdict === 'pass');
  const moved = [turned, b.pass_rate - a.pass_rate, b.score - a.score];
  const first = moved.find((by) => Math.abs(by) > EPSILON) ?? 0;
  return first === 0 ? null : first > 0 ? 'better' : 'worse';
}

function moved(a: number | null, b: number | null, [more, less]: [Change, Change]): Change | null {
  if (a === null || b === null || Math.abs(b - a) <= Math.max(a, b) * NOISE) return null;
  return b > a ? more : less;
}

function changesOf(a: Figures | null, b: Figures | null): Change[] {
  if (a === null || b === null) return [];
  const all = [
    quality(a, b),
    moved(a.cost_usd, b.cost_usd, ['costlier', 'cheaper']),
    moved(a.duration_ms, b.duration_ms, ['slower', 'faster']),
  ];
  return all.filter((change) => change !== null);
}

const byTest = (rows: readonly EvalRow[]) =>
  Map.groupBy(summarise(rows), ({ eval: file, id }) => JSON.stringify([file, id]));

export function compare(a: readonly EvalRow[], b: readonly EvalRow[]): Comparison {
  const [before, after] = [byTest(a), byTest(b)];
  const tests = [...new Set([...before.keys(), ...after.keys()])].map((key): Compared => {
    const [file, id] = JSON.parse(key) as [string, string];
    const [old, now] = [before.get(key), after.get(key)];
    const figures = {
      a: old === undefined ? null : figuresOf(old),
      b: now === undefined ? null : figuresOf(now),
    };
    return { id, eval: file, ...figures, changes: changesOf(figures.a, figures.b) };
  });
  const count = (holds: (one: Compared) => boolean) => tests.filter(holds).length;
  const counts = Object.fromEntries(
    CHANGES.map((change) => [change, count(({ changes }) => changes.includes(change))]),
  ) as Record<Change, number>;
  return {
    tests,
    counts: {
      ...counts,
      same: count(({ a: old, b: now, changes }) => old !== null && now !== null && !changes.length),
      added: count((one) => one.a === null),
      removed: count((one) => one.b === null),
    },
    regression: counts.worse > 0,
  };
}
