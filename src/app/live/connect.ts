/** Sends the sessions of your own program to a collector. They are stored on disk until they are delivered. */

import { type Clock, systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { newRunId, systemRandom } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import { defined } from '../../lib/pick.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import { sendingUrl } from '../../live/protocol/address.ts';
import { compose, withBytes } from '../../live/protocol/compose.ts';
import { readText } from '../../live/protocol/messages.ts';
import type { SenderTimes } from '../../live/sender/types.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import type { AGENT_MESSAGE_TYPES, EXECUTION_STATUSES } from '../../model/live-words.ts';
import { createLiveRedaction, type LiveRedaction } from '../../redact/gate.ts';
import { openSecretHash } from '../../store/journal/hash.ts';
import { openStateDir, resolveStateDir, type StateDir } from '../../store/state-dir.ts';
import { openRedactor } from '../config/redaction.ts';
import { APP_LIMITS } from '../limits.ts';
import {
  CALL_FIELDS,
  CONNECT_FIELDS,
  type ConnectOptions,
  type LiveCall,
  SESSION_FIELDS,
  type SessionOptions,
} from './connect-options.ts';
import { livePaths } from './paths.ts';
import { LiveSender, type OutSession, type Undelivered } from './sender.ts';

export type { ConnectOptions, LiveCall, SessionOptions } from './connect-options.ts';

/** A type of message that an agent sends. */
export type AgentMessageType = (typeof AGENT_MESSAGE_TYPES)[number] | 'error';

/** The state of a running call. */
export type LiveStatus = (typeof EXECUTION_STATUSES)[number];

/** Options of `end`. */
export interface LiveEnd {
  /** Result of the session. Default: `'ok'`. */
  status?: string | undefined;
  /** Why the session ended. Default: none. */
  reason?: string | null | undefined;
  /** Figures of the whole session, such as tokens. Default: none. */
  totals?: Record<string, unknown> | undefined;
}

/** Bytes in `args` and results become `{ encoding: 'base64', data }`. Each method writes to the outbox and returns. */
export interface LiveSession {
  /** Id of the session. */
  readonly sessionId: string;
  /** Sends the request of a call. Returns the call's id. */
  request(call: LiveCall): string;
  /** Sends the state of a running call. */
  status(
    callId: string,
    status: LiveStatus,
    more?: { progress?: Record<string, unknown>; details?: Record<string, unknown> },
  ): void;
  /** Sends the end of a call: exactly one of `result` and `error`. */
  respond(
    callId: string,
    answer: { result: unknown } | { error: Record<string, unknown> },
    more?: { executionTimeMs?: number },
  ): void;
  /** Sends any other message of an agent. If a field breaks its rule, it throws and sends nothing. */
  send<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): void;
  /** Answers open calls with CANCELLED and ends the session. Nothing can be sent after that. */
  end(end?: LiveEnd): void;
}

