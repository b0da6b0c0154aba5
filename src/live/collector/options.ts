/** What a collector is given: where messages are kept, who judges them, its limits. */
import type { Clock } from '../../lib/clock.ts';
import { LIMITS } from '../../lib/limits.ts';
import { LIVE_LIMITS } from '../limits.ts';
import type { LiveErrorCode } from '../protocol/errors.ts';
import type { ReadMessage } from '../protocol/messages.ts';
import type { Tokens } from './auth.ts';

/** The journal's source of what agents sent. */
export const LIVE_SOURCE = 'live';

export interface StoredMessage {
  session: string;
  source: string;
  seq: number;
  body: string;
}

/** A message as it came, for the journal: the line's bytes. */
export type ArrivedMessage = Omit<StoredMessage, 'body'> & { body: Buffer };
export type AppendResult = 'stored' | 'duplicate' | 'conflict' | 'gap';

export interface LiveBatch<E extends ArrivedMessage> {
  /** Resolves only after all of it is synced. */
  answer: Promise<AppendResult[]>;
  put(entry: E): void;
}

/** Where messages are kept. */
interface LiveJournal {
  /**
   * Takes what is put into it in the same turn. `onPlaced` is called for each as soon as it has its place among the others,
   * at once or later; from then on its bytes are not needed. Only `answer` says that it is durable.
   */
  batch<E extends ArrivedMessage>(onPlaced: (entry: E, result: AppendResult) => void): LiveBatch<E>;
  lastSeq(session: string, source: string): Promise<number>;
}

type StoredFilter = (entry: Omit<StoredMessage, 'body'>) => boolean;

/** Reads what is kept, at each reader's own pace. */
interface LiveReader {
  /** From the beginning, or only what is stored from now on; until the signal aborts. */
  follow(
    from: 'start' | 'now',
    signal: AbortSignal,
    filter: StoredFilter,
  ): AsyncIterable<StoredMessage>;
  /** All that is kept of one session, in order. */
  session(id: string): AsyncIterable<StoredMessage>;
}

/** Rules count here. Must not throw. */
interface Board {
  /**
   * What a peer said that may say it: messages that have their place in the journal, control messages of its own, and
   * faulty lines of a session that it sends for. `received_ms`: null where it lay waiting.
   */
  take(read: ReadMessage, context: { received_ms: number | null; connection: string }): void;
  /** What the collector answers to these: acknowledgements, handshakes, errors. */
  sent(text: string): void;
  /** Everything else that peers send. It is counted by the code of its answer, and judged by no rule. */
  refused(code: LiveErrorCode): void;
  /** Whether a connection sends for the session from now on. */
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
  /** Of the program, for `server_info`. */
  version: string;
  /** Null: none is asked for. */
  tokens: Tokens | null;
  board?: Board | undefined;
  limits?: Partial<CollectorLimits> | undefined;
}
