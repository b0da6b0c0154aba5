/** What a sender is given and reports. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Failure, ResendTimes } from './delivery.ts';
import type { Hello } from './link.ts';

/** What became of a `user_input`, `interrupt` or `tool_confirmation_response`. */
export type InputReply =
  | { taken: true }
  | { taken: false; why: string; state: string; allowed: readonly string[] };

export type Notice =
  | { kind: 'connected' }
  | { kind: 'lost'; why: string; retry_ms: number }
  /** How far the collector's clock is ahead (LP-17); reported again when it changes. */
  | { kind: 'skew'; skew_ms: number }
  /** `final`: nothing more is tried, for this session or (null) for all. */
  | ({ kind: 'refused'; session_id: string | null; final: boolean } & Failure);

export interface SenderTimes extends ResendTimes {
  retry_ms: number;
  retry_ms_max: number;
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
