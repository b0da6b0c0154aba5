/**
 * The collector: accepts connections, stores messages of agents, and forwards them to subscribers. It is independent of
 * transports and files.
 * Contract: a message is acknowledged only after the journal has stored it. A peer cannot affect other peers (LP-15).
 */

import type { Wire } from '../transports/listener.ts';
import { hasExpired } from './auth.ts';
import { flushAcks } from './commit.ts';
import { farewell, openConnection } from './connection.ts';
import { type Connection, Hub } from './hub.ts';
import type { CollectorOptions } from './options.ts';
import { abandonCalls } from './sessions.ts';

export class Collector {
  readonly #hub: Hub;
  readonly #timer: NodeJS.Timeout;

  constructor(options: CollectorOptions) {
    const hub = new Hub(options);
    const every_ms = Math.min(1_000, hub.limits.heartbeat_ms / 4);
    let looked_ms = hub.elapsed();
    this.#hub = hub;
    this.#timer = setInterval(() => {
      const now = hub.elapsed();
      look(hub, Math.max(0, now - looked_ms - every_ms));
      looked_ms = now;
    }, every_ms).unref();
  }

  accept(wire: Wire): void {
    openConnection(this.#hub, wire);
  }

  get counters(): Hub['counters'] {
    return this.#hub.counters;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#hub.connections.size;
  }

  /** Stops reading, waits until the journal has stored pending messages, acknowledges them, and closes connections. */
  async stop(): Promise<void> {
    const { connections, long_lines_timer } = this.#hub;
    this.#hub.stopping = true;
    clearInterval(this.#timer);
    if (long_lines_timer !== null) clearInterval(long_lines_timer);
    await Promise.all([...connections].map(dismiss));
  }
}

/**
 * Periodic work: heartbeats, silent peers, expired tokens, abandoned calls. `late_ms`: how long this process itself was
 * delayed, for example by a sleeping machine; peers are not blamed for that time.
 */
function look(hub: Hub, late_ms: number): void {
  for (const connection of hub.connections) {
    connection.heard_ms += late_ms;
    lookAt(connection);
  }
  abandonCalls(hub);
}

function lookAt(connection: Connection): void {
  const { hub, wire } = connection;
  const { heartbeat_ms, heartbeats_missed_max, hello_ms, hangup_ms } = hub.limits;
  const now = hub.elapsed();
  if (connection.phase === 'closing') {
    if (now - connection.closing_ms > hangup_ms) wire.stream.destroy();
  } else if (connection.phase === 'new') {
    if (now - connection.opened_ms <= hello_ms) return;
    connection.complain('CONNECTION_TIMEOUT', `no handshake within ${hello_ms} ms`);
    farewell(connection);
  } else if (hasExpired(connection.grant, hub.options.clock.now())) {
    connection.complain('AUTH_FAILED', 'the token of this connection has expired');
    farewell(connection);
  } else if (
    // A peer that we paused may still be alive; a peer that does not read counts as gone.
    !(connection.paused && connection.has_room) &&
    now - connection.heard_ms > heartbeat_ms * heartbeats_missed_max
  ) {
    const why = `no data for ${heartbeats_missed_max} heartbeat intervals`;
    const details = { timeout_duration_ms: heartbeat_ms * heartbeats_missed_max };
    connection.complain('CONNECTION_TIMEOUT', why, { details });
    wire.stream.destroy();
  } else if (now - connection.beat_ms >= heartbeat_ms) {
    connection.beat_ms = now;
    connection.sayIfRoom(hub.messageOf('heartbeat', {}));
  }
}

async function dismiss(connection: Connection): Promise<void> {
  const { stream } = connection.wire;
  const closed = new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
  stream.pause();
  while (connection.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  flushAcks(connection);
  farewell(connection);
  const hang = setTimeout(() => stream.destroy(), connection.hub.limits.hangup_ms / 4);
  await closed;
  clearTimeout(hang);
}
