/**
 * Decides which lines of peers the rules see. A line of a peer that may not send for a session must not change the
 * verdict on that session (LP-15): such lines are refused and only counted.
 */

import type { ReadMessage } from '../protocol/messages.ts';
import type { Arrival, Connection } from './hub.ts';

/** Judges an accepted message. */
export function judge({ hub, id }: Connection, arrival: Arrival): void {
  const { message, text, received_ms } = arrival;
  hub.options.board?.take({ fault: null, message, text }, { received_ms, connection: id });
}

/** Judges a control message. One that names a session is judged only when the peer owns the session. */
export function judgeControl(connection: Connection, arrival: Arrival): void {
  const { session_id } = arrival.message;
  if (!session_id || connection.hub.sessions.get(session_id)?.owner === connection)
    judge(connection, arrival);
}

/** Judges a faulty line if it belongs to a session that the peer sends for. Returns whether it was judged. */
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
