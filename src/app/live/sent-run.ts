/**
 * A run's events on their way to a collector (LP-8). Contract: the sink writes to the outbox and returns; whatever goes
 * wrong with the collector or the outbox is said and never touches the run.
 */

import type { Clock } from '../../lib/clock.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { WireMessage } from '../../live/protocol/messages.ts';
import type { InputAnswer, SenderTimes } from '../../live/sender/sender.ts';
import type { Event } from '../../model/event.ts';
import { createLiveProjector, type LiveProjector } from '../../projections/live/live.ts';
import type { EventSink, View } from '../run/recorder.ts';
import type { LiveRunConfig, RunRequest } from '../run/request.ts';
import { type RunControl, startRun } from '../run/run.ts';
import { refused } from '../run/run-input.ts';
import { livePaths } from './paths.ts';
import {
  type LiveSender,
  noticeText,
  type OutSession,
  openLive,
  undeliveredText,
} from './sender.ts';

export interface LiveRunOptions {
  state_dir: string;
  clock: Clock;
  say(text: string): void;
  times?: Partial<SenderTimes>;
}

export interface LiveRun {
  sink: EventSink;
  /** Takes input for the run from now on; before that every input is refused. */
  onInput(take: (message: WireMessage) => InputAnswer | Promise<InputAnswer>): void;
  /** Waits a moment for the last acknowledgements and says what is not delivered. */
  end(): Promise<void>;
}

/** The name of a run's way to its collector. */
export const LIVE_VIEW = 'the live session';

const NOT_YET: InputAnswer = refused('starting', 'the agent does not run yet');

type Talk = Pick<RunControl, 'say' | 'interrupt' | 'confirm'>;

/** A client's message as what it asks of a run (LP-14). */
export function inputTo(control: Talk, { type, data }: WireMessage): InputAnswer {
  switch (type) {
    case 'user_input':
      return control.say(data.content as string);
    case 'interrupt':
      return control.interrupt((data.reason as string | null | undefined) ?? null);
    default: {
      const message = (data.message as string | null | undefined) ?? null;
      return control.confirm(data.call_id as string, data.confirmed as boolean, message);
    }
  }
}

/** Throws a TachoError for an address or a token file that cannot be used. */
export function startLiveRun(config: LiveRunConfig, options: LiveRunOptions): LiveRun {
  return new SentRun(config, options);
}

/** Starts a run that is sent to its collector as well, where it has one; its result waits for the last acknowledgements. */
export async function startSentRun(
  request: RunRequest,
  views: readonly View[],
  say: (text: string) => void,
): Promise<RunControl> {
  const { live: config, state_dir, clock } = request;
  if (config === null) return startRun(request, views);
  const live = startLiveRun(config, { state_dir, clock, say });
  try {
    const control = await startRun(request, [...views, { name: LIVE_VIEW, take: live.sink }]);
    live.onInput((message) => inputTo(control, message));
    return { ...control, result: control.result.finally(() => live.end()) };
  } catch (error) {
    await live.end();
    throw error;
  }
}

class SentRun implements LiveRun {
  readonly #config: LiveRunConfig;
  readonly #options: LiveRunOptions;
  readonly #live: LiveSender;
  #take: (message: WireMessage) => InputAnswer | Promise<InputAnswer> = () => NOT_YET;
  #session: OutSession | null = null;
  #projector: LiveProjector | null = null;
  #timer: NodeJS.Timeout | null = null;
  #broken = false;
  #said_lost = false;

  constructor(config: LiveRunConfig, options: LiveRunOptions) {
    this.#config = config;
    this.#options = options;
    const { url, token_file, ca } = config;
    this.#live = openLive({
      url,
      token_file,
      ca,
      outbox: livePaths(options.state_dir).outbox,
      times: options.times,
      onInput: (message) => this.#take(message),
      onNotice: (notice) => {
        // Once is enough: what is not delivered in the end is said then.
        if (notice.kind === 'lost' && this.#said_lost) return;
        this.#said_lost ||= notice.kind === 'lost';
        const text = noticeText(notice);
        if (text !== null) options.say(`live: ${text}`);
      },
    });
  }

  readonly sink: EventSink = (events) => {
    this.#guarded(() => {
      for (const event of events) this.#push(event);
    });
  };

  onInput(take: (message: WireMessage) => InputAnswer | Promise<InputAnswer>): void {
    this.#take = take;
  }

  #push(event: Event): void {
    const { call_timeout_ms, trace } = this.#config;
    this.#session ??= this.#live.open(event.run_id);
    this.#projector ??= createLiveProjector({ session_id: event.run_id, call_timeout_ms, trace });
    // Apart, so that a recovery can tell what an event brought from what time did.
    this.#session.say(this.#projector.tick(event.at_ms - 1));
    this.#session.say(this.#projector.push(event), event.seq);
    this.#arm();
  }

  #arm(): void {
    const due_ms = this.#projector?.due_ms ?? null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (due_ms === null || this.#broken) return;
    const wait_ms = Math.min(Math.max(due_ms - this.#options.clock.now(), 1), MOST_MS);
    this.#timer = setTimeout(() => this.#guarded(() => this.#tick()), wait_ms);
  }

  #tick(): void {
    this.#session?.say(this.#projector?.tick(this.#options.clock.now()) ?? []);
    this.#arm();
  }

  /** A full disk or outbox ends the sending, not the run; a recovery or nobody goes on with it. */
  #guarded(work: () => void): void {
    if (this.#broken) return;
    try {
      work();
    } catch (error) {
      this.#broken = true;
      this.#options.say(`live: nothing more is sent: ${(error as Error).message}`);
    }
  }

  async end(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    // A collector that is away will not come back just now.
    const wait_ms = this.#live.connected ? LIMITS.live_last_acks_ms : LIMITS.live_deliver_ms;
    await this.#live.settled(wait_ms);
    for (const left of await this.#live.close())
      this.#options.say(`live: ${undeliveredText(left)}`);
  }
}

/** A fixed clock never comes to the moment; the timer looks again. */
const MOST_MS = 10_000;
