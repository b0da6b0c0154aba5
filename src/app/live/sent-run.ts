/**
 * Sends a run's events to a collector (LP-8). Contract: the sink writes to the outbox and returns. Failures of the
 * collector or the outbox are reported and never affect the run.
 */

import type { Clock } from '../../lib/clock.ts';
import type { WireMessage } from '../../live/protocol/messages.ts';
import type { Confirmation } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { LiveProjector } from '../../projections/live/live.ts';
import { APP_LIMITS } from '../limits.ts';
import { type View, whyOf } from '../run/recorder.ts';
import type { AgentInput, InputAnswer } from '../run/run-input.ts';
import type { LiveRunConfig } from './destination.ts';
import { livePaths } from './paths.ts';
import { LiveSender, noticeText, type OutSession, undeliveredText } from './sender.ts';

interface SentRunOptions {
  state_dir: string;
  clock: Clock;
  /** The agent that gets input from the collector. */
  input: AgentInput;
  say(text: string): void;
}

/** Passes a client's message to a run (LP-14). */
function inputTo(agent: AgentInput, { type, data }: WireMessage): InputAnswer {
  switch (type) {
    case 'user_input':
      return agent.say(data.content as string);
    case 'interrupt':
      return agent.interrupt((data.reason as string | null | undefined) ?? null);
    default: {
      const { call_id, confirmed, message = null } = data as unknown as Confirmation;
      return agent.confirm({ call_id, confirmed, message });
    }
  }
}

/** The constructor throws a TachoError for an unusable address or token file. */
export class SentRun {
  readonly #config: LiveRunConfig;
  readonly #options: SentRunOptions;
  readonly #live: LiveSender;
  #session: OutSession | null = null;
  #projector: LiveProjector | null = null;
  #timer: NodeJS.Timeout | null = null;
  #broken = false;
  #said_lost = false;

  constructor(config: LiveRunConfig, options: SentRunOptions) {
    this.#config = config;
    this.#options = options;
    const { url, token_file, ca } = config;
    this.#live = new LiveSender({
      url,
      token_file,
      ca,
      outbox: livePaths(options.state_dir).outbox,
      onInput: (message) => inputTo(options.input, message),
      onNotice: (notice) => {
        // Once is enough: undelivered messages are reported at the end.
        if (notice.kind === 'lost' && this.#said_lost) return;
        this.#said_lost ||= notice.kind === 'lost';
        const text = noticeText(notice);
        if (text !== null) options.say(`live: ${text}`);
      },
    });
  }

  readonly view: View = {
    name: 'the live session',
    take: (events) =>
      this.#guarded(() => {
        for (const event of events) this.#push(event);
      }),
  };

  #push(event: Event): void {
    const { call_timeout_ms, trace } = this.#config;
    this.#session ??= this.#live.open(event.run_id);
    this.#projector ??= new LiveProjector({ session_id: event.run_id, call_timeout_ms, trace });
    // Separately, so that a recovery can distinguish messages made from an event from those made by time.
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

  /** A full disk or outbox ends the sending, not the run. A recovery may continue it. */
  #guarded(work: () => void): void {
    if (this.#broken) return;
    try {
      work();
    } catch (error) {
      this.#broken = true;
      this.#options.say(`live: nothing more is sent: ${(error as Error).message}`);
    }
  }

  /** Waits briefly for the last acknowledgements and reports undelivered messages. */
  async end(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      // An unavailable collector is unlikely to return just now.
      const wait_ms = this.#live.connected
        ? APP_LIMITS.live_last_acks_ms
        : APP_LIMITS.live_deliver_ms;
      await this.#live.settled(wait_ms);
      for (const left of await this.#live.close())
        this.#options.say(`live: ${undeliveredText(left)}`);
    } catch (error) {
      this.#options.say(`live: the session could not be closed: ${whyOf(error)}`);
    }
  }
}

/** A fixed clock never reaches the time, so the timer checks again. */
const MOST_MS = 10_000;
