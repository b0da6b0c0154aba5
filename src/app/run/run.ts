/**
 * One run from start to end: the agent writes to its spool; tacho follows it, journals and shows events, and closes the record.
 */
import { createLoopGuard, type LoopGuard, NO_LIMITS, overLimit } from '../../capture/budget.ts';
import { CAPTURE_LIMITS } from '../../capture/limits.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { leftUnread, settleDrains } from '../../capture/source/drain.ts';
import { endTree, listTree, type TreeRoot } from '../../capture/source/process-tree.ts';
import { readInto } from '../../capture/source/read-into.ts';
import { Tail, waitForChange } from '../../capture/source/tail.ts';
import { snapshotWorktree } from '../../capture/source/worktree-snapshot.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import type { RunLimits } from '../../model/parts.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { createSpool, removeSpool, SPOOL_MARK, type Spool } from '../../store/spool/spool.ts';
import { rememberTarget } from '../config/own-state.ts';
import { APP_LIMITS } from '../limits.ts';
import { type CostMeter, costMeter } from '../prices/cost-meter.ts';
import { type Closing, closeRun, type RunResult } from './close-run.ts';
import { type Launched, launch } from './launch.ts';
import { type View, whyOf } from './recorder.ts';
import { note, openRecording, pipelineOf, type Recording } from './recording.ts';
import type { RunRequest } from './request.ts';
import { type AgentInput, RunInput } from './run-input.ts';
import { keepRaw } from './spool-meta.ts';

export interface RunControl {
  /** Of the run, or of the current attempt. */
  readonly run_id: string;
  /** Never rejects for failures of the agent, only if tacho itself cannot work. */
  result: Promise<RunResult>;
  /** Terminates the agent's process tree. A second call kills it immediately. */
  abort(cause: string): void;
  input: AgentInput;
}

/** Starts the run. Rejects with a TachoError if it could not be started; nothing is left behind then. */
export async function startRun(asked: RunRequest, views: readonly View[]): Promise<RunControl> {
  let request = asked;
  const { run_id } = request;
  const meter = costMeter(request.agent, request.config.limits);
  const recording = openRecording(request, run_id, meter === null ? views : [...views, meter.view]);
  let spool: Spool | null = null;
  try {
    // Before the agent does any work: without an index the run could not be listed.
    openIndex(recording.state).close();
    // Before anything that would be sent later is on disk.
    if (request.live !== null) rememberTarget(recording.state.path, request.live);
    recording.journal.begin(run_id);
    const before = await snapshotWorktree(request.cwd, { ignore: [recording.state.path] });
    if (before === null) request = { ...request, config: { ...request.config, without_git: true } };
    spool = createSpool(recording.state, run_id);
    const launched = await launch(request, run_id, spool);
    const running = new RunInProgress(request, { recording, meter }, spool, launched);
    return {
      run_id,
      input: running.input,
      abort: (cause) => running.abort(cause),
      result: running.recordOrEnd(before),
    };
  } catch (error) {
    await dropAll(recording, spool);
    throw error;
  }
}

/** No agent was started. A recovery removes anything that cannot be removed now. */
async function dropAll(recording: Recording, spool: Spool | null): Promise<void> {
  try {
    if (spool !== null) removeSpool(spool);
    await recording.close();
  } catch {
    // The original error is the one to report.
  }
}

const CHANNELS = ['stdout', 'stderr'] as const;
type Tails = Record<(typeof CHANNELS)[number], Tail>;
/** Offsets beyond which nothing is read. */
type Ends = Record<(typeof CHANNELS)[number], number>;
const NO_END: Ends = { stdout: Number.POSITIVE_INFINITY, stderr: Number.POSITIVE_INFINITY };

