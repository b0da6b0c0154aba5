/**
 * The end of a run, live or recovered: additions from the session file and the work tree, the end record, the
 * outcome.
 */
import { existsSync } from 'node:fs';
import { overLimit, unwatched } from '../../capture/budget.ts';
import { problem } from '../../capture/decode.ts';
import { CAPTURE_LIMITS } from '../../capture/limits.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { createSessionIntake } from '../../capture/session-intake.ts';
import type { AgentExit } from '../../capture/source/spawn.ts';
import {
  diffWorktrees,
  uncompared,
  type Worktree,
  type WorktreeLimit,
} from '../../capture/source/worktree.ts';
import { snapshotWorktree } from '../../capture/source/worktree-snapshot.ts';
import type { Draft } from '../../model/draft.ts';
import type { EventOf } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { RunLimits } from '../../model/parts.ts';
import type { ExitReason } from '../../model/words.ts';
import { VALUE_CHARS_MIN } from '../../redact/gate.ts';
import type { CostMeter } from '../prices/cost-meter.ts';
import { priced } from '../prices/priced.ts';
import { sessionEvents } from '../sessions/session-source.ts';
import type { FailedView } from './recorder.ts';
import { note, TRANSCRIPT } from './recording.ts';
import { type EndedRun, lostRecord, NOTHING_STORED, storeRun, wasDeleted } from './store-run.ts';

export interface Closing extends EndedRun {
  pipeline: Pipeline;
  /** Null if tacho did not start a process itself. */
  exit: AgentExit | null;
  cause: string | null;
  limits: RunLimits;
  /** The limit that stopped the run, as text. */
  limit: string | null;
  /** Computes the cost for its limit. Null: none is needed. */
  meter: CostMeter | null;
  /** Names of processes that outlived the agent and were terminated. */
  left: string[];
  /** The work tree before the run. Null if unknown. */
  before: Worktree | null;
  started_ms: number;
  /** The duration of the run by a monotonic clock. Null if no single process saw all of it. */
  elapsed_ms: (() => number) | null;
  /** Why the agent's output could not be read to its end. */
  unreadable?: string;
}

export interface RunResult {
  run_id: string;
  outcome: RunOutcome;
  exit_reason: ExitReason;
  /** Why tacho stopped the run: timeout, limit, the name of a signal, or abort. Null if the agent exited on its own. */
  cause: string | null;
  /** Whether the journal has the complete record. */
  recorded: boolean;
  /** Why the recorded run is not in the list of runs, or null. */
  unlisted: string | null;
  /** Views of the events that failed. The record itself is complete. */
  failed_views: FailedView[];
}

export async function closeRun(closing: Closing): Promise<RunResult> {
  const { recording, pipeline, exit, cause } = closing;
  const { recorder } = recording;
  await recorder.take(pipeline.endOfInput('stdout'));
  await recorder.take(pipeline.endOfInput('stderr'));
  for (const draft of firstNotes(closing)) await note(closing, draft);
  await reconcile(closing);
  await compareWorktree(closing);
  closing.meter?.update(pipeline.state);
  for (const draft of lastNotes(closing)) await note(closing, draft);
  // Some figures are known only now: a run may exceed a limit although nothing stopped it in time.
  const limit = closing.limit ?? overLimit(closing.limits, pipeline.state);
  const lost = lostRecord(recording);
  if (lost !== null) recorder.fail(lost);
  const capture_error = recorder.failure?.message ?? closing.unreadable ?? null;
  const elapsed_ms = closing.elapsed_ms?.() ?? null;
  const events = pipeline.finish({ cause, limit, elapsed_ms, capture_error }, exit);
  await recorder.take(events);
  if (recorder.failure !== null)
    await endUnrecorded(closing, events.at(-1) as EventOf<'run_finished'>);
  return endRun(closing, recorder.failure === null);
}

/** Stores the files of a complete record, and releases everything. */
export async function endRun(closing: Closing, whole: boolean): Promise<RunResult> {
  const { recording, cause } = closing;
  const measured = await priced(recording.measured());
  const { outcome } = measured;
  const { unlisted, missing } = whole ? await storeRun(closing, measured) : NOTHING_STORED;
  await recording.close();
  const { run_id, recorder } = recording;
  // Only the file counts: a view that failed on the way was rebuilt from the journal.
  const failed = whole
    ? recorder.failed.filter(({ view }) => view !== TRANSCRIPT)
    : recorder.failed;
  const failed_views = [...failed, ...missing];
  // Once the run is listed, others may delete it: that is not a loss.
  const lost = lostRecord(recording) !== null && !(whole && wasDeleted(recording));
  const exit_reason = lost ? 'capture_error' : outcome.exit_reason;
  const recorded = whole && !lost;
  return { run_id, outcome, exit_reason, cause, recorded, unlisted, failed_views };
}

