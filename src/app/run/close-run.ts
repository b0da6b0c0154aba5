/** The end of a run, live or recovered: what the session file and the work tree add, the end record, the outcome. */
import { existsSync } from 'node:fs';
import { overLimit, unwatched } from '../../capture/budget.ts';
import { problem } from '../../capture/decode.ts';
import { createPipeline, type Pipeline } from '../../capture/pipeline.ts';
import { createReconciler } from '../../capture/reconcile.ts';
import { recordedRun } from '../../capture/run-info.ts';
import type { AgentExit } from '../../capture/source/spawn.ts';
import {
  diffWorktrees,
  snapshotWorktree,
  uncompared,
  type Worktree,
  type WorktreeLimit,
} from '../../capture/source/worktree.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EventOf, Raw } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { RunLimits } from '../../model/parts.ts';
import type { ExitReason } from '../../model/words.ts';
import { VALUE_CHARS_MIN } from '../../redact/values.ts';
import { sessionEvents } from '../sessions/session-source.ts';
import type { FailedView } from './recorder.ts';
import { TRANSCRIPT } from './recording.ts';
import { type EndedRun, lostRecord, NOTHING_STORED, storeRun } from './store-run.ts';

export interface Closing extends EndedRun {
  pipeline: Pipeline;
  /** Null where tacho had no process of its own to wait for. */
  exit: AgentExit | null;
  cause: string | null;
  limits: RunLimits;
  /** The limit for which the run was ended, in words. */
  limit: string | null;
  /** Names of processes that outlived the agent and were ended. */
  left: string[];
  /** The work tree before the run; null: not known. */
  before: Worktree | null;
  started_ms: number;
  /** How long the run has taken, by a clock that cannot be set; null: it was not one process that saw it. */
  elapsed_ms: (() => number) | null;
  /** Why the agent's output could not be read to its end. */
  unreadable?: string;
}

export interface RunResult {
  run_id: string;
  outcome: RunOutcome;
  exit_reason: ExitReason;
  /** Why tacho ended the run: timeout, limit, a signal's name, abort; null when the agent ended by itself. */
  cause: string | null;
  /** Whether the journal has the whole record. */
  recorded: boolean;
  /** Why the recorded run is not in the list of runs; null when it is. */
  unlisted: string | null;
  /** What was made of the events and failed: the record itself is whole. */
  failed_views: FailedView[];
}

export async function closeRun(closing: Closing): Promise<RunResult> {
  const { desk, pipeline, exit, cause } = closing;
  const { recorder } = desk;
  await recorder.take(pipeline.endOfInput('stdout'));
  await recorder.take(pipeline.endOfInput('stderr'));
  await noteLeftovers(closing);
  await noteUnredacted(closing);
  await reconcile(closing);
  await compareWorktree(closing);
  await noteCuts(closing);
  await noteFailedViews(closing);
  const limit = await settleLimits(closing);
  const lost = lostRecord(desk);
  if (lost !== null) recorder.fail(lost);
  const capture_error = recorder.failure?.message ?? closing.unreadable ?? null;
  const elapsed_ms = closing.elapsed_ms?.() ?? null;
  const events = pipeline.finish({ cause, limit, elapsed_ms, capture_error }, exit);
  await recorder.take(events);
  if (recorder.failure !== null)
    await endUnrecorded(closing, events.at(-1) as EventOf<'run_finished'>);
  return endRun(closing, recorder.failure === null);
}

/** Stores what is made of the record, where there is a whole one, and lets go of everything. */
export async function endRun(closing: Closing, whole: boolean): Promise<RunResult> {
  const { desk, cause } = closing;
  const outcome = desk.outcome();
  const { unlisted, missing } = whole ? await storeRun(closing, outcome) : NOTHING_STORED;
  await desk.close();
  const { run_id, recorder } = desk;
  // Only the file counts: one that failed on the way was made again from the journal.
  const failed = whole
    ? recorder.failed.filter(({ view }) => view !== TRANSCRIPT)
    : recorder.failed;
  const failed_views = [...failed, ...missing];
  const lost = lostRecord(desk) !== null;
  const exit_reason = lost ? 'capture_error' : outcome.exit_reason;
  const recorded = whole && !lost;
  return { run_id, outcome, exit_reason, cause, recorded, unlisted, failed_views };
}

/** Some figures are known only now: a run that is over its limit is over it, though nothing ended it in time. */
async function settleLimits({ desk, pipeline, limits, limit }: Closing): Promise<string | null> {
  for (const detail of unwatched(limits, pipeline.state))
    await desk.recorder.take(pipeline.draft(problem('process', 'limit_unwatched', detail), null));
  return limit ?? overLimit(limits, pipeline.state);
}

