/** Finishes captures whose tacho was killed: from the spool, after what is in the journal already (ST-3). */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { NO_LIMITS } from '../capture/budget.ts';
import { problem } from '../capture/decode.ts';
import { findMarked, startOf } from '../capture/process-tree.ts';
import { createTail, waitForChange } from '../capture/tail.ts';
import { systemClock } from '../lib/clock.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Event } from '../model/event.ts';
import type { RunOutcome } from '../model/outcome.ts';
import { createOutcomeFold } from '../projections/outcome.ts';
import { openIndex } from '../store/index-db.ts';
import { readSession } from '../store/journal-read.ts';
import { takeLock } from '../store/lock.ts';
import { mayLive } from '../store/owner.ts';
import { listSpools, removeSpool, type Spool, sweepRemoved } from '../store/spool.ts';
import type { StateDir } from '../store/state-dir.ts';
import { closeRun } from './close-run.ts';
import { openDesk, redactorFor } from './desk.ts';
import { resumeLiveRun } from './live-recover.ts';
import { CAPTURE_SOURCE } from './recorder.ts';
import { pipelineOf, type RunResult } from './run.ts';
import { closeSpool, type KnownSpool, readSpoolMeta, type SpoolMeta } from './spool-meta.ts';
import { saveLog } from './stream-log.ts';
import { rebuildTranscript } from './transcript-writer.ts';

export type Recovery =
  | { state: 'recovered'; run_id: string; result: RunResult }
  /** Its tacho, or another recovery, is at work on it. */
  | { state: 'busy'; run_id: string }
  /** The agent still runs and waiting was not asked for. */
  | { state: 'running'; run_id: string; pid: number }
  | { state: 'unreadable'; run_id: string; why: string };

export interface RecoverOptions {
  /** Wait for agents that still run. */
  wait: boolean;
  signal?: AbortSignal;
  /** Only this run. */
  run_id?: string | undefined;
}

export async function* recoverAll(
  state: StateDir,
  options: RecoverOptions,
): AsyncGenerator<Recovery> {
  sweepRemoved(state);
  for (const spool of listSpools(state)) {
    if (options.run_id !== undefined && spool.name !== options.run_id) continue;
    const recovery = await recoverOne(state, spool, options);
    if (recovery !== null) yield recovery;
  }
}

async function recoverOne(
  state: StateDir,
  spool: Spool,
  options: RecoverOptions,
): Promise<Recovery | null> {
  const known = await readSpoolMeta(spool);
  const run_id = known?.meta.run_id ?? spool.name;
  if (known === null && !existsSync(spool.meta)) return neverBegun(spool);
  if (known === null) return { state: 'unreadable', run_id, why: `${spool.meta} cannot be read` };
  if (mayLive(known.meta.owner, state.journal)) return { state: 'busy', run_id };
  let lock: (() => void) | null = null;
  try {
    lock = takeLock(join(spool.path, 'recovering'));
    if (lock === null) return { state: 'busy', run_id };
    return await underLock(state, spool, known, options);
  } catch (error) {
    // Another recovery finished it and removed it meanwhile.
    if (!existsSync(spool.path)) return null;
    // One spool that cannot be finished must not keep the others, or a new run, from their turn.
    return { state: 'unreadable', run_id, why: (error as Error).message };
  } finally {
    lock?.();
  }
}

/** What the journal has is read under the lock: another recovery may just have added the rest. */
async function underLock(
  state: StateDir,
  spool: Spool,
  known: KnownSpool,
  options: RecoverOptions,
): Promise<Recovery | null> {
  const { run_id } = known.meta;
  const journalled = await readJournalled(state, run_id);
  // A finished run whose spool was kept on request is no unfinished capture.
  if (journalled.events.at(-1)?.kind === 'run_finished') {
    const live = resumeLiveRun(state.path, run_id, known.meta.live);
    await live.sink(journalled.events);
    live.close();
    return closeFinished(state, spool, known, journalled.events);
  }
  // Killed between the agent's start and the note of it: the mark in its environment finds it.
  known.meta.agent ??= await findMarked(run_id);
  const { agent } = known.meta;
  if (!options.wait && agentRuns(known.meta))
    return { state: 'running', run_id, pid: agent?.pid ?? 0 };
  const { signal } = options;
  const result = await finishCapture(state, spool, known, { journalled, signal });
  return { state: 'recovered', run_id, result };
}

/** How long a run may take between its spool and the note of what it is about to start. */
const BEGINNING_MS = 60_000;

