/** The end of a run, live or recovered: what the session file and the work tree add, the end record, the outcome. */
import { overLimit, unwatched } from '../capture/budget.ts';
import { problem } from '../capture/decode.ts';
import { createPipeline, type Pipeline } from '../capture/pipeline.ts';
import { createReconciler } from '../capture/reconcile.ts';
import type { AgentExit } from '../capture/spawn.ts';
import { diffWorktrees, snapshotWorktree, type Worktree } from '../capture/worktree.ts';
import { TachoError } from '../lib/errors.ts';
import type { Agent } from '../model/agent.ts';
import type { EventOf, Raw } from '../model/event.ts';
import type { RunLimits } from '../model/parts.ts';
import { openIndex } from '../store/index-db.ts';
import type { Spool } from '../store/spool.ts';
import type { StreamLog } from './config-log.ts';
import type { Desk } from './desk.ts';
import type { RunResult } from './run.ts';
import { sessionEvents } from './session-source.ts';
import { closeSpool } from './spool-meta.ts';
import { type LogRequest, saveLog } from './stream-log.ts';
import { saveTranscript } from './transcript-writer.ts';

export interface Closing {
  request: {
    agent: Agent;
    cwd: string;
    env: Record<string, string>;
    keep_raw: boolean;
    stream_log: StreamLog;
  };
  desk: Desk;
  /** Null where there is no raw output to keep. */
  spool: Spool | null;
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
}

export async function closeRun(closing: Closing): Promise<RunResult> {
  const { desk, pipeline, exit, cause } = closing;
  const { recorder } = desk;
  await recorder.take(pipeline.endOfInput('stdout'));
  await recorder.take(pipeline.endOfInput('stderr'));
  await noteLeftovers(closing);
  await reconcile(closing);
  await compareWorktree(closing);
  const limit = await settleLimits(closing);
  const capture_error = recorder.failure?.message ?? null;
  const elapsed_ms = closing.elapsed_ms?.() ?? null;
  const events = pipeline.finish({ cause, limit, elapsed_ms, capture_error }, exit);
  await recorder.take(events);
  if (recorder.failure !== null)
    await endUnrecorded(closing, events.at(-1) as EventOf<'run_finished'>);
  const outcome = desk.fold.finish();
  const unlisted = recorder.failure === null ? await store(closing, outcome) : null;
  await desk.close();
  return { run_id: desk.run_id, outcome, exit_reason: outcome.exit_reason, cause, unlisted };
}

/** Some figures are known only now: a run that is over its limit is over it, though nothing ended it in time. */
async function settleLimits({ desk, pipeline, limits, limit }: Closing): Promise<string | null> {
  for (const detail of unwatched(limits, pipeline.state))
    await desk.recorder.take(pipeline.draft(problem('process', 'limit_unwatched', detail), null));
  return limit ?? overLimit(limits, pipeline.state);
}

/** The spool stays: once the disk has room again, `runs recover` makes the whole record of it. */
async function endUnrecorded({ desk }: Closing, finished: EventOf<'run_finished'>): Promise<void> {
  const error = `the run could not be recorded: ${desk.recorder.failure?.message}; its raw output is kept, finish it with: tacho runs recover`;
  const data = {
    ...finished.data,
    ok: false,
    exit_reason: 'capture_error' as const,
    error,
    digest: null,
  };
  await desk.recorder.endWithout({ ...finished, data });
}

/** The record is in the journal and its end was shown: what fails now keeps the run from the list and nothing else. */
async function store(
  { desk, spool, request }: Closing,
  outcome: RunResult['outcome'],
): Promise<string | null> {
  try {
    // Before the run is listed: whatever is listed has its files.
    saveTranscript(desk.state, outcome, desk.transcript);
    if (spool !== null) await saveLog(desk.state, spool, logOf({ desk, request }));
    const index = openIndex(desk.state);
    try {
      index.saveOutcome(outcome);
    } finally {
      index.close();
    }
    if (spool !== null) closeSpool(spool, request.keep_raw);
    return null;
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    return `the run is recorded but not listed: ${error.message}; list it with: tacho runs recover`;
  }
}

function logOf({ desk, request }: Pick<Closing, 'desk' | 'request'>): LogRequest {
  const { run_id, redactor } = desk;
  const { agent, stream_log, cwd } = request;
  return { run_id, agent: agent.id, stream_log, cwd, redactor };
}

async function noteLeftovers({ desk, pipeline, left }: Closing): Promise<void> {
  if (left.length === 0) return;
  const detail = `processes outlived the agent and were ended: ${left.join(', ')}`;
  await desk.recorder.take(pipeline.draft(problem('process', 'processes_left', detail), null));
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
      stream_usage: pipeline.state.usage !== null,
    }),
    info: {
      run_id: desk.run_id,
      agent: agent.id,
      cwd,
      prompt: null,
      config: null,
      started_ms: null,
      model: null,
      agent_version: null,
      session_id,
      fingerprint: () => null,
    },
  });
  const reconciler = createReconciler(pipeline.state);
  try {
    let raw: Raw | null = null;
    for await (const events of sessionEvents(agent, path, reader)) {
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

/** What changed in the git work tree, whether a call told of it or not (RO-10). */
async function compareWorktree({ desk, pipeline, request, before }: Closing): Promise<void> {
  if (before === null) return;
  const after = await snapshotWorktree(request.cwd, { since: before, ignore: [desk.state.path] });
  if (after === null) return;
  for (const { path, operation, size } of diffWorktrees(before, after)) {
    const data = { path, operation, call_id: null, source: 'git' as const, diff: null, size };
    await desk.recorder.take(pipeline.draft({ kind: 'file_changed', data }, null));
  }
}
