/** The library's way to a collector: sessions of one's own program, kept on disk until they are delivered. */

import { type Clock, systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { newRunId, systemRandom } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import { sendingUrl } from '../../live/protocol/address.ts';
import { compose, withBytes } from '../../live/protocol/compose.ts';
import { readText } from '../../live/protocol/messages.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import type { AGENT_MESSAGE_TYPES, EXECUTION_STATUSES } from '../../model/live-words.ts';
import { createLiveRedaction, type LiveRedaction } from '../../redact/gate.ts';
import { openSecretHash } from '../../store/journal/hash.ts';
import { openStateDir, resolveStateDir, type StateDir } from '../../store/state-dir.ts';
import { openRedactor } from '../config/redaction.ts';
import { APP_LIMITS } from '../limits.ts';
import { livePaths } from './paths.ts';
import { LiveSender, type LiveSenderOptions, type OutSession, type Undelivered } from './sender.ts';

export interface ConnectOptions extends Omit<LiveSenderOptions, 'url' | 'outbox'> {
  /** Allows `tcp://` to another machine: the token and all messages are sent unencrypted. */
  insecure?: boolean | undefined;
  /** The state folder that holds the outbox. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  state_dir?: string | undefined;
  /**
   * What is redacted before it is stored or sent, beyond known shapes of keys and secret-looking variables of the process:
   * more patterns. False: everything is sent as it is.
   */
  redact?: readonly string[] | false | undefined;
}

export interface SessionOptions {
  agent: string;
  model?: string | null;
  cwd?: string | null;
  labels?: Record<string, unknown> | null;
  parent_session_id?: string | null;
  /** Default: a new one. An unfinished session in the outbox is resumed. */
  session_id?: string;
}

type AgentMessageType = (typeof AGENT_MESSAGE_TYPES)[number] | 'error';

export interface LiveCall {
  /** Default: a new one. */
  call_id?: string;
  name: string;
  args?: Record<string, unknown>;
  native_name?: string | null;
  is_client_initiated?: boolean;
}

/** Bytes in `args` and results become `{ encoding: 'base64', data }`. Each call writes to the outbox and returns. */
export interface LiveSession {
  readonly session_id: string;
  /** Returns the call's id. */
  request(call: LiveCall): string;
  status(
    call_id: string,
    status: (typeof EXECUTION_STATUSES)[number],
    more?: { progress?: Record<string, unknown>; details?: Record<string, unknown> },
  ): void;
  /** Exactly one of `result` and `error`. */
  respond(
    call_id: string,
    answer: { result: unknown } | { error: Record<string, unknown> },
    more?: { execution_time_ms?: number },
  ): void;
  send<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): void;
  /** Answers open calls with CANCELLED and ends the session. Nothing can be said after it. */
  end(end?: { status?: string; reason?: string | null; totals?: Record<string, unknown> }): void;
}

export interface LiveConnection {
  session(options: SessionOptions): LiveSession;
  /** Resolves with true when everything said is stored at the collector, with false when the time is over. */
  flush(wait_ms?: number): Promise<boolean>;
  /** Ends the connection; what is not delivered stays in the outbox for the next tacho, and is returned. */
  close(): Promise<Undelivered[]>;
}

export function connect(url: string, options: ConnectOptions = {}): LiveConnection {
  const { clock = systemClock, random = systemRandom, insecure = false, redact = [] } = options;
  const state = openStateDir(resolveStateDir({ flag: options.state_dir, env: process.env }));
  const { outbox } = livePaths(state.path);
  const live = new LiveSender({
    ...options,
    clock,
    random,
    url: sendingUrl(url, insecure),
    outbox,
  });
  const redaction = redactionOf(redact, state);
  const newId = (kind: string) => newRunId(clock.now(), random).replace(/^r/, kind);
  const speakers: Speaker[] = [];
  return {
    session(given) {
      const { session_id = newId('s'), ...start } = given;
      const speaker = new Speaker(live.open(session_id), { start, clock, newId, redaction });
      speakers.push(speaker);
      return speaker;
    },
    flush: (wait_ms = APP_LIMITS.timeout_ms_max) => live.settled(wait_ms),
    close: () => {
      for (const speaker of speakers) speaker.rest();
      return live.close();
    },
  };
}