/** Where the spool is left, `runs recover` makes the whole record of it, for instance once the disk has room again. */
async function endUnrecorded(
  { desk, spool }: Closing,
  finished: EventOf<'run_finished'>,
): Promise<void> {
  const left = spool !== null && existsSync(spool.stdout) && existsSync(spool.meta);
  const next = left
    ? 'its raw output is kept, finish it with: tacho runs recover'
    : 'its raw output is not there any more either';
  const error = `the run could not be recorded: ${desk.recorder.failure?.message}; ${next}`;
  const data = {
    ...finished.data,
    ok: false,
    exit_reason: 'capture_error' as const,
    error,
    digest: null,
  };
  await desk.recorder.endWithout({ ...finished, data });
}

async function noteCuts({ desk, pipeline }: Closing): Promise<void> {
  const { recorder } = desk;
  if (recorder.cut === 0) return;
  const detail = `${recorder.cut} events were too large to record: their long texts were cut`;
  await recorder.take(pipeline.draft(problem('store', 'truncated_value', detail), null));
}

async function noteFailedViews({ desk, pipeline }: Closing): Promise<void> {
  const { recorder } = desk;
  for (const { view, why } of [...recorder.failed]) {
    const detail = `${view} failed and was dropped: ${why}`;
    await recorder.take(pipeline.draft(problem('process', 'view_failed', detail), null));
  }
}

async function noteLeftovers({ desk, pipeline, left }: Closing): Promise<void> {
  if (left.length === 0) return;
  const detail = `processes outlived the agent and were ended: ${left.join(', ')}`;
  await desk.recorder.take(pipeline.draft(problem('process', 'processes_left', detail), null));
}

/** Secrets that are too short to be distinguished from ordinary text are named, never shown. */
async function noteUnredacted({ desk, pipeline }: Closing): Promise<void> {
  const { too_short } = desk.redactor;
  if (too_short.length === 0) return;
  const text = `not redacted, since their values have fewer than ${VALUE_CHARS_MIN} characters: ${too_short.join(', ')}`;
  const data = { code: 'not_redacted', text };
  await desk.recorder.take(pipeline.draft({ kind: 'notice', data }, null));
}

async function reconcile(closing: Closing): Promise<void> {
  const { desk, pipeline, request, started_ms } = closing;
  const { agent, cwd, env } = request;
  const { session_id } = pipeline.state;
  if (agent.session === null || session_id === null) return;
  const path = await agent.session.find({ session_id, cwd, env }).catch(() => null);
  if (path === null) return;
  const reader = createPipeline({
    agent,
    primary: 'session',
    now: null,
    decoder: agent.session.decoder({
      since_ms: started_ms,
      stream_usage: pipeline.state.usage.tokens !== null,
    }),
    info: recordedRun(desk.run_id, agent.id, { cwd, session_id }),
  });
  const reconciler = createReconciler(pipeline.state);
  try {
    let raw: Raw | null = null;
    for await (const events of sessionEvents(agent, path, reader, desk.redactor)) {
      for (const event of events) {
        raw = event.raw ?? raw;
        for (const draft of reconciler.event(event)) {
          await desk.recorder.take(pipeline.draft(draft, raw));
        }
      }
    }
    for (const draft of reconciler.end()) await desk.recorder.take(pipeline.draft(draft, raw));
  } catch (error) {
    const detail = `the session file could not be read: ${(error as Error).message}`;
    await desk.recorder.take(pipeline.draft(problem('reconcile', 'bad_record', detail), null));
  }
}

const UNREAD: Readonly<Record<WorktreeLimit, string>> = {
  big_files: 'large files of the git work tree were compared by size and time only',
  too_many_files: `the git work tree was not compared: over ${LIMITS.worktree_files_max} changed files`,
  timed_out: `the git work tree was not compared: git took over ${LIMITS.worktree_wait_ms} ms`,
  git_failed: 'the git work tree was not compared: git failed',
  unsafe_config:
    'the git work tree was not compared: the configuration of the repository cannot be used safely',
};

/** What changed in the git work tree, whether a call told of it or not (RO-10). */
async function compareWorktree({ desk, pipeline, request, before }: Closing): Promise<void> {
  if (before === null) return;
  const ignore = [desk.state.path];
  const lacking = uncompared(before, before);
  const after =
    lacking === null ? await snapshotWorktree(request.cwd, { since: before, ignore }) : before;
  // The repository was there at the start.
  const why = after === null ? 'git_failed' : uncompared(before, after);
  if (why !== null) {
    const lost = problem('process', 'worktree_unread', UNREAD[why]);
    await desk.recorder.take(pipeline.draft(lost, null));
  }
  for (const { path, operation, size } of after === null ? [] : diffWorktrees(before, after)) {
    const data = { path, operation, call_id: null, source: 'git' as const, diff: null, size };
    await desk.recorder.take(pipeline.draft({ kind: 'file_changed', data }, null));
  }
}
