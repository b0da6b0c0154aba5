/** Options and notices of a sender. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Failure, ResendTimes } from './delivery.ts';
import type { Hello } from './link.ts';

/** The result of a `user_input`, `interrupt` or `tool_confirmation_response`. */
export type InputReply =
  | { taken: true }
  | { taken: false; why: string; state: string; allowed: readonly string[] };

/** News about a connection: made, lost, a clock difference, or a refusal by the collector. */
export type Notice =
  | { kind: 'connected' }
  | { kind: 'lost'; why: string; retry_ms: number }
  /** How far the collector's clock is ahead (LP-17); reported again when it changes. */
  | { kind: 'skew'; skew_ms: number }
  /** `final`: no further attempts, for this session or (null) for all sessions. */
  | ({ kind: 'refused'; session_id: string | null; final: boolean } & Failure);

export interface SenderTimes extends ResendTimes {
  retry_ms: number;
  retry_ms_max: number;
  hello_ms: number;
}

export interface SenderOptions {
  /** The signal aborts the attempt. */
  dial(signal: AbortSignal): Promise<Duplex>;
  token: string | null;
  client: Hello['client_info'];
  clock: Clock;
  random: RandomSource;
  times?: Partial<SenderTimes>;
  onInput?: (message: WireMessage) => InputReply | Promise<InputReply>;
  onNotice?: (notice: Notice) => void;
}