class RunInProgress {
  readonly input: RunInput;
  readonly #request: RunRequest;
  readonly #recording: Recording;
  readonly #spool: Spool;
  readonly #launched: Launched;
  readonly #root: TreeRoot;
  readonly #pipeline: Pipeline;
  readonly #limits: RunLimits;
  readonly #loops: LoopGuard | null;
  readonly #meter: CostMeter | null;
  readonly #loaded: Promise<void> | null;
  #cause: string | null = null;
  #limit: string | null = null;
  #ending: Promise<unknown> = Promise.resolve();
  /** Shared by all reads: a new buffer for each would create garbage. */
  readonly #buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);

  constructor(
    request: RunRequest,
    { recording, meter }: { recording: Recording; meter: CostMeter | null },
    spool: Spool,
    launched: Launched,
  ) {
    const { agent, started_ms } = launched;
    this.#request = request;
    this.#recording = recording;
    this.#meter = meter;
    this.#loaded = meter?.load() ?? null;
    this.#spool = spool;
    this.#launched = launched;
    this.#root = { pid: agent.pid ?? 0, run_id: recording.run_id, start: agent.start };
    this.#pipeline = pipelineOf({ ...request, started_ms }, recording);
    this.#limits = request.config.limits ?? NO_LIMITS;
    const { same_calls } = this.#limits;
    this.#loops = same_calls === null ? null : createLoopGuard(same_calls);
    const accepted = request.config.accept_input === true;
    const { stdin } = agent;
    const first = stdin === null ? null : request.plan.stdin;
    this.input = new RunInput({ ...request, accepted, first, stdin });
  }

  abort(cause: string): void {
    const again = this.#cause !== null;
    this.#cause ??= cause;
    this.input.close();
    const grace_ms = again ? 0 : APP_LIMITS.kill_grace_ms;
    const signal = cause === 'SIGINT' ? 'SIGINT' : 'SIGTERM';
    this.#ending = Promise.allSettled([this.#ending, endTree(this.#root, { grace_ms, signal })]);
  }