/** A connection to a collector. */
export interface LiveConnection {
  /** Starts a session, or resumes it. */
  session(options: SessionOptions): LiveSession;
  /** Resolves with true once the collector has stored all messages, or with false after `waitMs`. Default: no time limit. */
  flush(waitMs?: number): Promise<boolean>;
  /** Ends the connection. Undelivered messages stay in the outbox for the next tacho, and are returned. */
  close(): Promise<Undelivered[]>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a connection to a collector and retries while it is unavailable. Throws a TachoError for invalid options. */
export function connect(options: ConnectOptions, times: Partial<SenderTimes> = {}): LiveConnection {
  checkOptions('connect', options, CONNECT_FIELDS);
  const { clock = systemClock, random = systemRandom, insecure = false, redact = [] } = options;
  const { token, tokenFile: token_file, ca, onInput, onNotice } = options;
  const state = openStateDir(resolveStateDir({ flag: options.stateDir, env: process.env }));
  const { outbox } = livePaths(state.path);
  const url = sendingUrl(options.url, insecure);
  const sending = { url, token, token_file, ca, outbox, onInput, onNotice, times };
  const live = new LiveSender({ ...sending, clock, random });
  const redaction = redactionOf(redact, state);
  const newId = (kind: string) => newRunId(clock.now(), random).replace(/^r/, kind);
  const speakers: Speaker[] = [];
  let closing: Promise<Undelivered[]> | null = null;
  const close = () => {
    if (closing === null) for (const speaker of speakers) speaker.rest();
    closing ??= live.close();
    return closing;
  };
  return {
    session(given) {
      checkOptions('session', given, SESSION_FIELDS);
      const { sessionId = newId('s'), parentSessionId: parent_session_id, ...own } = given;
      const start = defined({ ...own, parent_session_id }) as LiveDataOf<'session_start'>;
      const speaker = new Speaker(live.open(sessionId), { start, clock, newId, redaction });
      speakers.push(speaker);
      return speaker;
    },
    flush: (waitMs = APP_LIMITS.timeout_ms_max) => live.settled(waitMs),
    close,
    [Symbol.asyncDispose]: async () => void (await close()),
  };
}

function redactionOf(redact: readonly string[] | false, state: StateDir): LiveRedaction | null {
  if (redact === false) return null;
  const hash = openSecretHash(state);
  return createLiveRedaction(openRedactor({ env: process.env, redact, hash }));
}

interface SpeakerParts {
  redaction: LiveRedaction | null;
  start: LiveDataOf<'session_start'>;
  clock: Clock;
  newId(kind: string): string;
}

type Fields = Record<string, unknown>;

class Speaker implements LiveSession {
  readonly sessionId: string;
  readonly #out: OutSession;
  readonly #parts: SpeakerParts;
  readonly #open = new Set<string>();
  #at_ms = 0;

  constructor(out: OutSession, parts: SpeakerParts) {
    this.sessionId = out.session_id;
    this.#out = out;
    this.#parts = parts;
    if (out.next_seq === 1) this.send('session_start', { ...parts.start });
  }

  request(call: LiveCall): string {
    checkOptions('request', call, CALL_FIELDS);
    const { callId: call_id = this.#parts.newId('c'), name, args = {} } = call;
    const { nativeName: native_name = null, clientInitiated: is_client_initiated = false } = call;
    this.send('tool_call_request', { call_id, name, native_name, args, is_client_initiated });
    return call_id;
  }

  status(...[call_id, status, more = {}]: Parameters<LiveSession['status']>): void {
    const { progress = null, details = null } = more;
    this.send('tool_execution_status', { call_id, status, progress, details });
  }

  respond(...[call_id, answer, more = {}]: Parameters<LiveSession['respond']>): void {
    const { executionTimeMs: execution_time_ms = null } = more;
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
    // The original is checked first: a bad message must not change the held-back part of a text.
    this.#textOf(this.#compose(type, carried));
    for (const part of redaction.messages(this.sessionId, type, carried as Fields))
      this.#put(part.type as T, part.data as LiveDataOf<T>);
  }

  #compose<T extends AgentMessageType>(type: T, data: LiveDataOf<T>): LiveMessage<T> {
    if (this.#out.outbox.ended) throw wrong(`session ${this.sessionId} has ended`);
    this.#at_ms = Math.max(this.#at_ms, this.#parts.clock.now());
    const numbered = { session_id: this.sessionId, seq: this.#out.next_seq, at_ms: this.#at_ms };
    return compose(type, data, numbered);
  }

  #textOf(message: LiveMessage): string {
    const text = jsonOf(message);
    const { fault } = readText(text);
    if (fault !== null) throw wrong(fault.message);
    if (Buffer.byteLength(text) > LIMITS.live_message_bytes_max)
      throw wrong(`a message may have at most ${LIMITS.live_message_bytes_max} bytes`);
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

  /** Sends the rest of unfinished texts. */
  rest(): void {
    if (this.#out.outbox.ended) return;
    for (const { data } of this.#parts.redaction?.held(this.sessionId) ?? [])
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
    throw wrong(`${message.type}: its data cannot be written as JSON: ${(error as Error).message}`);
  }
}

const wrong = (text: string) => new TachoError('usage', text, { stage: 'live' });
