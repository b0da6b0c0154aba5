/**
 * One connection to a collector, from the handshake to its end: frames, heartbeats, the comparison of clocks.
 * Contract: it ends once, with a reason; a peer that is silent for three heartbeats counts as gone (LP-11).
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import type { LiveDataOf } from '../../model/live.ts';
import { LIVE_LIMITS } from '../limits.ts';
import { control } from '../protocol/compose.ts';
import { readMessage, type WireMessage } from '../protocol/messages.ts';

export type Hello = LiveDataOf<'handshake_request'>;
export type Welcome = LiveDataOf<'handshake_response'>;

export interface LinkOptions {
  hello: Hello;
  clock: Clock;
  hello_ms: number;
  /** Prefix of the ids of its own messages. */
  name: string;
  /** `text`: the line as it arrived. */
  onMessage(message: WireMessage, text: string): void;
  /** Difference between the collector's clock and ours, in ms: positive when it is ahead (LP-17). */
  onSkew(skew_ms: number): void;
}

export function refusalIn({ error }: Welcome): { error_code: string; message: string } {
  const { error_code = 'REFUSED', message = 'the collector refused the handshake' } = error ?? {};
  return { error_code, message };
}

/** An error of the collector for people, with what to do about a token. */
export function errorText({ error_code, message }: { error_code: string; message: string }) {
  if (error_code !== 'AUTH_FAILED') return `the collector reports ${error_code}: ${message}`;
  return `the collector refused the connection (${error_code}): ${message}: give a valid token with --token-file (tacho run: --live-token-file)`;
}

/** The collector refused the handshake. */
export class Refused extends TachoError {
  /** The inherited comparison by name holds for every TachoError. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return TachoError[Symbol.hasInstance](value) && Object.hasOwn(value as object, 'error_code');
  }

  readonly error_code: string;
  readonly reason: string;

  constructor(error_code: string, reason: string) {
    super('refused', errorText({ error_code, message: reason }), {
      stage: 'live',
      retryable: error_code !== 'AUTH_FAILED',
    });
    this.error_code = error_code;
    this.reason = reason;
  }
}

export class Link {
  readonly #wire: Duplex;
  readonly #options: LinkOptions;
  #welcome: ((welcome: Welcome) => void) | null = null;
  #seen: number;
  #beat: NodeJS.Timeout | null = null;
  #count = 0;
  #asked = 0;
  /** Estimated age of the collector's timestamps when we read them, measured at the handshake. */
  #half_trip_ms = 0;
  #why: Error | null = null;
  #drained: (() => void)[] = [];
  readonly #end = Promise.withResolvers<Error>();
  /** Resolves with the reason when the connection has ended. */
  readonly ended = this.#end.promise;

  constructor(wire: Duplex, options: LinkOptions) {
    this.#wire = wire;
    this.#options = options;
    this.#seen = options.clock.elapsed();
    const lines = createLines(
      {
        line: (bytes, start, stop) => this.#line(bytes, start, stop),
        oversize: () => this.close(new Error('the collector sent a message over the limit')),
      },
      LIMITS.live_message_bytes_max,
    );
    wire.on('data', (chunk: Buffer) => lines.push(chunk));
    wire.on('drain', () => this.#release());
    wire.on('error', (error: Error) => this.close(error));
    wire.on('end', () => this.close(new Error('the collector closed the connection')));
    wire.on('close', () => this.close(new Error('the connection was closed')));
  }

  get gone(): boolean {
    return this.#why !== null;
  }

  /** Sends the handshake and waits for the answer; rejects with `Refused` when the collector refuses it. */
  async open(): Promise<Welcome> {
    const { hello, hello_ms, clock } = this.#options;
    this.#asked = clock.elapsed();
    const { promise: answer, resolve } = Promise.withResolvers<Welcome>();
    this.#welcome = resolve;
    const timer = setTimeout(
      () => this.close(new Error(`no answer to the handshake in ${hello_ms / 1000} s`)),
      hello_ms,
    );
    this.say('handshake_request', hello);
    const welcome = await Promise.race([
      answer,
      this.ended.then((why) => {
        throw why;
      }),
    ]).finally(() => clearTimeout(timer));
    if (!welcome.success) {
      const { error_code, message } = refusalIn(welcome);
      this.close(new Error(message));
      throw new Refused(error_code, message);
    }
    this.#keepAlive(welcome.heartbeat_interval_ms || LIVE_LIMITS.heartbeat_ms);
    return welcome;
  }

  #keepAlive(interval_ms: number): void {
    const { clock } = this.#options;
    this.#beat = setInterval(() => {
      if (clock.elapsed() - this.#seen > interval_ms * LIVE_LIMITS.heartbeats_missed_max)
        this.close(new Error('three heartbeats of the collector were missed'));
      else this.say('heartbeat', {});
    }, interval_ms);
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (this.gone) return;
    this.#seen = this.#options.clock.elapsed();
    const read = readMessage(bytes, start, end);
    // An unreadable line is a fault of the collector; nothing here waits for it.
    if (read.fault !== null) return;
    const { message } = read;
    if (message.type === 'handshake_response' && this.#welcome !== null) {
      this.#half_trip_ms = (this.#seen - this.#asked) / 2;
      this.#compare(message.timestamp);
      this.#welcome(message.data as unknown as Welcome);
      this.#welcome = null;
    } else if (message.type === 'heartbeat') this.#compare(message.timestamp);
    else this.#options.onMessage(message, read.text);
  }

  #compare(timestamp: string): void {
    const at_ms = isoTime(timestamp);
    if (at_ms === undefined) return;
    this.#options.onSkew(Math.round(at_ms + this.#half_trip_ms - this.#options.clock.now()));
  }

  /** Asks where another session continues; the answer arrives as a message. Returns the id of the request. */
  resume(session_id: string, last_seq: number): string {
    this.say('handshake_request', { ...this.#options.hello, resume: { session_id, last_seq } });
    return `${this.#options.name}-${this.#count}`;
  }

  /** Sends a message of the connection itself. */
  say<T extends 'handshake_request' | 'heartbeat' | 'error'>(
    type: T,
    data: LiveDataOf<T>,
    session_id: string | null = null,
  ): void {
    this.#count += 1;
    const { name, clock } = this.#options;
    const ids = { at_ms: clock.now(), message_id: `${name}-${this.#count}`, session_id };
    this.send(JSON.stringify(control(type, data, ids)));
  }

  /** False when the caller must wait for `drained` before sending more. */
  send(text: string): boolean {
    if (this.gone) return false;
    return this.#wire.write(`${text}\n`);
  }

  drained(): Promise<void> {
    if (this.gone || !this.#wire.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #release(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  close(why: Error): void {
    if (this.#why !== null) return;
    this.#why = why;
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#release();
    this.#end.resolve(why);
    // Written data is still sent, but a peer that does not read is not waited for.
    this.#wire.end();
    const timer = setTimeout(() => this.#wire.destroy(), LINGER_MS);
    this.#wire.once('close', () => clearTimeout(timer));
    this.#wire.once('finish', () => this.#wire.destroy());
  }
}

const LINGER_MS = 500;
