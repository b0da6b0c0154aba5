/** Options of a collector: the journal, the judge and the limits. */
import type { Clock } from '../../lib/clock.ts';
import { LIMITS } from '../../lib/limits.ts';
import { LIVE_LIMITS } from '../limits.ts';
import type { LiveErrorCode } from '../protocol/errors.ts';
import type { ReadMessage } from '../protocol/messages.ts';
import type { Tokens } from './auth.ts';

/** The journal's source of messages of agents. */
export const LIVE_SOURCE = 'live';

export interface StoredMessage {
  session: string;
  source: string;
  seq: number;
  body: string;
}

/** A message as it arrived, for the journal: the line's bytes. */
export type ArrivedMessage = Omit<StoredMessage, 'body'> & { body: Buffer };
export type AppendResult = 'stored' | 'duplicate' | 'conflict' | 'gap';

export interface LiveBatch<E extends ArrivedMessage> {
  /** Resolves only after all of it is synced to disk. */
  answer: Promise<AppendResult[]>;
  put(entry: E): void;
}

interface LiveJournal {
  /**
   * Collects the entries that are put into it in the same turn. `onPlaced` is called for each as soon as its order is
   * fixed, immediately or later; from then on its bytes are not needed. Only `answer` means that it is durable.
   */
  batch<E extends ArrivedMessage>(onPlaced: (entry: E, result: AppendResult) => void): LiveBatch<E>;
  lastSeq(session: string, source: string): Promise<number>;
}

type StoredFilter = (entry: Omit<StoredMessage, 'body'>) => boolean;

/** Reads stored messages, each reader at its own pace. */
interface LiveReader {
  /** From the beginning, or only new messages; until the signal aborts. */
  follow(
    from: 'start' | 'now',
    signal: AbortSignal,
    filter: StoredFilter,
  ): AsyncIterable<StoredMessage>;
  /** All stored messages of one session, in order. */
  session(id: string): AsyncIterable<StoredMessage>;
}

/** Feeds the conformance rules. Must not throw. */
interface Board {
  /**
   * Takes the lines that a peer is allowed to send: messages placed in the journal, its own control messages, and
   * faulty lines of a session that it sends for. `received_ms`: null when the line waited before it was read.
   */
  take(read: ReadMessage, context: { received_ms: number | null; connection: string }): void;
  /** The answers of the collector to these lines: acknowledgements, handshakes, errors. */
  sent(text: string): void;
  /** All other lines of peers. They are counted by the code of the answer and not judged. */
  refused(code: LiveErrorCode): void;
  /** Sets whether a connection owns the session. */
  held(session_id: string, held: boolean): void;
}

export const COLLECTOR_LIMITS = {
  ...LIVE_LIMITS,
  message_bytes_max: LIMITS.live_message_bytes_max,
  sessions_max: LIMITS.live_sessions_max,
  open_calls_max: LIMITS.live_open_calls_max,
  calls_max: LIMITS.live_calls_max,
  call_chars_max: LIMITS.live_call_chars_max,
  abandoned_ms: LIMITS.live_abandoned_ms,
  skew_ms_max: LIMITS.live_skew_ms_max,
} as const;
export type CollectorLimits = Record<keyof typeof COLLECTOR_LIMITS, number>;

export interface CollectorOptions {
  journal: LiveJournal;
  reader: LiveReader;
  clock: Clock;
  newSessionId: () => string;
  /** Version of the program, for `server_info`. */
  version: string;
  /** Null when no token is required. */
  tokens: Tokens | null;
  board?: Board | undefined;
  limits?: Partial<CollectorLimits> | undefined;
}
