/** The stored outcome of a run, as text or as JSON: `tacho show --summary` and `tacho runs show`. */
import { findRunId } from '../app/runs/replay.ts';
import { storedOutcome } from '../app/runs/show.ts';
import { unfinishedOf } from '../app/runs/unfinished.ts';
import { proseOf } from '../projections/human-parts.ts';
import { headText } from '../projections/outcome-text.ts';
import { headOfOutcome } from '../projections/run-head.ts';
import type { StateDir } from '../store/state-dir.ts';
import { type Io, printPretty } from './command.ts';
import { styleOf } from './style.ts';

export async function printSummary(
  state: StateDir,
  run: string,
  flags: { json?: true },
  io: Io,
): Promise<void> {
  const run_id = await findRunId(state, run);
  const outcome = storedOutcome(state, run_id);
  const unfinished = flags.json ? null : await unfinishedOf(state, run_id);
  const style = styleOf(io);
  const message = outcome.message.trim();
  await printPretty(io, flags, outcome, () => {
    const text = message === '' ? '' : `\n${proseOf(message, style)}\n`;
    return headText(headOfOutcome(outcome), style, { unfinished }) + text;
  });
}
