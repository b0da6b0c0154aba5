/** The action of `tacho compare`. */
import { compareStored } from '../../app/compare/compare-runs.ts';
import { EXIT_CAUGHT } from '../../app/run/exit-codes.ts';
import { type Io, print } from '../command.ts';
import { runsOf } from '../state.ts';
import { styleOf } from '../style.ts';
import { comparisonText } from './text.ts';

export interface CompareFlags {
  all?: true;
  ignoreOutputs?: true;
  failOn?: 'divergence';
  json?: true;
}

export async function compareCommand(
  runs: readonly string[],
  flags: CompareFlags,
  io: Io,
): Promise<number> {
  const { ignoreOutputs, all = false, failOn } = flags;
  const comparison = await compareStored(await runsOf(io), runs, { ignoreOutputs });
  await print(io, flags, comparison, () => comparisonText(comparison, all, styleOf(io)));
  return failOn !== undefined && comparison.diverges ? EXIT_CAUGHT : 0;
}
