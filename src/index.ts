/**
 * tacho as a library. `run` records an agent, `record` the messages of an agent's SDK, `convert` reads a recording,
 * `connect` sends sessions of your own program to a collector, `openStore` reads and keeps stored runs, `validate`
 * checks a stream, `grade` grades runs, `runEval` runs tests with an agent, `watch` follows the sessions of all agents.
 * `agents`, `doctor` and `drift` check the machine.
 * Contract: an iterated run waits for its reader and loses nothing. A run that is not iterated is recorded too.
 */

import { isTrusted } from './app/config/own-state.ts';
import type { RunResult } from './app/run/close-run.ts';
import { CONFIRM_FIELDS, RECORD_FIELDS, RUN_FIELDS } from './app/run/option-fields.ts';
import type { RecordOptions, RunOptions } from './app/run/options.ts';
import { startRecord } from './app/run/record.ts';
import type { View } from './app/run/recorder.ts';
import { clockOf, prepareRun, randomOf } from './app/run/request.ts';
import type { RunControl } from './app/run/run.ts';
import { type AgentRun, runAgent } from './app/run/run-agent.ts';
import type { InputAnswer } from './app/run/run-input.ts';
import { withTarget } from './app/run/with-target.ts';
import { newRunId } from './lib/ids.ts';
import { createQueue } from './lib/queue.ts';
import { checkOptions } from './lib/schema/options.ts';
import type { Event } from './model/event.ts';
import type { RunOutcome } from './model/outcome.ts';
import type { Caught as RunFailure } from './projections/fail-on.ts';

export type { StreamLog } from './app/config/log.ts';
export type { LiveRunOptions } from './app/live/destination.ts';
export type { ValidateFormat, ValidateInput } from './app/live/validate.ts';
export { type ValidateOptions, validate } from './app/live/validate-for-program.ts';
export type { LimitOptions, RecordOptions, RunOptions } from './app/run/options.ts';
export { type RunEventsOptions, runEvents } from './app/run/run-events.ts';
export type { InputAnswer, InputState } from './app/run/run-input.ts';
export type { AgentReport, RehearsedVersion } from './app/runs/agents.ts';
export type { Finding as DoctorFinding } from './app/runs/doctor.ts';
export { type AgentsOptions, agents, type DoctorOptions, doctor } from './app/runs/machine.ts';
export type { Drift, Finding as DriftFinding } from './app/sessions/drift.ts';
export { type DriftOptions, type DriftReport, drift } from './app/sessions/drift-report.ts';
export { type Converted, type ConvertOptions, convert } from './app/sessions/reading.ts';
export type { Health as WatchHealth, WatchStatus } from './app/watch/health.ts';
export type { NotifyRun as WatchedRun, NotifyStatus } from './app/watch/notify.ts';
export type { AgentRetention } from './app/watch/retention-report.ts';
export {
  type WatchLiveOptions,
  type WatchOptions,
  type WatchStatusOptions,
  watch,
  watchStatus,
} from './app/watch/watch-for-program.ts';
export type { WatchLiveStatus } from './app/watch/watch-live.ts';
export type { Stated as WatchedState } from './app/watch/watcher.ts';
export type {
  Failure as RuleFailure,
  Place as RulePlace,
  Report as ValidateReport,
  RuleInfo,
  RuleReport,
  Verdict as RuleVerdict,
} from './conformance/types.ts';
export * from './evals.ts';
export * from './live.ts';
export type {
  Capabilities as AgentCapabilities,
  KnownWhen,
  Retention as RetentionRule,
} from './model/agent.ts';
export type { RunEvent, RunEventData, RunEventDataOf, RunEventType } from './model/run-event.ts';
export type { ApproveMode, CallStatus, CostSource, FailOn } from './model/words.ts';
export type { Caught as RunFailure } from './projections/fail-on.ts';
export type { ReportedCall } from './projections/run-report.ts';
export * from './store.ts';

