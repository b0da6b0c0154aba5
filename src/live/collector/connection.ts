/**
 * One peer: bytes in, lines, messages, answers out.
 * Contract: nothing a peer sends throws or reaches another peer's state; what it may hold in memory is bounded, and beyond
 * that it is read no further until there is room.
 */

import { LIMITS } from '../../lib/limits.ts';
import { createLines, type OversizeLine } from '../../lib/lines.ts';
import { type ReadMessage, readMessage } from '../protocol/messages.ts';
import type { Wire } from '../transports/listener.ts';
import { refusalOf } from './admission.ts';
import { FULL_GRANT } from './auth.ts';
import { greet } from './handshake.ts';
import {
  type Arrival,
  type Connection,
  complain,
  countLimit,
  type Hub,
  hasRoom,
  newId,
} from './hub.ts';
import { commit, flushAcks, isOver, replenish, spend, takeMessage } from './intake.ts';
import { judgeFault } from './judging.ts';
import { placeLine, waitsForPlace, watchLines } from './long-lines.ts';
import { loseSessions } from './sessions.ts';
import { endSubscriptions } from './subscriptions.ts';

/**
 * A web page can make a browser send a request to a port of this machine, with a body of the page's choice. Its word and
 * its address may be of any kind and length, with braces too; the end of the line gives it away.
 */
const HTTP = / HTTP\/\d(?:\.\d)?\s*$/;
const HTTP_END_BYTES = 20;

export function openConnection(hub: Hub, wire: Wire): void {
  const now = hub.options.clock.elapsed();
  const connection: Connection = {
    id: newId(hub, 'connection'),
    wire,
    lines: createLines(
      {
        line: (bytes, start, end) => takeLine(hub, connection, bytes.subarray(start, end)),
        oversize: (line) => takeOversize(hub, connection, line),
      },
      hub.limits.message_bytes_max,
    ),
    phase: 'new',
    grant: FULL_GRANT,
    role: 'agent',
    ended: false,
    held: [],
    hello_bytes: 0,
    hello_lines: 0,
    faulty_lines: 0,
    is_sender: false,
    line_refused: false,
    batch: [],
    pending: 0,
    pending_bytes: 0,
    credits: hub.limits.credits,
    over_told: false,
    paused: false,
    acks: new Map(),
    opened_ms: now,
    heard_ms: now,
    beat_ms: now,
    closing_ms: 0,
    skews_ms: [],
    skew_told_ms: null,
    room: (wire.private ? hub.room : hub.room_for_others).part(1 / 4),
    subscriptions: new Set(),
    drain: null,
    window: null,
    refill: null,
  };
  hub.connections.add(connection);
  hub.counters.connections += 1;
  listen(hub, connection);
  const refused = refusalOf(hub, connection);
  if (refused === null) return;
  countLimit(hub, 'connections_max');
  const details = { max_capacity: hub.limits.connections_max };
  complain(hub, connection, 'CAPACITY_EXHAUSTED', { message: refused, details });
  farewell(hub, connection);
}

function listen(hub: Hub, connection: Connection): void {
  const { stream } = connection.wire;
  stream.on('data', (chunk: Buffer) => takeBytes(hub, connection, chunk));
  stream.on('end', () => {
    connection.ended = true;
    connection.lines.end();
    after(hub, connection);
  });
  stream.on('drain', () => steer(hub, connection));
  stream.on('error', () => stream.destroy());
  stream.on('close', () => {
    connection.phase = 'closed';
    hub.connections.delete(connection);
    for (const other of placeLine(hub, connection)) steer(hub, other);
    endSubscriptions(connection);
    if (connection.pending === 0) loseSessions(hub, connection);
  });
}

function takeBytes(hub: Hub, connection: Connection, chunk: Buffer): void {
  if (hub.stopping) return;
  connection.heard_ms = hub.options.clock.elapsed();
  if (connection.phase === 'new') connection.hello_bytes += chunk.length;
  connection.lines.push(chunk);
  if (connection.phase === 'new' && connection.hello_bytes > hub.limits.hello_bytes_max)
    refuseStranger(hub, connection, 'hello_bytes_max', 'bytes');
  for (const other of placeLine(hub, connection)) steer(hub, other);
  watchLines(hub, (other) => steer(hub, other));
  after(hub, connection);
}

function refuseStranger(
  hub: Hub,
  connection: Connection,
  limit: 'hello_bytes_max' | 'hello_lines_max',
  unit: string,
): void {
  countLimit(hub, limit);
  const message = `no handshake in the first ${hub.limits[limit]} ${unit}`;
  complain(hub, connection, 'AUTH_FAILED', { message });
  farewell(hub, connection);
}

/** What every piece of input leads to, and every commit. */
function after(hub: Hub, connection: Connection): void {
  commit(hub, connection, () => {
    after(hub, connection);
    for (const other of hub.connections) if (other.paused) steer(hub, other);
  });
  replenish(hub, connection);
  steer(hub, connection);
  if (connection.pending > 0) return;
  if (connection.phase === 'closed') {
    loseSessions(hub, connection);
  } else if (connection.ended && connection.phase !== 'greeting') {
    flushAcks(hub, connection);
    farewell(hub, connection);
  }
}

