/** Watches a collector as a client: across lost connections, in order, each message once (LP-10, LP-11). */
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { LIVE_LIMITS } from '../../live/limits.ts';
import { type Address, addressText } from '../../live/protocol/address.ts';
import { control } from '../../live/protocol/compose.ts';
import type { WireMessage } from '../../live/protocol/messages.ts';
import { ReadCursors } from '../../live/read-cursors.ts';
import { Link, Refused } from '../../live/sender/link.ts';
import { dial } from '../../live/transports/dial.ts';
import type { LiveDataOf } from '../../model/live.ts';
import { LIVE_VERSION } from '../../model/live-words.ts';
import { takeLock } from '../../store/lock.ts';
import { APP_LIMITS } from '../limits.ts';
import { isOf, isPart, type TailFilter, wanted } from './stored.ts';

type Shown = (message: WireMessage, text: string) => Promise<void>;

export interface TailOptions extends TailFilter {
  address: Address;
  version: string;
  token: string | null;
  ca: string | null;
  /** Whether to continue after all stored messages were received. */
  follow: boolean;
  signal: AbortSignal;
  show: Shown;
  /** Receives notices about the connection itself. */
  note(text: string): void;
  /** Called with the address after each successful connection. */
  onConnected?: ((address: string) => void) | undefined;
  clock?: Clock;
  retry_ms?: number;
}

/** Runs until aborted, or until everything stored was received. A failing first connection is an error. */
export async function tail(options: TailOptions): Promise<void> {
  const { signal, note, address, retry_ms = LIVE_LIMITS.retry_ms } = options;
  const watcher = new Watcher(options);
  let wait_ms = retry_ms;
  for (let first = true; !signal.aborted; first = false) {
    try {
      const why = await watcher.watch(first);
      if (why === null) break;
      wait_ms = retry_ms;
      note(`${addressText(address)}: ${why.message}; reconnecting`);
    } catch (error) {
      const final = error instanceof Refused && !error.retryable;
      if (signal.aborted) break;
      if (first || final) throw placed(error as Error, address);
      wait_ms = Math.min(wait_ms * 2, LIVE_LIMITS.retry_ms_max);
    }
    await sleep(wait_ms, undefined, { signal }).catch(() => {});
  }
  await watcher.shown();
}

/** The same error with the address, as a failure of the connection. */
function placed(error: Error, address: Address): TachoError {
  const place = addressText(address);
  if (error instanceof TachoError && !(error instanceof Refused)) return error;
  const clear = address.kind === 'tcp' && !address.tls && !(error instanceof Refused);
  const help = clear ? `: if it uses TLS, use ${place.replace(/^tcp[^:]*/, 'tls')}` : '';
  const code = error instanceof Refused ? error.code : 'busy';
  return new TachoError(code, `${place}: ${error.message}${help}`, { stage: 'live', cause: error });
}

class Watcher {
  readonly #options: TailOptions;
  readonly #clock: Clock;
  readonly #cursors = new ReadCursors();
  #shown: Promise<void> = Promise.resolve();
  #waiting_bytes = 0;
  /** The last numbers of sessions that the collector announced, if only stored messages are wanted. */
  readonly #stored = new Map<string, number>();
  #count = 0;