/** If the spool is kept, `runs recover` builds the complete record from it, for example once the disk has room again. */
async function endUnrecorded({ recording, spool }: Closing, finished: EventOf<'run_finished'>) {
  const left = spool !== null && existsSync(spool.stdout) && existsSync(spool.meta);
  const next = left
    ? 'its raw output is kept; to finish it, run: tacho runs recover'
    : 'its raw output is missing too';
  const error = `the run could not be recorded: ${recording.recorder.failure?.message}; ${next}`;
  const failed = { ok: false, exit_reason: 'capture_error' as const, error, digest: null };
  await recording.recorder.endWithout({ ...finished, data: { ...finished.data, ...failed } });
}

function* firstNotes({ recording, left }: Closing): Generator<Draft> {
  const detail = `processes outlived the agent and were terminated: ${left.join(', ')}`;
  if (left.length > 0) yield problem('process', 'processes_left', detail);
  // Secrets that are too short to be distinguished from ordinary text are named, never shown.
  const { too_short } = recording.redactor;
  const text = `not redacted because their values have fewer than ${VALUE_CHARS_MIN} characters: ${too_short.join(', ')}`;
  if (too_short.length > 0) yield { kind: 'notice', data: { code: 'not_redacted', text } };
}

/** Each is recorded before the next is requested: a view may fail because of one of them. */
function* lastNotes({ recording, pipeline, limits }: Closing): Generator<Draft> {
  const { recorder } = recording;
  const cut = `${recorder.cut} events were too large to record: their long texts were truncated`;
  if (recorder.cut > 0) yield problem('store', 'truncated_value', cut);
  for (const { view, why } of [...recorder.failed])
    yield problem('process', 'view_failed', `${view} failed and was dropped: ${why}`);
  for (const detail of unwatched(limits, pipeline.state))
    yield problem('process', 'limit_unwatched', detail);
}

/** Adds events that only the session file has, and reports contradictions between it and the stream (AG-16). */
async function reconcile(closing: Closing): Promise<void> {
  const { recording, pipeline, request, started_ms } = closing;
  const { agent, cwd, env } = request;
  const { session_id } = pipeline.state;
  const intake = createSessionIntake(agent, pipeline, started_ms);
  if (intake === null || session_id === null) return;
  const report = (detail: string) => note(closing, problem('reconcile', 'bad_record', detail));
  try {
    const failures: Error[] = [];
    const unreadable = (error: Error) => failures.push(error);
    const path = await agent.session?.find({ session_id, cwd, env, unreadable });
    if (path == null) {
      const [first] = failures;
      if (first !== undefined) await report(`the session file was not found: ${first.message}`);
      return;
    }
    for await (const events of sessionEvents(agent, path, intake, recording.redactor))
      await recording.recorder.take(events);
  } catch (error) {
    await report(`the session file could not be read: ${(error as Error).message}`);
  }
}

const UNREAD: Readonly<Record<WorktreeLimit, string>> = {
  big_files: 'large files of the git work tree were compared by size and time only',
  too_many_files: `the git work tree was not compared: over ${CAPTURE_LIMITS.worktree_files_max} changed files`,
  timed_out: `the git work tree was not compared: git took over ${CAPTURE_LIMITS.worktree_wait_ms} ms`,
  git_failed: 'the git work tree was not compared: git failed',
  unsafe_config:
    'the git work tree was not compared: the configuration of the repository cannot be used safely',
};

/** Changes in the git work tree, whether a call reported them or not (RO-10). */
async function compareWorktree(closing: Closing): Promise<void> {
  const { recording, request, before } = closing;
  if (before === null) return;
  const ignore = [recording.state.path];
  const lacking = uncompared(before, before);
  const after =
    lacking === null ? await snapshotWorktree(request.cwd, { since: before, ignore }) : before;
  // There was a repository at the start.
  const why = after === null ? 'git_failed' : uncompared(before, after);
  if (why !== null) await note(closing, problem('process', 'worktree_unread', UNREAD[why]));
  for (const { path, operation, size } of after === null ? [] : diffWorktrees(before, after)) {
    const data = { path, operation, call_id: null, source: 'git' as const, diff: null, size };
    await note(closing, { kind: 'file_changed', data });
  }
}
