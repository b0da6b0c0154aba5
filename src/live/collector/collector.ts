/**
 * The collector: takes connections, keeps what agents send, tells subscribers. It knows no transport and no file.
 * Contract: a message is acknowledged only after the journal has it; whatever one peer does touches no other (LP-15).
 */

import { LIMITS } from '../../lib/limits.ts';
import type { Wire } from '../transports/listener.ts';
import { hasExpired } from './auth.ts';
import { farewell, openConnection } from './connection.ts';
import {
  type CollectorOptions,
  type Connection,
  type Counters,
  complain,
  createHub,
  type Hub,
  hasRoom,
  messageOf,
  sayIfRoom,
} from './hub.ts';
import { flushAcks } from './intake.ts';
import { abandonCalls } from './sessions.ts';

export type { Board, CollectorOptions, LiveReader } from './hub.ts';

export interface Collector {
  accept(wire: Wire): void;
  readonly counters: Counters;
  /** Connections now open. */
  readonly open: number;
  /** Reads nothing more; waits for what is with the journal, acknowledges it, and says goodbye. */
  stop(): Promise<void>;
}

export function createCollector(options: CollectorOptions): Collector {
  const hub = createHub(options);
  const every_ms = Math.min(1_000, hub.limits.heartbeat_ms / 4);
  let looked_ms = options.clock.elapsed();
  const timer = setInterval(() => {
    const now = options.clock.elapsed();
    look(hub, Math.max(0, now - looked_ms - every_ms));
    looked_ms = now;
  }, every_ms);
  timer.unref();
  return {
    accept: (wire) => openConnection(hub, wire),
    counters: hub.counters,
    get open() {
      return hub.connections.size;
    },
    async stop() {
      hub.stopping = true;
      clearInterval(timer);
      if (hub.long_lines_timer !== null) clearInterval(hub.long_lines_timer);
      await Promise.all([...hub.connections].map((connection) => dismiss(hub, connection)));
    },
  };
}

/**
 * What time brings: heartbeats, peers that are gone, tokens that expire, calls without a sign of life. `late_ms`: how long
 * this process itself was held up, as by a sleeping machine; for that time nobody else is to blame.
 */
function look(hub: Hub, late_ms: number): void {
  for (const connection of hub.connections) {
    connection.heard_ms += late_ms;
    lookAt(hub, connection);
  }
  abandonCalls(hub);
}

function lookAt(hub: Hub, connection: Connection): void {
  const { clock } = hub.options;
  const { heartbeat_ms, heartbeats_missed_max, hello_ms } = hub.limits;
  const now = clock.elapsed();
  if (connection.phase === 'closing') {
    if (now - connection.closing_ms > LIMITS.live_hangup_ms) connection.wire.stream.destroy();
  } else if (connection.phase === 'new') {
    if (now - connection.opened_ms <= hello_ms) return;
    const message = `no handshake within ${hello_ms} ms`;
    complain(hub, connection, 'CONNECTION_TIMEOUT', { message });
    farewell(hub, connection);
  } else if (hasExpired(connection.grant, clock.now())) {
    complain(hub, connection, 'AUTH_FAILED', {
      message: 'the token of this connection has expired',
    });
    farewell(hub, connection);
  } else if (
    // One that is not read for want of room on our side may well live; one that does not read is gone.
    !(connection.paused && hasRoom(hub, connection)) &&
    now - connection.heard_ms > heartbeat_ms * heartbeats_missed_max
  ) {
    const message = `nothing was heard for ${heartbeats_missed_max} heartbeats`;
    const details = { timeout_duration_ms: heartbeat_ms * heartbeats_missed_max };
    complain(hub, connection, 'CONNECTION_TIMEOUT', { message, details });
    connection.wire.stream.destroy();
  } else if (now - connection.beat_ms >= heartbeat_ms) {
    connection.beat_ms = now;
    sayIfRoom(hub, connection, messageOf(hub, 'heartbeat', {}));
  }
}

async function dismiss(hub: Hub, connection: Connection): Promise<void> {
  const { stream } = connection.wire;
  const closed = new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
  stream.pause();
  while (connection.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  flushAcks(hub, connection);
  farewell(hub, connection);
  const hang = setTimeout(() => stream.destroy(), LIMITS.live_hangup_ms / 4);
  await closed;
  clearTimeout(hang);
}