  constructor(options: TailOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Resolves when everything received has been shown. */
  shown(): Promise<void> {
    return this.#shown;
  }

  /** Runs one connection to its end. Returns why it ended, or null if there is nothing more to wait for. */
  async watch(first: boolean): Promise<Error | null> {
    await this.#shown;
    const { address, ca, signal } = this.#options;
    const wire = await dial(address, { ca, lock: takeLock });
    const state = { received_ms: 0, behind: new Set<string>() };
    const { version, token } = this.#options;
    const client_info = { name: 'tacho', version, capabilities: [] };
    const link = new Link(wire, {
      hello: { version: LIVE_VERSION, role: 'client', client_info, resume: null, token },
      clock: this.#clock,
      hello_ms: LIVE_LIMITS.hello_ms,
      name: `tail-${process.pid}`,
      onSkew: () => undefined,
      onMessage: (message, text) => {
        state.received_ms = this.#clock.elapsed();
        this.#take(message, text, { link, wire, first, behind: state.behind });
      },
    });
    const stop = () => link.close(new Error('stopped'));
    signal.addEventListener('abort', stop);
    try {
      await link.open();
      this.#options.onConnected?.(addressText(address));
      state.received_ms = this.#clock.elapsed();
      this.#subscribe(link, first);
      const all_received = this.#options.follow ? null : this.#quiet(state, link);
      const why = await (all_received === null
        ? link.ended
        : Promise.race([link.ended, all_received]));
      return signal.aborted ? null : why;
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  #subscribe(link: Link, first: boolean): void {
    const { sessions, from } = this.#options;
    const session_ids = sessions?.some(isPart) ? null : (sessions?.slice() ?? null);
    this.#say(link, { session_ids, types: null, from_seq: from });
    if (first || from !== null) return;
    // Only new messages were requested: messages sent during a lost connection are requested by number.
    this.#cursors.settle();
    this.#catchUp(link, this.#cursors.unfinished());
  }

  #catchUp(link: Link, session_ids: string[]): void {
    if (session_ids.length === 0) return;
    const from_seq = Math.min(...session_ids.map((id) => this.#cursors.have(id))) + 1;
    this.#say(link, { session_ids, types: null, from_seq });
  }

  #say(link: Link, filter: NonNullable<LiveDataOf<'subscribe_events'>['filter']>): void {
    this.#count += 1;
    const message_id = `tail-${process.pid}-s${this.#count}`;
    const at_ms = this.#clock.now();
    link.send(JSON.stringify(control('subscribe_events', { filter }, { at_ms, message_id })));
  }

  #take(message: WireMessage, text: string, on: On): void {
    const { type, session_id, seq } = message;
    if (session_id != null && !isOf(this.#options, session_id)) return;
    if (session_id == null || seq == null) {
      this.#aside(message, text, on);
      return;
    }
    const passed = this.#cursors.pass(session_id, seq, type);
    if (passed === 'early' && !on.behind.has(session_id)) {
      on.behind.add(session_id);
      if (on.behind.size > CATCH_UPS_MAX) on.link.close(new Error('too much was missed'));
      else this.#catchUp(on.link, [session_id]);
    }
    if (passed !== 'new' || !wanted(this.#options, type)) return;
    this.#show(message, text, on.wire);
  }

  /** Handles the collector's own messages. */
  #aside(message: WireMessage, text: string, on: On): void {
    const { type, session_id, data } = message;
    if (type === 'error') this.#options.note(`the collector reports: ${data.message}`);
    if (type !== 'session_state' || session_id == null) return;
    const last_seq = Number(data.last_seq);
    if (data.status === 'lost' && wanted(this.#options, type)) this.#show(message, text, on.wire);
    const { from, follow } = this.#options;
    if (!follow && last_seq >= (from ?? 0)) this.#stored.set(session_id, last_seq);
    if (from !== null) return;
    if (on.first) this.#cursors.begin(session_id, last_seq);
    else if (last_seq > this.#cursors.have(session_id) && !on.behind.has(session_id)) {
      on.behind.add(session_id);
      this.#catchUp(on.link, [session_id]);
    }
  }

  /** Shows messages in order. While too much waits for the screen, nothing more is read. */
  #show(message: WireMessage, text: string, wire: Duplex): void {
    this.#waiting_bytes += text.length;
    if (this.#waiting_bytes > APP_LIMITS.live_unshown_bytes_max) wire.pause();
    this.#shown = this.#shown.then(async () => {
      if (!this.#options.signal.aborted) await this.#options.show(message, text);
      this.#waiting_bytes -= text.length;
      if (wire.isPaused() && this.#waiting_bytes <= APP_LIMITS.live_unshown_bytes_max / 2)
        wire.resume();
    });
  }

  /** Resolves with null if the collector has been silent for a while, longer if it has announced more. */
  async #quiet(state: { received_ms: number }, link: Link): Promise<null> {
    while (!link.gone) {
      const more = [...this.#stored].some(([id, seq]) => this.#cursors.have(id) < seq);
      const enough_ms = more ? APP_LIMITS.live_silence_ms_max : APP_LIMITS.live_silence_ms;
      const quiet_ms = this.#clock.elapsed() - state.received_ms;
      if (quiet_ms >= enough_ms && this.#waiting_bytes === 0) break;
      await sleep(QUIET_LOOK_MS);
    }
    return null;
  }
}

/** Interval of the checks whether the collector is silent. */
const QUIET_LOOK_MS = 100;

interface On {
  link: Link;
  wire: Duplex;
  first: boolean;
  /** Sessions with missing messages that have been requested. */
  behind: Set<string>;
}

/** Far below the number of subscriptions that a connection may have. */
const CATCH_UPS_MAX = 32;
