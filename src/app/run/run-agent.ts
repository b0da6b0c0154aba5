/**
 * A run as its caller sees it: attempt after attempt, each recorded as its own run, sent live and open to input as
 * requested (RO-9, LP-8, LP-14). `tacho run`, the library and evals start their runs here.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { durationText } from '../../lib/figures.ts';
import { newRunId } from '../../lib/ids.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { type Caught, caughtBy } from '../../projections/fail-on.ts';
import { type RunReport, RunReportFold } from '../../projections/run-report.ts';
import type { RunResult } from './close-run.ts';
import type { View } from './recorder.ts';
import type { RunRequest } from './request.ts';
import { attemptAfter, FIRST_ATTEMPT, waitBefore, watchAttempt } from './retry.ts';
import { type RunControl, startRun } from './run.ts';
import { type AgentInput, type InputAnswer, refused } from './run-input.ts';

export interface RunWatcher {
  /** Views for the next attempt. `last`: no further attempt can follow it. */
  views(last: boolean): readonly View[] | Promise<readonly View[]>;
  /** Called after an attempt, while its live session is still open. Null if it could not be started. */
  ended?(result: RunResult | null): Promise<void>;
  /** Notes for people, before the first attempt. */
  note?(text: string): void | Promise<void>;
  /** Why there is another attempt, and when. */
  retrying?(text: string): void | Promise<void>;
  /** Problems of the live session. */
  live?(text: string): void;
}

/** A request that is still being checked. */
interface ComingRequest {
  run_id: string;
  request: Promise<RunRequest>;
}

export interface AgentRunResult extends RunResult {
  report: RunReport;
  /** The conditions of `failOn` that the run meets. */
  caught: Caught[];
}

export interface AgentRun extends RunControl {
  result: Promise<AgentRunResult>;
}

const REPORT = 'the list of calls';
const WHY_CHARS_MAX = 300;
const NOT_STARTED = refused('starting', 'the agent has not been started');

/** Returns immediately. The result is that of the last attempt. After an abort there is no further attempt. */
export function runAgent(given: RunRequest | ComingRequest, watcher: RunWatcher): AgentRun {
  let { run_id } = given;
  let running: RunControl | null = null;
  let cause: string | null = null;
  const aborted = new AbortController();
  const toAgent = (talk: (agent: AgentInput) => InputAnswer) =>
    running === null ? NOT_STARTED : talk(running.input);
  const input: AgentInput = {
    say: (text) => toAgent((agent) => agent.say(text)),
    interrupt: (reason) => toAgent((agent) => agent.interrupt(reason)),
    confirm: (answer) => toAgent((agent) => agent.confirm(answer)),
  };

  async function attempt(request: RunRequest, last: boolean) {
    running = null;
    const watch = watchAttempt();
    const sent = await sentRun(request, input, watcher);
    let result: RunResult | null = null;
    try {
      const calls = new RunReportFold();
      const views: View[] = [
        { name: 'the watch for retries', take: watch.sink },
        { name: REPORT, take: (events) => calls.push(events) },
      ];
      views.push(...(await watcher.views(last)), ...(sent === null ? [] : [sent.view]));
      running = await startRun(request, views);
      if (cause !== null) running.abort(cause);
      result = await running.result;
      const again = !last && watch.worthAnother(result.outcome);
      return { result: checked(request, result, calls.finish()), again };
    } finally {
      await watcher.ended?.(result);
      await sent?.end();
    }
  }

  async function attempts(): Promise<AgentRunResult> {
    const first = 'request' in given ? await given.request : given;
    for (const text of first.notes) await watcher.note?.(text);
    const { times, wait_ms } = first.retry;
    let current = FIRST_ATTEMPT;
    let tried = await attempt(first, times === 0);
    while (tried.again && !aborted.signal.aborted) {
      const next = attemptAfter(current, tried.result.outcome);
      const pause_ms = waitBefore(next.number, wait_ms, first.random);
      const when = `attempt ${next.number} of ${times + 1} in ${durationText(pause_ms)}`;
      await watcher.retrying?.(`${whyFailed(tried.result)}; ${when}`);
      await sleep(pause_ms, undefined, { signal: aborted.signal }).catch(() => {});
      if (aborted.signal.aborted) break;
      current = next;
      run_id = newRunId(first.clock.now(), first.random);
      const request = { ...first, run_id, config: { ...first.config, attempt: current } };
      tried = await attempt(request, current.number > times);
    }
    return tried.result;
  }

  return {
    get run_id() {
      return run_id;
    },
    input,
    result: attempts(),
    abort(why) {
      cause ??= why;
      aborted.abort();
      running?.abort(why);
    },
  };
}

/** A list of calls that failed must not pass for one without bad calls. */
function checked({ fail_on }: RunRequest, result: RunResult, report: RunReport): AgentRunResult {
  const caught = caughtBy(fail_on, report, result.outcome.completeness);
  const failed = result.failed_views.find(({ view }) => view === REPORT);
  for (const condition of failed === undefined ? [] : fail_on)
    caught.push({ condition, message: `it could not be checked: ${failed?.why}`, calls: [] });
  return { ...result, report, caught };
}

/** Loaded only for runs that are sent. */
async function sentRun(request: RunRequest, input: AgentInput, watcher: RunWatcher) {
  const { live: config, state_dir, clock } = request;
  if (config === null) return null;
  const { SentRun } = await import('../live/sent-run.ts');
  return new SentRun(config, { state_dir, clock, input, say: (text) => watcher.live?.(text) });
}

function whyFailed({ outcome: { exit_reason, error_details } }: RunResult): string {
  const why = error_details?.message ? `${exit_reason}: ${error_details.message}` : exit_reason;
  return oneLine(why, WHY_CHARS_MAX);
}
