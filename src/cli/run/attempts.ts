/** The attempts of `tacho run`, and who is shown which of them. */

import type { RunResult } from '../../app/run/close-run.ts';
import { type EventSink, type View, whyOf } from '../../app/run/recorder.ts';
import { prepareRun, type RunOptions, type RunRequest, randomOf } from '../../app/run/request.ts';
import { attemptAfter, FIRST_ATTEMPT, waitBefore, watchAttempt } from '../../app/run/retry.ts';
import { type RunControl, startRun } from '../../app/run/run.ts';
import { journalledEvents } from '../../app/runs/replay.ts';
import type { FdWriter } from '../../lib/fd-writer.ts';
import { forJson } from '../../lib/foreign-text.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import type { RunAttempt } from '../../model/parts.ts';
import { createPresenter } from '../present.ts';
import type { RunInput } from './action.ts';
import type { Signals } from './signals.ts';

const WHY_CHARS_MAX = 300;
/** Before the first retry, unless said otherwise. */
const RETRY_WAIT_SECONDS = 2;

/** `first`: the request of the first attempt. Returns what the last one came to, with everything shown. */
export async function runAttempts(
  show: Show,
  first: RunRequest,
  { options, retries }: { options: RunOptions; retries: number },
): Promise<RunResult> {
  let attempt = FIRST_ATTEMPT;
  let tried = await attemptRun(show, first, attempt.number > retries);
  while (attempt.number <= retries && tried.again && !show.signals.came()) {
    const next = attemptAfter(attempt, tried.result.outcome);
    if (!(await waited(show, { next, retries, tried }))) break;
    attempt = next;
    const again = await prepareRun({ ...options, attempt });
    tried = await attemptRun(show, again, attempt.number > retries);
  }
  if (tried.held) await showHeld(show, first, tried);
  return tried.result;
}

export interface Show {
  input: RunInput;
  events: FdWriter | null;
  signals: Signals;
  progress: { shown: boolean };
}

interface Tried {
  result: RunResult;
  /** Whether another attempt is worth it. */
  again: boolean;
  /** Whether nothing of it was printed yet. */
  held: boolean;
  /** What came last; where the journal failed, only here. */
  end: readonly Event[];
}

/**
 * One attempt. Records on stdout are of one run, with one end (RE-6, RE-12): those of an attempt that may not be the last
 * are held back, and come from the journal when it turns out to be.
 */
async function attemptRun(show: Show, request: RunRequest, last: boolean): Promise<Tried> {
  const { input, events, signals, progress } = show;
  const watch = watchAttempt();
  const held = !last && input.flags.output === 'json';
  const view = held ? null : await createView(input, request.cwd);
  let end: readonly Event[] = [];
  const views: View[] = [
    { name: 'the watch for retries', take: watch.sink },
    {
      name: 'the end of the attempt',
      take(batch) {
        end = batch;
        if (view !== null) progress.shown = true;
      },
    },
  ];
  if (view !== null) views.push({ name: view.name, take: view.sink });
  if (events !== null && last) views.push({ name: '--events', take: eventFile(events) });
  const live = await liveSink(show, request);
  if (live !== null) views.push({ name: 'the live session', take: live.sink });
  try {
    const control = await startRun(request, views);
    signals.to(control);
    live?.take(control);
    view?.interrupt.set(() => control.abort('SIGINT'));
    const result = await control.result;
    for (const { view: name, why } of result.failed_views)
      await warn(show, `${name} failed: ${why}; the run is recorded: see tacho replay`);
    return { result, again: watch.worthAnother(result.outcome), held: !last, end };
  } finally {
    await quietly(show, view?.name ?? '', () => view?.close());
    await quietly(show, 'the live session', () => live?.end());
  }
}

const warn = ({ input }: Show, text: string) =>
  input.io.err.write(`warning: ${oneLine(text, WHY_CHARS_MAX)}\n`);

/** The run is recorded by now: what fails is reported. */
async function quietly(
  show: Show,
  name: string,
  work: () => Promise<void> | undefined,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    await warn(show, `${name} failed: ${whyOf(error)}`);
  }
}

async function liveSink({ input }: Show, { live, state_dir, clock }: RunRequest) {
  if (live === null) return null;
  const { inputTo, startLiveRun } = await import('../../app/live/sent-run.ts');
  const say = (text: string) => void input.io.err.write(`tacho: ${oneLine(text, WHY_CHARS_MAX)}\n`);
  const run = startLiveRun(live, { state_dir, clock, say });
  const take = (control: RunControl) => run.onInput((message) => inputTo(control, message));
  return { sink: run.sink, end: () => run.end(), take };
}

/** Says why there is another attempt and when; false: a signal came meanwhile. */
async function waited(
  { input, signals }: Show,
  { next, retries, tried }: { next: RunAttempt; retries: number; tried: Tried },
): Promise<boolean> {
  const { flags, io } = input;
  const first_ms = Math.round((flags.retryWait ?? RETRY_WAIT_SECONDS) * 1000);
  const wait_ms = waitBefore(next.number, first_ms, randomOf(io.env));
  const { exit_reason, error_details } = tried.result.outcome;
  const why = error_details?.message ? `${exit_reason}: ${error_details.message}` : exit_reason;
  const when = `attempt ${next.number} of ${retries + 1} in ${(wait_ms / 1000).toFixed(1)} s`;
  await io.err.write(`tacho: ${oneLine(why, WHY_CHARS_MAX)}; ${when}\n`);
  return signals.pause(wait_ms);
}

/** What was held back, as it would have been printed. */
async function showHeld(show: Show, request: RunRequest, tried: Tried): Promise<void> {
  const { input, events, progress } = show;
  const { openStateDir } = await import('../../store/state-dir.ts');
  const view = input.flags.output === 'json' ? await createView(input, request.cwd) : null;
  let seq = 0;
  const put = async (event: Event) => {
    seq = event.seq;
    progress.shown ||= view !== null;
    await quietly(show, view?.name ?? '', async () => view?.sink([event]));
    if (events !== null) await eventFile(events)([event]);
  };
  const { run_id } = tried.result;
  for await (const event of journalledEvents(openStateDir(request.state_dir), run_id))
    await put(event);
  for (const event of tried.end) if (event.seq > seq) await put(event);
}

function eventFile(writer: FdWriter): EventSink {
  return (events) =>
    writer.write(forJson(events.map((event) => `${JSON.stringify(event)}\n`).join('')));
}

interface Shown {
  /** For people. */
  name: string;
  sink: EventSink;
  close(): Promise<void>;
  interrupt: { set(to: () => void): void };
}

async function createView({ flags, io }: RunInput, cwd: string): Promise<Shown> {
  let onInterrupt: () => void = () => {};
  const interrupt = {
    set(to: () => void) {
      onInterrupt = to;
    },
  };
  const stream = flags.stream ?? false;
  if (!flags.tui) {
    return {
      name: 'the output',
      sink: createPresenter(io, { output: flags.output, stream, cwd }),
      close: async () => {},
      interrupt,
    };
  }
  const { createTuiView } = await import('./tui-view.ts');
  return {
    name: 'the live view',
    ...createTuiView(io, {
      agent: flags.agent ?? flags.target ?? '',
      cwd,
      onInterrupt: () => onInterrupt(),
    }),
    interrupt,
  };
}
