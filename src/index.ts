/**
 * tacho as a library: `run` records an agent, `record` the messages of an agent's SDK, `convert` reads a recording,
 * `connect` sends sessions of one's own to a collector.
 * Contract: an iterated run waits for its reader and loses nothing; a run nobody iterates is recorded all the same.
 */

import { agentOf } from './app/config/agent-of.ts';
import { isTrusted } from './app/config/own-state.ts';
import { openRedactor, passingHash } from './app/config/redaction.ts';
import type { RecordOptions, RunOptions } from './app/run/options.ts';
import { startRecord } from './app/run/record.ts';
import type { View } from './app/run/recorder.ts';
import { prepareRun } from './app/run/request.ts';
import type { RunControl } from './app/run/run.ts';
import { runAgent } from './app/run/run-agent.ts';
import type { InputAnswer } from './app/run/run-input.ts';
import { withTarget } from './app/run/with-target.ts';
import { eventsOf } from './app/sessions/convert.ts';
import { createQueue } from './lib/queue.ts';
import type { Event } from './model/event.ts';
import type { RunOutcome } from './model/outcome.ts';
import { createOutcomeFold } from './projections/outcome.ts';

export {
  type ConnectOptions,
  connect,
  type LiveCall,
  type LiveConnection,
  type LiveSession,
  type SessionOptions,
} from './app/live/connect.ts';
export type { LiveRunOptions } from './app/live/destination.ts';
export type { RecordOptions, RunOptions } from './app/run/options.ts';
export type { InputAnswer, InputState } from './app/run/run-input.ts';
export { TachoError } from './lib/errors.ts';
export type { DataOf, Event, EventOf } from './model/event.ts';
export type { OutcomeCall, RunOutcome } from './model/outcome.ts';
export type { RunEvent } from './model/run-event.ts';

export interface Run extends AsyncIterable<Event> {
  /** The record of the run; rejects only when the run could not be started or recorded. */
  readonly outcome: Promise<RunOutcome>;
  /** Ends the agent's whole process tree; the outcome is then `cancelled`. */
  abort(): void;
  /** Talk to the agent while it runs; taken only with `accept_input`, by agents that can. */
  say(text: string): InputAnswer;
  interrupt(reason?: string): InputAnswer;
  confirm(call_id: string, confirmed: boolean, message?: string): InputAnswer;
}

/** A run that waits for whoever iterates it. */
function handle(start: (reader: View) => RunControl, signal: AbortSignal | undefined): Run {
  const queue = createQueue<Event>(1_000);
  const control = start({ name: 'the reader', take: (events) => queue.put(events) });
  const { input } = control;
  const abort = () => control.abort('abort');
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  const outcome = control.result.then((result) => result.outcome);
  const ended = (error?: unknown) => {
    signal?.removeEventListener('abort', abort);
    queue.end(error);
  };
  outcome.then(() => ended(), ended);
  return {
    outcome,
    abort,
    say: (text) => input.say(text),
    interrupt: (reason) => input.interrupt(reason ?? null),
    confirm: (call_id, confirmed, message) =>
      input.confirm({ call_id, confirmed, message: message ?? null }),
    [Symbol.asyncIterator]: () => queue.read(),
  };
}

/**
 * Runs an agent. With `retries`, the events of every attempt are read, each attempt a run with its own id; the outcome is
 * that of the last one. `signal` aborts it. `onNotice` takes messages for people: why the agent is run again, what
 * is wrong with the live session.
 */
export function run(
  options: RunOptions & { signal?: AbortSignal; onNotice?: (text: string) => void },
): Run {
  const { signal, onNotice: say = () => {}, ...asked } = options;
  const consenting = { trust: isTrusted(undefined, process.env), say, ask: () => null };
  async function request() {
    const { agent, target } = asked;
    const known = agent !== undefined && target === undefined;
    return prepareRun(known ? { ...asked, agent } : await withTarget(asked, consenting));
  }
  return handle(
    (reader) => runAgent(request(), { views: () => [reader], retrying: say, live: say }),
    signal,
  );
}

/** Records the message objects of an agent's SDK as they come, like a run. `signal` stops the reading. */
export function record(
  agent: string,
  messages: AsyncIterable<unknown> | Iterable<unknown>,
  options: Omit<RecordOptions, 'agent'> & { signal?: AbortSignal } = {},
): Run {
  return handle((reader) => startRecord({ ...options, agent }, messages, [reader]), options.signal);
}

export interface ConvertOptions {
  agent: string;
  /** What the input is; default: a recorded stdout. */
  from?: 'stdout' | 'session';
  /** A file, or the bytes themselves. */
  input: string | AsyncIterable<Uint8Array>;
  /** Patterns of secrets to redact, beyond the known ones. */
  redact?: readonly string[];
}

export interface Converted extends AsyncIterable<Event> {
  /** Reads the input to its end. */
  outcome(): Promise<RunOutcome>;
}

/** Reads a recording; iterate it for its events, or ask for its outcome. */
export function convert(options: ConvertOptions): Converted {
  const { from = 'stdout', input, redact = [] } = options;
  async function* events() {
    const agent = await agentOf(options.agent);
    const { env } = process;
    const hash = passingHash(undefined, env);
    const redactor = openRedactor({ env, redact, agents: [agent], hash });
    yield* eventsOf({ agent, from, input, redactor });
  }
  return {
    async *[Symbol.asyncIterator]() {
      for await (const batch of events()) yield* batch;
    },
    async outcome() {
      const fold = createOutcomeFold({ keepIo: true });
      for await (const batch of events()) for (const event of batch) fold.push(event);
      return fold.finish();
    },
  };
}
