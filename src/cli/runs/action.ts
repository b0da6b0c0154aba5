/** The actions of `runs verify`, `runs reindex` and `runs rm`. */

import { recordText } from '../../lib/record-words.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type Io, print, printPretty } from '../command.ts';
import { sayTo } from '../state.ts';

export async function verify(
  state: StateDir,
  run: string,
  flags: { json?: true },
  io: Io,
): Promise<number> {
  const { verifyRun } = await import('../../app/runs/verify.ts');
  const report = await verifyRun(state, run);
  const { run_id, ok, events, faults, completeness } = report;
  const whole = `${events} events are intact: sequence, hashes, form; ${completeness === null ? 'completeness unknown' : recordText(completeness)}`;
  await printPretty(io, flags, report, () => `${run_id}: ${ok ? whole : faults.join('; ')}\n`);
  return ok ? 0 : 1;
}

export async function reindexRuns(
  state: StateDir,
  flags: { json?: true; force?: true },
  io: Io,
): Promise<number> {
  const { reindex } = await import('../../app/runs/reindex.ts');
  const done = await reindex(state, { force: flags.force, say: sayTo(io) });
  const { runs, unfinished, damaged, torn, foreign, unreadable } = done;
  const more = foreign === 0 ? '' : `; ${foreign} with damaged entries: see tacho runs verify`;
  const text = `${runs} runs; ${unfinished} unfinished, ${damaged} damaged lines, ${torn} torn${more}`;
  await print(io, flags, done, () => `${text}\n`);
  for (const segment of unreadable)
    await io.err.write(
      `warning: journal/${segment} cannot be read; the index keeps its existing rows\n`,
    );
  return unreadable.length === 0 ? 0 : 1;
}