/** An answer to the agent's question whether a call may run. */
export interface ConfirmOptions {
  /** Id of the call that the agent asks about. */
  callId: string;
  /** Whether it may run. */
  confirmed: boolean;
  /** Reason, for the agent. */
  message?: string | undefined;
}

/** A run, while it happens and after. */
export interface Run extends AsyncIterable<Event> {
  /** Id of the run; with `retries`, of the current attempt. */
  readonly runId: string;
  /** The record of the run. Rejects only if the run could not be started or recorded. */
  readonly outcome: Promise<RunOutcome>;
  /** The conditions of `failOn` that the run meets, each with the calls that caused it. Rejects like `outcome`. */
  readonly failures: Promise<readonly RunFailure[]>;
  /** Ends the agent and all processes that it started. The outcome is then `cancelled`. */
  abort(): void;
  /** Sends a text to the agent, as its user. Requires `acceptInput`, like the next two. */
  say(text: string): InputAnswer;
  /** Interrupts the agent's current work. */
  interrupt(reason?: string): InputAnswer;
  /** Answers the agent's question whether a call may run. */
  confirm(answer: ConfirmOptions): InputAnswer;
}

/** The most events that may wait for the reader. */
const WAITING_MAX = 1_000;

/** A run that waits for its reader. */
function handle(
  start: (reader: View) => RunControl | AgentRun,
  signal: AbortSignal | undefined,
): Run {
  const queue = createQueue<Event>(WAITING_MAX);
  const control = start({ name: 'the reader', take: (events) => queue.put(events) });
  const { input } = control;
  const abort = () => control.abort('abort');
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  const result: Promise<RunResult & { caught?: RunFailure[] }> = control.result;
  const outcome = result.then(({ outcome }) => outcome);
  const failures = result.then(({ caught = [] }) => caught);
  const ended = (error?: unknown) => {
    signal?.removeEventListener('abort', abort);
    queue.end(error);
  };
  // Handled here too: a caller that only iterates must not crash with an unhandled rejection.
  outcome.then(() => ended(), ended);
  failures.catch(() => {});
  return {
    get runId() {
      return control.run_id;
    },
    outcome,
    failures,
    abort,
    say: (text) => input.say(text),
    interrupt: (reason) => input.interrupt(reason ?? null),
    confirm(answer) {
      checkOptions('confirm', answer, CONFIRM_FIELDS);
      const { callId: call_id, confirmed, message = null } = answer;
      return input.confirm({ call_id, confirmed, message });
    },
    [Symbol.asyncIterator]: () => queue.read(),
  };
}

/**
 * Runs an agent and returns immediately. With `retries`, each attempt is a run with its own id; the events are those
 * of all attempts, the outcome is that of the last one. Throws a TachoError for options that are unknown or of a
 * wrong type.
 */
export function run(options: RunOptions): Run {
  checkOptions('run', options, RUN_FIELDS);
  const { signal, onNotice: say = () => {}, ...given } = options;
  const { clock = clockOf(process.env), random = randomOf(process.env) } = given;
  const run_id = newRunId(clock.now(), random);
  const asked = { ...given, clock, random };
  const consenting = { trust: isTrusted(undefined, process.env), say, ask: () => null };
  async function request() {
    const { agent, target } = asked;
    const known = agent !== undefined && target === undefined;
    return prepareRun(known ? { ...asked, agent } : await withTarget(asked, consenting), run_id);
  }
  const start = (reader: View) =>
    runAgent(
      { run_id, request: request() },
      { views: () => [reader], note: say, retrying: say, live: say },
    );
  return handle(start, signal);
}

/** Records the message objects of an agent's SDK as they arrive, like a run. */
export function record(options: RecordOptions): Run {
  checkOptions('record', options, RECORD_FIELDS);
  return handle((reader) => startRecord(options, [reader]), options.signal);
}
