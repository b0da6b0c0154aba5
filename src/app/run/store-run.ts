/** Stores the other files of a recorded run: transcript, log, and its row in the index. */
import { lstatSync } from 'node:fs';
import { TachoError } from '../../lib/errors.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { appendChain, hasChain } from '../../store/chain/chain.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { isDeleted, removeIfDeleted } from '../../store/journal/tombstones.ts';
import type { Spool } from '../../store/spool/spool.ts';
import { journalledEvents } from '../runs/replay.ts';
import { saveTranscript, TranscriptWriter } from '../runs/transcript-writer.ts';
import { type FailedView, whyOf } from './recorder.ts';
import { type Recording, TRANSCRIPT } from './recording.ts';
import type { RunRequest } from './request.ts';
import { closeSpool } from './spool-meta.ts';
import { saveLog } from './stream-log.ts';

/** A run with all its events. */
export interface EndedRun {
  request: Pick<RunRequest, 'agent' | 'cwd' | 'env' | 'keep_raw' | 'stream_log'>;
  recording: Recording;
  /** Null if there is no raw output to keep. */
  spool: Spool | null;
}

export interface Stored {
  unlisted: string | null;
  /** Files that could not be written. */
  missing: FailedView[];
}

export const NOTHING_STORED: Stored = { unlisted: null, missing: [] };

/**
 * The record is in the journal and its end was shown, so failures from now on are only reported. After a disk error
 * the spool stays, so that a recovery can store the rest.
 */
export async function storeRun(
  { recording, spool, request }: EndedRun,
  measured: MeasuredRun,
): Promise<Stored> {
  const { outcome } = measured;
  const missing: FailedView[] = [];
  let try_again = false;
  const attempt = async (view: string, work: () => void | Promise<void>) => {
    try {
      await work();
    } catch (error) {
      missing.push({ view, why: whyOf(error) });
      try_again ||= error instanceof TachoError;
    }
  };
  // Before the run is listed: a listed run has its files, if they can be written at all.
  await attempt(TRANSCRIPT, () => storeTranscript(recording, outcome));
  const { run_id, redactor } = recording;
  if (spool !== null) {
    const { agent, stream_log, cwd } = request;
    const log = { run_id, agent: agent.id, stream_log, cwd, redactor };
    await attempt('the log', () => saveLog(recording.state, spool, log));
  }
  let deleted = false;
  try {
    await recording.journal.close();
    using opened = recording.index === null ? openIndex(recording.state) : null;
    const index = opened ?? (recording.index as Index);
    index.saveRun(measured, recording.covers);
    await attempt('the check for its deletion', () => {
      deleted = removeIfDeleted(recording.state, index, run_id);
    });
    const { agent, session_id } = outcome;
    const several = session_id !== null && index.runsOfSession(agent, session_id).length > 1;
    if (several && !deleted)
      await attempt('the removal of imports of its session', async () => {
        const { settleImports } = await import('../sessions/settle-imports.ts');
        await settleImports(recording.state, index, outcome);
      });
  } catch (error) {
    const lost = lostRecord(recording);
    if (lost !== null)
      return { unlisted: `the record of the run is lost: ${lost.message}`, missing };
    const unlisted = `the run is recorded but not listed: ${whyOf(error)}; list it with: tacho runs recover`;
    return { unlisted, missing };
  }
  if (!deleted && hasChain(recording.state))
    await attempt('its entry in the chain of runs', () => {
      const { state, recorder } = recording;
      appendChain(state, [{ kind: 'run', run_id, ...recorder.digest }], Date.now());
    });
  if (deleted) return { unlisted: 'the run was deleted while it was recorded', missing };
  if (spool !== null && !try_again)
    await attempt('the removal of its raw output', () => closeSpool(spool, request.keep_raw));
  return { unlisted: null, missing };
}

async function storeTranscript({ state, run_id, transcript }: Recording, outcome: RunOutcome) {
  const made = transcript();
  if (made !== null) return saveTranscript(state, outcome, made);
  using writer = new TranscriptWriter({ tmp: state.tmp });
  for await (const event of journalledEvents(state, run_id)) writer.push(event);
  saveTranscript(state, outcome, writer);
}

/**
 * Whether a command deleted the run, as `runs gc` may as soon as it is listed. If so, its bytes are freed
 * immediately.
 */
export function wasDeleted({ state, run_id }: Recording): boolean {
  try {
    return isDeleted(state, run_id);
  } catch {
    return false;
  }
}

/** Whether others removed or replaced the journal's entries of the run: an agent can reach the state folder. */
export function lostRecord({ journal, state }: Recording): Error | null {
  try {
    // Later commands refuse such a state folder, although the journal could be read through a link.
    for (const path of [state.path, state.journal, state.spool, state.transcripts])
      if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
        return new Error(
          `${path}: was replaced during the run and is no longer a folder: restore it`,
        );
    journal.check();
    return null;
  } catch (error) {
    return error as Error;
  }
}
