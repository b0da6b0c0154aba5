/** `tacho compare` as a function. */
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { RunComparison } from '../../model/comparison.ts';
import type { AlignOptions } from '../../projections/compare/align.ts';
import { hasState, openStateDir, resolveStateDir } from '../../store/state-dir.ts';

/** Options of `compareRuns`. */
export interface CompareRunsOptions extends AlignOptions {
  /** Two or more runs, by id, session id, a prefix of one, `last` or `last~N`. */
  runs: readonly string[];
  /** State folder. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
}

const FIELDS = {
  runs: is.required(is.texts),
  stateDir: is.anyText,
  ignoreOutputs: is.flag,
} as const satisfies Readonly<Record<keyof CompareRunsOptions, is.Fields[string]>>;

/** Compares recorded runs call by call. Rejects with a TachoError for a run that does not exist. */
export async function compareRuns(options: CompareRunsOptions): Promise<RunComparison> {
  checkOptions('compareRuns', options, FIELDS);
  const { runs, stateDir: flag, ignoreOutputs } = options;
  const path = resolveStateDir({ flag, env: process.env });
  if (!hasState(path)) {
    const { noRuns } = await import('../runs/replay.ts');
    throw noRuns(path);
  }
  const state = openStateDir(path);
  const { catchUpState } = await import('../runs/catch-up.ts');
  await catchUpState(state, () => {});
  const { compareStored } = await import('./compare-runs.ts');
  return compareStored(state, runs, { ignoreOutputs });
}
