/** The repeats of a test compared with each other: shared calls, the place where they part, the medoid (RR-2). */
import type { RepeatReport, TestSummary } from '../../evals/results.ts';
import { TachoError } from '../../lib/errors.ts';
import type { CallRef, RunComparison } from '../../model/comparison.ts';
import { hasState, openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import { compareStored } from '../compare/compare-runs.ts';
import { APP_LIMITS } from '../limits.ts';
import type { EvalResult } from './eval.ts';

const nameOf = ({ tool, about }: CallRef) => (about === '' ? tool : `${tool}: ${about}`);

function reportOf({ runs, medoid, reference, shared, partings, spread }: RunComparison) {
  const ids = runs.map(({ run_id }) => run_id);
  const [first] = partings;
  const { cost_usd, duration_ms, tokens, calls } = spread;
  return {
    compared: ids.length,
    medoid: medoid === null ? null : (ids[reference] as string),
    shared_calls: shared.length,
    parts_after: first?.after ?? null,
    ways: (first?.ways ?? []).map(({ runs: some, count, calls: listed }) => ({
      run_ids: some.map((run) => ids[run] as string),
      count,
      calls: listed.map(nameOf),
    })),
    spread: { cost_usd, duration_ms, tokens, calls },
  } satisfies RepeatReport;
}

/** Adds the comparison to every test with several recorded runs. A run that is no longer stored is left out. */
export async function withRepeats(
  result: EvalResult,
  { state_dir, env }: { state_dir: string | undefined; env: NodeJS.ProcessEnv },
): Promise<EvalResult> {
  const path = resolveStateDir({ flag: state_dir, env });
  const several = (test: TestSummary) => test.runs.length > 1 && test.transcript === null;
  if (!result.report.tests.some(several) || !hasState(path)) return result;
  const state = openStateDir(path);
  for (const test of result.report.tests) {
    const ids = new Set(test.runs.flatMap(({ run_id }) => (run_id === null ? [] : [run_id])));
    if (!several(test) || ids.size < 2) continue;
    try {
      const some = [...ids].slice(0, APP_LIMITS.compared_runs_max);
      test.repeats = reportOf(await compareStored(state, some));
    } catch (error) {
      if (!(error instanceof TachoError)) throw error;
    }
  }
  return result;
}
