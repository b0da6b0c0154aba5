/** Composes messages with number, time and ids. */
import { LIMITS } from '../../lib/limits.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import { CALL_MESSAGE_TYPES, type LiveType } from '../../model/live-words.ts';

export const timestampOf = (at_ms: number) => new Date(at_ms).toISOString();
export const correlationOf = (session_id: string, call_id: string) => `${session_id}/${call_id}`;
export const messageIdOf = (session_id: string, seq: number) => `${session_id}-${seq}`;

interface Numbered {
  session_id: string;
  seq: number;
  at_ms: number;
}

/** A session's message with all fields of the envelope. */
export function compose<T extends LiveType>(
  type: T,
  data: LiveDataOf<T>,
  { session_id, seq, at_ms }: Numbered,
): LiveMessage<T> {
  const { call_id } = data as { call_id?: unknown };
  return {
    type,
    timestamp: timestampOf(at_ms),
    session_id,
    correlation_id:
      CALL_MESSAGE_TYPES.has(type) && typeof call_id === 'string'
        ? correlationOf(session_id, call_id)
        : null,
    message_id: messageIdOf(session_id, seq),
    seq,
    // The sender needs to know when it is stored.
    ack_required: true,
    trace: null,
    data,
  };
}

/** Messages of a session as they are sent, numbered starting at `from`. */
export function numbered(session_id: string, from: number, messages: readonly LiveMessage[]) {
  return messages.map((message, i) => {
    const seq = from + i;
    const mine = { ...message, seq, message_id: messageIdOf(session_id, seq) };
    return { seq, type: message.type, text: JSON.stringify(mine) };
  });
}

export interface ControlIds {
  at_ms: number;
  message_id: string;
  session_id?: string | null;
  correlation_id?: string | null;
}

/** A control message: it belongs to the connection and has no number. */
export function control<T extends LiveType>(
  type: T,
  data: LiveDataOf<T>,
  { at_ms, message_id, session_id = null, correlation_id = null }: ControlIds,
): LiveMessage<T> {
  const timestamp = timestampOf(at_ms);
  const unnumbered = { seq: null, ack_required: false, trace: null };
  return { type, timestamp, session_id, correlation_id, message_id, ...unnumbered, data };
}

/** Encodes bytes for the protocol: text stays text, bytes become base64 (LP-2). */
export function withBytes(value: unknown, depth: number = LIMITS.depth_max): unknown {
  if (value instanceof Uint8Array)
    return {
      encoding: 'base64',
      data: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'),
    };
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => withBytes(item, depth - 1));
  // A value with its own toJSON, such as a date, is left alone.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withBytes(item, depth - 1)]),
  );
}
