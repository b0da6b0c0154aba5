/**
 * Who may connect. Contract: peers that say nothing take no place from those that do, and whoever comes on a transport
 * that only the owner can reach finds a place, whatever others do (LP-15).
 */
import { type Connection, complain, countLimit, type Hub } from './hub.ts';

/** Connections on transports that others can reach: some places are kept for the private ones. */
export const othersMax = (connections_max: number, private_connections: number) =>
  connections_max - Math.min(private_connections, connections_max >> 2);

/** Null: the connection may stay. Where there is no room, the oldest that has not said hello goes first. */
export function refusalOf(hub: Hub, connection: Connection): string | null {
  if (hub.stopping) return 'the collector is about to end: try again later';
  const { connections_max, ungreeted_max } = hub.limits;
  const full = isFull(hub, connection);
  const silent = [...hub.connections].filter(
    ({ phase, wire }) => phase === 'new' && wire.private === connection.wire.private,
  );
  const [oldest = connection] = silent;
  if (full && oldest === connection)
    return `${connections_max} connections are open: try again later`;
  const strangers = connection.wire.private ? 0 : silent.length;
  if (full || strangers > ungreeted_max) drop(hub, oldest);
  return null;
}

function isFull({ connections, limits }: Hub, { wire }: Connection): boolean {
  const { connections_max, private_connections } = limits;
  const others_max = othersMax(connections_max, private_connections);
  let own = 0;
  let others = 0;
  for (const { phase, wire: each } of connections) {
    if (phase === 'closing' || phase === 'closed') continue;
    if (each.private) own += 1;
    else others += 1;
  }
  if (own + Math.min(others, others_max) > connections_max) return true;
  return !wire.private && others > others_max;
}

function drop(hub: Hub, connection: Connection): void {
  countLimit(hub, 'ungreeted_max');
  complain(hub, connection, 'CAPACITY_EXHAUSTED', {
    message: 'too many connections wait for a handshake: this was the oldest of them',
    details: { max_capacity: hub.limits.ungreeted_max },
  });
  connection.phase = 'closing';
  const { stream } = connection.wire;
  stream.end(() => stream.destroy());
}
