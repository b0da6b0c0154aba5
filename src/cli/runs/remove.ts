/** Runs `tacho runs rm`. */
import { removeRuns } from '../../app/runs/remove.ts';
import { findRunIds } from '../../app/runs/replay.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { isRunId, shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { askTerminal } from '../acting.ts';
import type { Io } from '../command.ts';
import { sayTo } from '../state.ts';

export interface RmFlags {
  yes?: true;
  force?: true;
}

export async function removeNamed(
  state: StateDir,
  names: readonly string[],
  { yes, force }: RmFlags,
  io: Io,
): Promise<number> {
  const ids = [...new Set(findRunIds(state, names))];
  const needs_consent = io.in_is_terminal || !names.every(isRunId);
  if (!yes && needs_consent && !mayRemove(state, names, ids)) {
    await io.err.write('Nothing was deleted.\n');
    return 1;
  }
  const options = { force, say: sayTo(io) };
  const { deleted, missing, running, left, sending } = await removeRuns(state, ids, options);
  for (const run_id of deleted) await io.out.write(`${run_id}: deleted\n`);
  for (const run_id of missing) await io.out.write(`${run_id}: there is no such run\n`);
  for (const run_id of running)
    await io.out.write(`${run_id}: is being recorded by a running tacho; end that first\n`);
  for (const run_id of sending)
    await io.out.write(`${run_id}: a running tacho is sending its messages; try again later\n`);
  for (const segment of left)
    await io.err.write(
      `note: journal/${segment} still contains deleted runs: a running tacho writes it, or a part of it cannot be read; a later tacho runs gc frees them\n`,
    );
  return missing.length + running.length + sending.length > 0 ? 1 : 0;
}

/** A person is asked. A script must use whole run ids, because the last run changes at any time. */
function mayRemove(state: StateDir, names: readonly string[], ids: readonly string[]): boolean {
  const list = listed(state, ids);
  const answer = askTerminal(`${list}\nDelete ${plural(ids.length, 'run')} for good?`);
  if (answer !== null) return answer;
  const name = names.find((one) => !isRunId(one));
  if (name === undefined) return true;
  const text = `"${name}" is not a whole run id: add --yes to delete the runs that it means now:\n${list}`;
  throw new TachoError('usage', text, { stage: 'request' });
}

const SHOWN_MAX = 20;

function listed(state: StateDir, ids: readonly string[]): string {
  using index = openIndex(state);
  const short = shortRunIds(ids);
  const lines = ids.slice(0, SHOWN_MAX).map((run_id, at) => {
    const outcome = index.getRun(run_id);
    if (outcome === null) return `  ${run_id}`;
    const { agent, metrics, metadata } = outcome;
    const when = localMinute(metrics.start_time_ms) ?? 'unknown time';
    return `  ${short[at]}  ${when}  ${agent}  ${oneLine(metadata.initial_prompt ?? '', 60)}`;
  });
  if (ids.length > SHOWN_MAX) lines.push(`  and ${ids.length - SHOWN_MAX} more`);
  return lines.join('\n');
}