/** Reads on, or does not, by what waits. */
function steer(hub: Hub, connection: Connection): void {
  const { stream } = connection.wire;
  const { pending_bytes_max } = hub.limits;
  const full =
    connection.pending_bytes > pending_bytes_max ||
    hub.pending_bytes > LIMITS.live_pending_all_bytes_max ||
    !hasRoom(hub, connection) ||
    waitsForPlace(hub, connection) ||
    isOver(hub, connection);
  const pause = connection.phase === 'greeting' || (full && connection.phase === 'open');
  if (pause === connection.paused) return;
  connection.paused = pause;
  connection.heard_ms = hub.options.clock.elapsed();
  if (pause) stream.pause();
  else stream.resume();
}

function takeLine(hub: Hub, connection: Connection, line: Buffer): void {
  const { phase } = connection;
  if (phase === 'greeting') {
    connection.held.push(Buffer.from(line));
    return;
  }
  if (phase === 'closing' || phase === 'closed') return;
  if (phase === 'new' && HTTP.test(line.toString('latin1', line.length - HTTP_END_BYTES))) {
    connection.phase = 'closing';
    connection.wire.stream.destroy();
    return;
  }
  hub.counters.messages += 1;
  const read = readMessage(line);
  // What lay waiting while we started came at a time that nobody knows.
  const waiting = phase === 'new' && connection.wire.waited_ms > 0;
  takeRead(hub, connection, read, waiting ? null : hub.options.clock.now());
}

function takeRead(
  hub: Hub,
  connection: Connection,
  read: ReadMessage,
  received_ms: number | null,
): void {
  spend(connection, read.message?.type);
  connection.faulty_lines = read.fault === null ? 0 : connection.faulty_lines + 1;
  if (read.fault !== null) {
    const { code, message, details, field } = read.fault;
    const named = field === null ? details : { field, ...details };
    const judged = judgeFault(hub, connection, read, received_ms);
    complain(hub, connection, code, { message, details: named, about: read.message, judged });
  } else if (read.message.type === 'handshake_request') {
    void welcome(hub, connection, { ...read, received_ms });
    return;
  } else if (connection.phase === 'new') {
    const message = 'handshake first: nothing else is taken before';
    complain(hub, connection, 'AUTH_FAILED', { message, about: read.message, severity: 'error' });
  } else takeMessage(hub, connection, { ...read, received_ms });
  if (connection.faulty_lines > hub.limits.faulty_lines_max) refuseNoise(hub, connection);
  if (connection.phase !== 'new') return;
  connection.hello_lines += 1;
  if (connection.hello_lines > hub.limits.hello_lines_max)
    refuseStranger(hub, connection, 'hello_lines_max', 'lines');
}

function refuseNoise(hub: Hub, connection: Connection): void {
  countLimit(hub, 'faulty_lines_max');
  const message = `${hub.limits.faulty_lines_max} lines in a row are no messages: nothing more is read`;
  complain(hub, connection, 'INVALID_MESSAGE_FORMAT', { message });
  farewell(hub, connection);
}

async function welcome(hub: Hub, connection: Connection, arrival: Arrival): Promise<void> {
  const again = connection.phase === 'open';
  connection.phase = 'greeting';
  const taken = await greet(hub, connection, arrival, again);
  if ((connection.phase as string) !== 'greeting') return;
  // Of several sessions that one is refused touches no other.
  if (!taken && !again) {
    connection.held = [];
    connection.phase = 'open';
    farewell(hub, connection);
    return;
  }
  connection.phase = 'open';
  const { held } = connection;
  connection.held = [];
  for (const line of held) takeLine(hub, connection, line);
  after(hub, connection);
}

function takeOversize(hub: Hub, connection: Connection, { bytes, sha256 }: OversizeLine): void {
  if (connection.phase === 'closing' || connection.phase === 'closed') return;
  hub.counters.messages += 1;
  if (connection.line_refused) {
    connection.line_refused = false;
    spend(connection, null);
    return;
  }
  countLimit(hub, 'message_bytes_max');
  spend(connection, null);
  const max = hub.limits.message_bytes_max;
  complain(hub, connection, 'MESSAGE_TOO_LARGE', {
    message: `a message may have ${max} bytes, this has ${bytes}`,
    details: { received_bytes: bytes, max_message_bytes: max, sha256 },
  });
}

/** Ends our side; what still comes is read and dropped, so that the last words arrive. */
export function farewell(hub: Hub, connection: Connection): void {
  const { phase, wire } = connection;
  if (phase === 'closing' || phase === 'closed') return;
  connection.phase = 'closing';
  connection.closing_ms = hub.options.clock.elapsed();
  connection.paused = false;
  endSubscriptions(connection);
  wire.stream.end();
  wire.stream.resume();
}
