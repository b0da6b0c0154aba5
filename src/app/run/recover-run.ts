/** Finishes one run: folds what the journal has of it, reads the rest of its spool, closes the record. In flat memory. */
import { lstatSync } from 'node:fs';
import { NO_LIMITS } from '../../capture/budget.ts';
import { problem } from '../../capture/decode.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { leftUnread, settleMarked } from '../../capture/source/drain.ts';
import { readInto, resumeTail } from '../../capture/source/read-into.ts';
import { waitForChange } from '../../capture/source/tail.ts';
import { systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import type { Channel } from '../../model/words.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { Spool } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { resumeLiveRun } from '../live/recover.ts';
import { eventIn } from '../runs/journal-events.ts';
import { type Closing, closeRun, endRun, type RunResult } from './close-run.ts';
import { CAPTURE_SOURCE, type JournalledEvent } from './recorder.ts';
import { type Desk, openDesk, pipelineOf } from './recording.ts';
import { agentRuns, type KnownSpool, markOf } from './spool-meta.ts';

/** A run to finish. */
export interface Unfinished extends KnownSpool {
  /** Null: nothing of its raw output is there. */
  spool: Spool | null;
  /**
   * Why only the journal counts: without a usable meta.json the secrets of the run are not known, so that neither raw
   * output nor a session file can be redacted. Null: the spool is read.
   */
  journal_only: string | null;
  signal: AbortSignal | undefined;
}

export async function finishRun(state: StateDir, run: Unfinished): Promise<RunResult> {
  const index = openIndex(state);
  const live = resumeLiveRun(state.path, run.meta.run_id, run.meta.live);
  try {
    return await withIndex(state, run, { index, sink: live.sink });
  } finally {
    live.close();
    index.close();
  }
}

type Opened = { index: Index; sink: ReturnType<typeof resumeLiveRun>['sink'] };

async function withIndex(
  state: StateDir,
  run: Unfinished,
  { index, sink }: Opened,
): Promise<RunResult> {
  const { meta, agent, journal_only } = run;
  const request = {
    ...meta,
    agent: journal_only === null ? agent : { ...agent, session: null },
    // Only for redaction: a meta.json does not choose where session files are looked for.
    env: { ...(process.env as Record<string, string>), ...meta.secrets },
    clock: systemClock,
    state_dir: state.path,
    stream_log: meta.stream_log ?? false,
    index,
  };
  const desk = openDesk(request, meta.run_id, [{ name: 'the live session', take: sink }]);
  try {
    return await withDesk(state, run, { request, desk, index });
  } catch (error) {
    await desk.close().catch(() => {});
    throw error;
  }
}

type Request = Closing['request'] & Parameters<typeof pipelineOf>[0];

async function withDesk(
  state: StateDir,
  run: Unfinished,
  { request, desk, index }: { request: Request; desk: Desk; index: Index },
): Promise<RunResult> {
  const { meta, journal_only } = run;
  const pipeline = pipelineOf(request, desk);
  const { last, foreign, missing } = await foldJournal(state, index, { desk, pipeline });
  const closing: Closing = {
    request: { ...request, env: process.env as Record<string, string> },
    desk,
    spool: run.spool,
    pipeline,
    exit: { exit_code: null, signal: null },
    cause: null,
    limits: meta.config.limits ?? NO_LIMITS,
    limit: null,
    left: [],
    before: null,
    started_ms: meta.started_ms,
    elapsed_ms: null,
  };
  // Killed between the last record and the tidying: nothing is captured again.
  if (last?.kind === 'run_finished') return endRun(closing, true);
  const note = (text: string) =>
    desk.recorder.take(pipeline.draft(problem('store', 'spool_unusable', text), null));
  if (journal_only === null) await readSpool(run, { desk, pipeline }, last, note);
  else await note(journal_only);
  for (const [count, why] of [
    [foreign, 'not events of this version'],
    [missing, 'damaged'],
  ] as const) {
    if (count === 0) continue;
    const detail = `${count} entries of the journal are ${why}`;
    await desk.recorder.take(pipeline.draft(problem('store', 'bad_record', detail), null));
  }
  const detail = 'the recorder was killed; the capture was finished from the spool';
  await desk.recorder.take(pipeline.draft(problem('process', 'recovered', detail), null));
  return closeRun(closing);
}

interface Fold {
  desk: Desk;
  pipeline: Pipeline;
}

interface Folded {
  last: Event | null;
  /** Entries with a checksum that holds and a body that is no event. */
  foreign: number;
  /** Numbers before the last one that no entry has. */
  missing: number;
}

/** Batches are bounded in bytes: one event may have megabytes. */
const BATCH_CHARS = 1024 * 1024;
const BATCH_EVENTS = 1024;

async function foldJournal(
  state: StateDir,
  index: Index,
  { desk, pipeline }: Fold,
): Promise<Folded> {
  const folded: Folded = { last: null, foreign: 0, missing: 0 };
  let read_to = 0;
  let batch: JournalledEvent[] = [];
  let chars = 0;
  const flush = async () => {
    await desk.recorder.resume(batch);
    batch = [];
    chars = 0;
  };
  for await (const { source, seq, body } of readSession(state.journal, desk.run_id, { index })) {
    if (source !== CAPTURE_SOURCE) continue;
    folded.missing += seq - read_to - 1;
    read_to = seq;
    const event = eventIn(body, desk.run_id);
    if (event === null) {
      folded.foreign += 1;
      continue;
    }
    folded.last = event;
    pipeline.resume(event);
    batch.push({ event, body });
    chars += body.length;
    if (chars > BATCH_CHARS || batch.length >= BATCH_EVENTS) await flush();
  }
  await flush();
  // A segment that could not be read for a moment: what is in it would be captured again, and differ.
  if (read_to !== (await desk.journal.lastSeq(desk.run_id, CAPTURE_SOURCE)))
    throw unread(`${state.journal}: what it has of the run cannot be read now`);
  pipeline.skipTo(read_to);
  pipeline.resumed();
  return folded;
}

/** Reads what the agent wrote after the last journalled line; `note` reports a file that is gone or was cut. */
async function readSpool(
  { spool, meta, signal }: Unfinished,
  { desk, pipeline }: Fold,
  last: Event | null,
  note: (text: string) => Promise<void>,
): Promise<void> {
  // The line that was perhaps recorded in part comes first: its events have the numbers they had.
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
    await desk.recorder.take(resumed.events);
    const read = async () => {
      const events = await readInto(pipeline, channel, tail, buffer);
      if (events !== null) await desk.recorder.take(events);
      return events !== null;
    };
    while (agentRuns(meta) && signal?.aborted !== true) {
      if (await read()) continue;
      await waitForChange([tail], signal ?? null, LIMITS.tail_poll_ms);
    }
    // Of what comes now only the first part can be the agent's.
    const most = tail.size() + LIMITS.leftover_bytes_max;
    if (signal?.aborted !== true) problems.push(...(await settleMarked(meta.drains ?? [])));
    tail.stop(most);
    let more = true;
    while (more) more = await read();
    problems.push(...leftUnread(channel, tail));
    await tail.close();
  }
  for (const draft of problems) await desk.recorder.take(pipeline.draft(draft, null));
  if (missing.length > 0)
    await note(`the agent's output is missing in the spool: ${missing.join(', ')}`);
}

const unread = (text: string, cause?: unknown) =>
  new TachoError('state_unusable', `${text}; try again with: tacho runs recover`, {
    stage: 'recover',
    retryable: true,
    cause,
  });

/** Null for a file that is gone, or has something else in its place. One that cannot be opened is not given up. */
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
