/**
 * Finishes one run: folds its events from the journal, reads the rest of its spool, closes the record. In constant
 * memory.
 */
import { lstatSync } from 'node:fs';
import { NO_LIMITS } from '../../capture/budget.ts';
import { problem } from '../../capture/decode.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { leftUnread, settleMarked } from '../../capture/source/drain.ts';
import { readInto, resumeTail } from '../../capture/source/read-into.ts';
import { waitForChange } from '../../capture/source/tail.ts';
import { systemClock } from '../../lib/clock.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import type { Channel } from '../../model/words.ts';
import { isDeleted } from '../../store/journal/tombstones.ts';
import type { Spool } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { resumeLiveRun } from '../live/recover.ts';
import { type CostMeter, costMeter } from '../prices/cost-meter.ts';
import { type Closing, closeRun, endRun, type RunResult } from './close-run.ts';
import { type Capture, note, openRecording, pipelineOf, type Recording } from './recording.ts';
import { foldJournal, type Known, unread } from './recover-journal.ts';
import { agentRuns, type KnownSpool, markOf } from './spool-meta.ts';

export type Recovery =
  | { state: 'recovered'; run_id: string; result: RunResult }
  /** It could not be recorded or listed. A later recovery tries again. */
  | { state: 'failed'; run_id: string; why: string }
  /** Its tacho, or another recovery, is working on it. `why` names that process. */
  | { state: 'busy'; run_id: string; why: string }
  /** The agent is still running and waiting was not requested. */
  | { state: 'running'; run_id: string; pid: number }
  /** Over the budget of the automatic recovery. */
  | { state: 'left'; run_id: string; why: string }
  | { state: 'unreadable'; run_id: string; why: string };

/** A run to finish. */
export interface Unfinished extends KnownSpool {
  /** Null if none of its raw output exists. */
  spool: Spool | null;
  /**
   * Why only the journal is used: without a usable meta.json the secrets of the run are unknown, so neither raw
   * output nor a session file can be redacted. Null if the spool is read.
   */
  journal_only: string | null;
  signal: AbortSignal | undefined;
}

export async function finishRun(
  state: StateDir,
  run: Unfinished,
  known: Known,
): Promise<RunResult> {
  const { meta, agent, journal_only } = run;
  using live = resumeLiveRun(state.path, meta.run_id, meta.live);
  const request = {
    ...meta,
    agent: journal_only === null ? agent : { ...agent, session: null },
    // Only for redaction: a meta.json does not decide where session files are searched for.
    env: { ...(process.env as Record<string, string>), ...meta.secrets },
    clock: systemClock,
    state_dir: state.path,
    stream_log: meta.stream_log ?? false,
    known,
  };
  const view = { name: 'the live session', take: live.sink };
  const meter = costMeter(agent, meta.config.limits);
  const views = meter === null ? [view] : [view, meter.view];
  const recording = openRecording(request, meta.run_id, views);
  try {
    await meter?.load();
    return await withRecording(run, { request, recording, meter, known });
  } catch (error) {
    await recording.close().catch(() => {});
    throw error;
  }
}

type Request = Closing['request'] & Parameters<typeof pipelineOf>[0];

interface Recovering {
  request: Request;
  recording: Recording;
  meter: CostMeter | null;
  known: Known;
}

async function withRecording(
  run: Unfinished,
  { request, recording, meter, known }: Recovering,
): Promise<RunResult> {
  const { meta, journal_only } = run;
  const capture = { recording, pipeline: pipelineOf(request, recording) };
  const { last, foreign, missing } = await foldJournal(capture, known);
  const closing: Closing = {
    ...capture,
    request: { ...request, env: process.env as Record<string, string> },
    spool: run.spool,
    exit: { exit_code: null, signal: null },
    cause: null,
    limits: meta.config.limits ?? NO_LIMITS,
    meter,
    limit: null,
    left: [],
    before: null,
    started_ms: meta.started_ms,
    elapsed_ms: null,
  };
  // Killed between the last record and the clean-up: nothing is captured again.
  if (last?.kind === 'run_finished') return endRun(closing, true);
  if (journal_only === null) await readSpool(run, capture, last);
  else await note(capture, problem('store', 'spool_unusable', journal_only));
  for (const [count, why] of [
    [foreign, 'not events of this version'],
    [missing, 'damaged'],
  ] as const) {
    const detail = `${count} entries of the journal are ${why}`;
    if (count > 0) await note(capture, problem('store', 'bad_record', detail));
  }
  const detail = 'the recorder was killed; the capture was finished from the spool';
  await note(capture, problem('process', 'recovered', detail));
  return closeRun(closing);
}

/** Reads the agent's output after the last journalled line, and reports missing files. */
async function readSpool(
  { spool, meta, signal }: Unfinished,
  capture: Capture,
  last: Event | null,
): Promise<void> {
  const { recording, pipeline } = capture;
  // The line that may be partly recorded comes first: its events keep their numbers.
  const channels =
    last?.raw?.channel === 'stderr'
      ? (['stderr', 'stdout'] as const)
      : (['stdout', 'stderr'] as const);
  const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  const missing: string[] = [];
  const problems: Draft[] = [];
  for (const channel of channels) {
    const resumed = spool === null ? null : opened(pipeline, channel, spool[channel], markOf(meta));
    if (resumed === null) {
      missing.push(channel);
      continue;
    }
    const { tail } = resumed;
    await recording.recorder.take(resumed.events);
    const read = async () => {
      const events = await readInto(pipeline, channel, tail, buffer);
      if (events !== null) await recording.recorder.take(events);
      return events !== null;
    };
    while (agentRuns(meta) && signal?.aborted !== true) {
      if (await read()) continue;
      await waitForChange([tail], signal ?? null, LIMITS.tail_poll_ms);
    }
    // Of the output from now on, only the first part can be the agent's.
    const most = tail.size() + APP_LIMITS.leftover_bytes_max;
    if (signal?.aborted !== true) problems.push(...(await settleMarked(meta.drains ?? [])));
    tail.stop(most);
    let more = true;
    while (more) more = await read();
    problems.push(...leftUnread(channel, tail));
    await tail.close();
  }
  for (const draft of problems) await note(capture, draft);
  const detail = `the agent's output is missing from the spool: ${missing.join(', ')}`;
  if (missing.length > 0) await note(capture, problem('store', 'spool_unusable', detail));
}

/** Null if the file is missing or not a file. Throws if it cannot be opened, so that it is tried again. */
function opened(
  pipeline: Pipeline,
  channel: Channel,
  path: string,
  mark: Buffer,
): ReturnType<typeof resumeTail> | null {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return null;
  try {
    return resumeTail(pipeline, channel, path, mark);
  } catch (cause) {
    throw unread(`${path}: cannot be read: ${(cause as Error).message}`, cause);
  }
}

/** The result of a finished run. Null if another command has deleted it meanwhile. */
export function recoveryOf(state: StateDir, run_id: string, result: RunResult): Recovery | null {
  const { recorded, unlisted, outcome } = result;
  if (recorded && unlisted === null) return { state: 'recovered', run_id, result };
  if (isDeleted(state, run_id)) return null;
  const why = unlisted ?? outcome.error_details?.message ?? 'the run could not be recorded';
  return { state: 'failed', run_id, why };
}