function redactionOf(redact: readonly string[] | false, state: StateDir): LiveRedaction | null {
  if (redact === false) return null;
  const hash = openSecretHash(state);
  return createLiveRedaction(openRedactor({ env: process.env, redact, hash }));
}

interface SpeakerParts {
  redaction: LiveRedaction | null;
  start: Omit<SessionOptions, 'session_id'>;
  clock: Clock;
  newId(kind: string): string;
}

type Fields = Record<string, unknown>;

class Speaker implements LiveSession {
  readonly session_id: string;
  readonly #out: OutSession;
  readonly #parts: SpeakerParts;
  readonly #open = new Set<string>();
  #at_ms = 0;

  constructor(out: OutSession, parts: SpeakerParts) {
    this.session_id = out.session_id;
    this.#out = out;
    this.#parts = parts;
    if (out.next_seq === 1) this.send('session_start', { ...parts.start });
  }

  request(call: LiveCall): string {
    const { call_id = this.#parts.newId('c'), name, args = {}, native_name = null } = call;
    const is_client_initiated = call.is_client_initiated ?? false;
    this.send('tool_call_request', { call_id, name, native_name, args, is_client_initiated });
    return call_id;
  }

  status(...[call_id, status, more = {}]: Parameters<LiveSession['status']>): void {
    const { progress = null, details = null } = more;
    this.send('tool_execution_status', { call_id, status, progress, details });
  }

  respond(...[call_id, answer, more = {}]: Parameters<LiveSession['respond']>): void {
    const { execution_time_ms = null } = more;
    const { result = null, error = null } = answer as { result?: unknown; error?: object | null };
    const data = { call_id, result, error: error as Record<string, unknown>, execution_time_ms };
    this.send('tool_call_response', data);
  }

  send<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): void {
    const { redaction } = this.#parts;
    const carried = withBytes(data) as LiveDataOf<T>;
    if (redaction === null) {
      this.#put(type, carried);
      return;
    }
    // Checked first as it was given: a bad message must not change what is held back of a text.
    this.#textOf(this.#compose(type, carried));
    for (const part of redaction.messages(this.session_id, type, carried as Fields))
      this.#put(part.type as T, part.data as LiveDataOf<T>);
  }

  #compose<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): LiveMessage<T> {
    if (this.#out.outbox.ended) throw wrong(`session ${this.session_id} has ended`);
    this.#at_ms = Math.max(this.#at_ms, this.#parts.clock.now());
    const numbered = { session_id: this.session_id, seq: this.#out.next_seq, at_ms: this.#at_ms };
    return compose(type, data, numbered);
  }

  #textOf(message: LiveMessage): string {
    const text = jsonOf(message);
    const { fault } = readText(text);
    if (fault !== null) throw wrong(fault.message);
    if (Buffer.byteLength(text) > LIMITS.live_message_bytes_max)
      throw wrong(`a message may have ${LIMITS.live_message_bytes_max} bytes`);
    return text;
  }

  #put<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): void {
    const message = this.#compose(type, data) as LiveMessage;
    const text = this.#textOf(message);
    this.#out.put([{ seq: this.#out.next_seq, type, text }]);
    const { call_id } = message.data as { call_id?: string };
    if (type === 'tool_call_request') this.#open.add(call_id as string);
    if (type === 'tool_call_response') this.#open.delete(call_id as string);
  }

  /** Texts that did not end are sent in full. */
  rest(): void {
    if (this.#out.outbox.ended) return;
    for (const { data } of this.#parts.redaction?.held(this.session_id) ?? [])
      this.#put('content_block_delta', data as LiveDataOf<'content_block_delta'>);
  }

  end(end: Parameters<LiveSession['end']>[0] = {}): void {
    const { status = 'ok', reason = null, totals = null } = end;
    const error = { code: 'CANCELLED', message: 'the session ended before the call did' };
    for (const call_id of [...this.#open]) this.respond(call_id, { error });
    this.send('session_end', { status, reason, totals });
  }
}

function jsonOf(message: LiveMessage): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    throw wrong(`${message.type}: no JSON can be made of its data: ${(error as Error).message}`);
  }
}

const wrong = (text: string) => new TachoError('usage', text, { stage: 'live' });
