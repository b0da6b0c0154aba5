/** Sends sessions of your own program to a collector, over the live protocol. */
import {
  type ConnectOptions,
  type LiveConnection,
  connect as openConnection,
} from './app/live/connect.ts';

export type {
  AgentMessageType,
  ConnectOptions,
  LiveCall,
  LiveConnection,
  LiveEnd,
  LiveSession,
  LiveStatus,
  SessionOptions,
} from './app/live/connect.ts';
export type { Undelivered } from './app/live/sender.ts';
export type { Clock } from './lib/clock.ts';
export { type ErrorCode, TachoError } from './lib/errors.ts';
export type { RandomSource } from './lib/ids.ts';
export type { Failure as LiveFailure } from './live/sender/delivery.ts';
export type { InputReply, Notice } from './live/sender/types.ts';
export type { LiveData, LiveDataOf, LiveMessage, WireMessage } from './model/live.ts';
export type { LiveType } from './model/live-words.ts';

/** Opens a connection to a collector and retries while it is unavailable. Throws a TachoError for invalid options. */
export const connect = (options: ConnectOptions): LiveConnection => openConnection(options);
