/** What a sender is given and gives back. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Failure } from './delivery.ts';
import type { Hello } from './link.ts';

/** What became of a `user_input`, `interrupt` or `tool_confirmation_response`. */
export type InputReply =
  | { taken: true }
  | { taken: false; why: string; state: string; allowed: readonly string[] };

export type Notice =
  | { kind: 'connected' }
  | { kind: 'lost'; why: string; retry_ms: number }
  /** The collector's clock is ahead by so much (LP-17); told again when it changes. */
  | { kind: 'skew'; skew_ms: number }
  /** `final`: nothing more is tried, for this session or (null) for all. */
  | ({ kind: 'refused'; session_id: string | null; final: boolean } & Failure);

export interface SenderTimes {
  retry_ms: number;
  retry_ms_max: number;
  resend_ms: number;
  resend_ms_max: number;
  hello_ms: number;
}

export interface SenderOptions {
  /** The signal says that nobody wants the wire any more. */
  dial(signal: AbortSignal): Promise<Duplex>;
  token: string | null;
  client: Hello['client_info'];
  clock: Clock;
  random: RandomSource;
  times?: Partial<SenderTimes>;
  onInput?: (message: WireMessage) => InputReply | Promise<InputReply>;
  onNotice?: (notice: Notice) => void;
}

export interface SenderSession {
  readonly acked: number;
  /** Everything that is there is acknowledged. */
  readonly done: boolean;
  readonly failure: Failure | null;
  /** There are new messages. */
  wake(): void;
  /** Resolves when all that is there is acknowledged (true), or it cannot be, or the time is over. */
  settled(wait_ms: number): Promise<boolean>;
  /** Resolves when more is acknowledged (true), or cannot be now, or the time is over. */
  moved(wait_ms: number): Promise<boolean>;
}