  /** If the output can no longer be read, the run is stopped and closed with its events so far. The raw output stays. */
  async recordOrEnd(before: Closing['before']): Promise<RunResult> {
    try {
      return await this.#record(before);
    } catch (error) {
      await endTree(this.#root, { grace_ms: APP_LIMITS.kill_grace_ms, signal: 'SIGTERM' });
      if (this.#pipeline.state.finished !== null) throw error;
      // A recovery reads it from the file.
      keepRaw(this.#spool);
      const closing = await this.#closing([], before);
      const request = { ...closing.request, keep_raw: true };
      return closeRun({ ...closing, request, unreadable: whyOf(error) });
    }
  }

  async #record(before: Closing['before']): Promise<RunResult> {
    const { timeout_ms } = this.#request.config;
    const timer = timeout_ms === null ? null : setTimeout(() => this.abort('timeout'), timeout_ms);
    const behindMark = { from: SPOOL_MARK.length, mark: SPOOL_MARK };
    const tails = {
      stdout: new Tail(this.#spool.stdout, behindMark),
      stderr: new Tail(this.#spool.stderr, behindMark),
    };
    const exited = new AbortController();
    this.#launched.agent.exited.finally(() => exited.abort());
    await this.#readUntil(tails, exited.signal);
    if (timer !== null) clearTimeout(timer);
    this.input.end();
    const { left, problems } = await this.#readLeftovers(tails);
    for (const draft of problems) await this.#note(draft);
    await Promise.all([tails.stdout.close(), tails.stderr.close()]);
    return closeRun(await this.#closing(left, before));
  }

  #note(draft: Draft): Promise<void> {
    return note({ recording: this.#recording, pipeline: this.#pipeline }, draft);
  }

  async #closing(left: string[], before: Closing['before']): Promise<Closing> {
    const { agent, started_ms, started_elapsed } = this.#launched;
    await this.#loaded;
    return {
      request: this.#request,
      recording: this.#recording,
      spool: this.#spool,
      pipeline: this.#pipeline,
      exit: await agent.exited,
      cause: this.#cause,
      limits: this.#limits,
      limit: this.#limit,
      meter: this.#meter,
      left,
      before,
      started_ms,
      elapsed_ms: () => this.#request.clock.elapsed() - started_elapsed,
    };
  }

  /** Reads both channels until the agent has exited. */
  async #readUntil(tails: Tails, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      if (await this.#read(tails)) continue;
      await waitForChange([tails.stdout, tails.stderr], ended, LIMITS.tail_poll_ms * 10);
    }
  }

  /** Reads the channels' current content: another process may write faster than it can be read. */
  async #readRest(tails: Tails, most: Ends): Promise<void> {
    for (const channel of CHANNELS) tails[channel].stop(most[channel]);
    let more = true;
    while (more) more = await this.#read(tails);
  }

  /** Reads each channel once. False if there was nothing to read. */
  async #read(tails: Tails): Promise<boolean> {
    let got = false;
    for (const channel of CHANNELS) {
      const events = await readInto(this.#pipeline, channel, tails[channel], this.#buffer);
      if (events === null) continue;
      got = true;
      await this.#recording.recorder.take(events);
      this.#watch(events);
      this.input.watch(events);
    }
    for (const draft of this.input.notes()) await this.#note(draft);
    if (!got) await this.#recording.recorder.take(this.#pipeline.pause());
    return got;
  }

  /** Stops the run if it exceeds a limit. */
  #watch(events: readonly Event[]): void {
    if (this.#cause !== null) return;
    this.#meter?.update(this.#pipeline.state);
    this.#limit =
      overLimit(this.#limits, this.#pipeline.state) ?? this.#loops?.push(events) ?? null;
    if (this.#limit !== null) this.abort('limit');
  }

  /**
   * Reads the rest after the agent has exited: its own last output, and a bounded part of other processes' output.
   * Those processes are terminated at the same time, because they may write faster than they can be read.
   */
  async #readLeftovers(tails: Tails): Promise<{ left: string[]; problems: Draft[] }> {
    const most = {
      stdout: tails.stdout.size() + APP_LIMITS.leftover_bytes_max,
      stderr: tails.stderr.size() + APP_LIMITS.leftover_bytes_max,
    };
    const full = { stdout: new AbortController(), stderr: new AbortController() };
    const enough = { stdout: full.stdout.signal, stderr: full.stderr.signal };
    const timer = setInterval(() => {
      for (const channel of CHANNELS)
        if (tails[channel].size() > most[channel]) full[channel].abort();
    }, CAPTURE_LIMITS.tree_poll_ms);
    try {
      const ending = this.#endLeftovers(tails, AbortSignal.any(Object.values(enough)));
      const [left] = await Promise.all([ending, this.#readRest(tails, NO_END)]);
      const { drains, problems } = this.#launched;
      const unsettled = await settleDrains(drains, enough);
      await this.#readRest(tails, most);
      const rest = CHANNELS.flatMap((channel) => leftUnread(channel, tails[channel]));
      return { left, problems: [...problems, ...unsettled, ...rest] };
    } finally {
      clearInterval(timer);
    }
  }

  /** Processes that outlive the agent may still write. They get a moment, then they are terminated. */
  async #endLeftovers(tails: Tails, enough: AbortSignal): Promise<string[]> {
    await this.#ending;
    const names = (await listTree(this.#root)).map((process) => process.name);
    if (names.length === 0) return [];
    const waited = AbortSignal.any([AbortSignal.timeout(APP_LIMITS.leftover_wait_ms), enough]);
    while (!waited.aborted && (await listTree(this.#root)).length > 0) {
      await waitForChange([tails.stdout, tails.stderr], waited, CAPTURE_LIMITS.tree_poll_ms * 4);
    }
    const { names: ended } = await endTree(this.#root, {
      grace_ms: enough.aborted ? 0 : APP_LIMITS.kill_grace_ms,
      signal: 'SIGTERM',
    });
    return ended;
  }
}
