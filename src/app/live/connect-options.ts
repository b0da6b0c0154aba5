/** Options of a connection to a collector, and of the sessions and calls on it. */
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import { aClock, aFunction } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { InputReply, Notice } from '../../live/sender/types.ts';
import type { WireMessage } from '../../model/live.ts';

/** Options of `connect`. */
export interface ConnectOptions {
  /** Address of the collector: `unix:PATH`, `tcp://HOST:PORT`, `tls://HOST:PORT` or `pipe:PATH`. */
  url: string;
  /** The token itself. Undelivered messages then wait in the outbox for a sender that has it. */
  token?: string | null | undefined;
  /** File with the token. */
  tokenFile?: string | null | undefined;
  /** File with the certificates that the collector's certificate is checked against. */
  ca?: string | null | undefined;
  /** Allow `tcp://` to another machine: the token and all messages are sent unencrypted. Default: false. */
  insecure?: boolean | undefined;
  /** State folder that holds the outbox. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /**
   * Patterns of secrets to redact before anything is stored or sent, in addition to the known shapes of keys and the values
   * of secret-looking variables. False: redact nothing. Default: none in addition.
   */
  redact?: readonly string[] | false | undefined;
  /** Receives `user_input`, `interrupt` and `tool_confirmation_response`. Default: they are refused. */
  onInput?: ((message: WireMessage) => InputReply | Promise<InputReply>) | undefined;
  /** Receives lost connections, clock differences and refusals. */
  onNotice?: ((notice: Notice) => void) | undefined;
  /** Source of time. Default: the system clock. */
  clock?: Clock | undefined;
  /** Source of random bytes. Default: the system. */
  random?: RandomSource | undefined;
}

/** Options of `session`. */
export interface SessionOptions {
  /** Name of the agent. */
  agent: string;
  /** Name of the model. */
  model?: string | null | undefined;
  /** Working directory of the agent. */
  cwd?: string | null | undefined;
  /** Shown and filtered by subscribers. */
  labels?: Record<string, unknown> | null | undefined;
  /** Session that started this one. */
  parentSessionId?: string | null | undefined;
  /** Default: a new id. An unfinished session in the outbox is resumed. */
  sessionId?: string | undefined;
}

/** A call to send with `request`. */
export interface LiveCall {
  /** Default: a new id. */
  callId?: string | undefined;
  /** Name of the tool. */
  name: string;
  /** Input of the call. Default: none. */
  args?: Record<string, unknown> | undefined;
  /** Name of the tool in the agent's own words. */
  nativeName?: string | null | undefined;
  /** Whether the client, not the model, asked for the call. Default: false. */
  clientInitiated?: boolean | undefined;
}

type Table<O> = Readonly<Record<keyof O, is.Fields[string]>>;

const textOrNull = is.orNull(is.anyText);

export const CONNECT_FIELDS = {
  url: is.required(is.text),
  token: textOrNull,
  tokenFile: textOrNull,
  ca: textOrNull,
  insecure: is.flag,
  stateDir: is.anyText,
  redact: is.when((value) => value === false, is.anything, is.texts),
  onInput: aFunction,
  onNotice: aFunction,
  clock: aClock,
  random: aFunction,
} as const satisfies Table<ConnectOptions>;

export const SESSION_FIELDS = {
  agent: is.required(is.text),
  model: textOrNull,
  cwd: textOrNull,
  labels: is.orNull(is.map),
  parentSessionId: textOrNull,
  sessionId: is.text,
} as const satisfies Table<SessionOptions>;

export const CALL_FIELDS = {
  callId: is.text,
  name: is.required(is.text),
  args: is.map,
  nativeName: textOrNull,
  clientInitiated: is.flag,
} as const satisfies Table<LiveCall>;
