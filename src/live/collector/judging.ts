/**
 * What the rules see of what peers send. A line of a peer that may not speak for a session must not change its verdict
 * (LP-15): such lines are refused, and only counted.
 */

import type { ReadMessage } from '../protocol/messages.ts';
import type { Arrival, Connection } from './hub.ts';

/** A message that was taken. */
export function judge({ hub, id }: Connection, arrival: Arrival): void {
  const { message, text, received_ms } = arrival;
  hub.options.board?.take({ fault: null, message, text }, { received_ms, connection: id });
}

/** A message of the connection itself; of a session only where the peer sends for it. */
export function judgeControl(connection: Connection, arrival: Arrival): void {
  const { session_id } = arrival.message;
  if (!session_id || connection.hub.sessions.get(session_id)?.owner === connection)
    judge(connection, arrival);
}

/** A line with a fault: true where it is its sender's, and was judged. */
export function judgeFault(
  connection: Connection,
  read: ReadMessage,
  received_ms: number | null,
): boolean {
  const { hub } = connection;
  const session_id = (read.message as { session_id?: unknown } | null)?.session_id;
  const named = typeof session_id === 'string' && session_id !== '';
  const own = named
    ? hub.sessions.get(session_id)?.owner === connection
    : connection.role === 'agent' && connection.is_sender;
  if (connection.phase !== 'open' || !own) return false;
  hub.options.board?.take(read, { received_ms, connection: connection.id });
  return true;
}
