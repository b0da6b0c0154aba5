/**
 * Decides which connections are accepted. Contract: silent peers take no place from others, and a peer on a transport
 * that only the owner can reach always finds a place (LP-15).
 */
import type { Wire } from '../transports/listener.ts';
import type { Connection } from './hub.ts';

/** Places for peers on transports that others can reach: some are reserved for private transports. */
export const othersMax = (places: number, kept: number) => places - Math.min(kept, places >> 2);

/** Whether there is no place for the last one of these wires. */
export function isCrowded(takers: readonly Wire[], places: number, kept: number): boolean {
  const others_max = othersMax(places, kept);
  const own = takers.filter((wire) => wire.private).length;
  const others = takers.length - own;
  if (own + Math.min(others, others_max) > places) return true;
  return takers.at(-1)?.private === false && others > others_max;
}

/** Null when the connection may stay. Without room, the oldest connection without a handshake is dropped first. */
export function refusalOf(connection: Connection): string | null {
  const { hub } = connection;
  if (hub.stopping) return 'the collector is shutting down: try again later';
  const { connections_max, private_connections, ungreeted_max } = hub.limits;
  const all = [...hub.connections];
  // The new connection is the last one.
  const open = all.filter(({ is_over }) => !is_over).map(({ wire }) => wire);
  const full = isCrowded(open, connections_max, private_connections);
  const silent = all.filter(
    ({ phase, wire }) => phase === 'new' && wire.private === connection.wire.private,
  );
  const [oldest = connection] = silent;
  if (full && oldest === connection)
    return `${connections_max} connections are open: try again later`;
  const strangers = connection.wire.private ? 0 : silent.length;
  if (full || strangers > ungreeted_max) drop(oldest);
  return null;
}

function drop(connection: Connection): void {
  const { hub, wire } = connection;
  hub.countLimit('ungreeted_max');
  const why = 'too many connections without a handshake: this was the oldest';
  const details = { max_capacity: hub.limits.ungreeted_max };
  connection.complain('CAPACITY_EXHAUSTED', why, { details });
  connection.phase = 'closing';
  wire.stream.end(() => wire.stream.destroy());
}