/** The agent starts only after `meta.json` is written: without it there is nothing to recover. */
function neverBegun(spool: Spool): Recovery | null {
  const made = statSync(spool.path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Date.now() - made < BEGINNING_MS) return { state: 'busy', run_id: spool.name };
  removeSpool(spool);
  return null;
}

function agentRuns({ agent }: SpoolMeta): boolean {
  return agent !== null && agent.start !== null && startOf(agent.pid) === agent.start;
}

interface Journalled {
  bodies: string[];
  events: Event[];
}

async function readJournalled(state: StateDir, run_id: string): Promise<Journalled> {
  const bodies: string[] = [];
  const events: Event[] = [];
  const index = openIndex(state);
  try {
    for await (const entry of readSession(state.journal, run_id, { index })) {
      if (entry.source !== CAPTURE_SOURCE) continue;
      bodies.push(entry.body);
      events.push(JSON.parse(entry.body) as Event);
    }
  } finally {
    index.close();
  }
  return { bodies, events };
}

/** Killed between the last record and the tidying: the outcome is rebuilt, nothing is captured again. */
async function closeFinished(
  state: StateDir,
  spool: Spool,
  known: KnownSpool,
  events: Event[],
): Promise<Recovery | null> {
  const { meta, agent } = known;
  const index = openIndex(state);
  try {
    if (index.getRun(meta.run_id) !== null) {
      closeSpool(spool, meta.keep_raw);
      return null;
    }
    const outcome = outcomeOf(events);
    await rebuildTranscript(state, outcome, events);
    const redactor = redactorFor(state, { ...meta, agent, env: environmentOf(meta) });
    const log = { ...meta, agent: agent.id, stream_log: meta.stream_log ?? false, redactor };
    await saveLog(state, spool, log);
    index.saveOutcome(outcome);
    closeSpool(spool, meta.keep_raw);
    return {
      state: 'recovered',
      run_id: meta.run_id,
      result: {
        run_id: meta.run_id,
        outcome,
        exit_reason: outcome.exit_reason,
        cause: null,
        unlisted: null,
      },
    };
  } finally {
    index.close();
  }
}

function outcomeOf(events: readonly Event[]): RunOutcome {
  const fold = createOutcomeFold({ keepIo: false });
  for (const event of events) fold.push(event);
  return fold.finish();
}

const environmentOf = ({ secrets }: SpoolMeta): Record<string, string> => ({
  ...(process.env as Record<string, string>),
  ...secrets,
});

async function finishCapture(
  state: StateDir,
  spool: Spool,
  { meta, agent }: KnownSpool,
  { journalled, signal }: { journalled: Journalled; signal: AbortSignal | undefined },
): Promise<RunResult> {
  const env = environmentOf(meta);
  const index = openIndex(state);
  const stream_log = meta.stream_log ?? false;
  const more = { clock: systemClock, state_dir: state.path, index, stream_log };
  const request = { ...meta, agent, env, ...more };
  const live = resumeLiveRun(state.path, meta.run_id, meta.live);
  const desk = openDesk(request, meta.run_id, [live.sink]);
  const pipeline = pipelineOf(request, desk);
  pipeline.resume(journalled.events);
  await desk.recorder.resume(journalled.bodies, journalled.events);
  // The line that was perhaps recorded in part comes first: its events have the numbers they had.
  const last = journalled.events.at(-1)?.raw?.channel;
  const channels =
    last === 'stderr' ? (['stderr', 'stdout'] as const) : (['stdout', 'stderr'] as const);
  const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  for (const channel of channels) {
    const tail = createTail(spool[channel], { from: 0 });
    for (;;) {
      const ended = !agentRuns(meta) || signal?.aborted === true;
      const bytes = await tail.read(buffer);
      if (bytes !== null) await desk.recorder.take(pipeline.push(channel, bytes));
      else if (ended) break;
      else await waitForChange([tail], signal ?? null, LIMITS.tail_poll_ms);
    }
    await tail.close();
  }
  const detail = 'the recorder was killed; the capture was finished from the spool';
  await desk.recorder.take(pipeline.draft(problem('process', 'recovered', detail), null));
  const exit = { exit_code: null, signal: null };
  const { started_ms } = meta;
  const closing = {
    request,
    desk,
    spool,
    pipeline,
    exit,
    cause: null,
    limits: meta.config.limits ?? NO_LIMITS,
    limit: null,
    left: [],
    before: null,
    started_ms,
    elapsed_ms: null,
  };
  return closeRun(closing).finally(() => {
    live.close();
    index.close();
  });
}
