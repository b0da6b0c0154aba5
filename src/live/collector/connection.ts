/**
 * One peer: bytes in, lines, messages, answers out.
 * Contract: nothing a peer sends throws or changes another peer's state. The memory of a peer is bounded: beyond the
 * limit, reading pauses until there is room.
 */

import type { OversizeLine } from '../../lib/lines.ts';
import { type ReadMessage, readMessage } from '../protocol/messages.ts';
import type { Wire } from '../transports/listener.ts';
import { refusalOf } from './admission.ts';
import { commit, flushAcks } from './commit.ts';
import { isOver, replenish, spend } from './credits.ts';
import { greet } from './handshake.ts';
import { type Arrival, Connection, type Hub, NOTHING } from './hub.ts';
import { takeMessage } from './intake.ts';
import { judgeFault } from './judging.ts';
import { placeLine, watchLines } from './long-lines.ts';
import { loseSessions } from './sessions.ts';
import { endSubscriptions } from './subscriptions.ts';

/**
 * A web page can make a browser send a request to a port of this machine, with a body of the page's choice. Method and
 * URL may have any form and length, including braces; the end of the request line identifies it.
 */
const HTTP = / HTTP\/\d(?:\.\d)?\s*$/;
const HTTP_END_BYTES = 20;

export function openConnection(hub: Hub, wire: Wire): void {
  const connection: Connection = new Connection(hub, wire, {
    line: (bytes, start, end) => takeLine(connection, bytes.subarray(start, end)),
    oversize: (line) => takeOversize(connection, line),
  });
  hub.connections.add(connection);
  hub.counters.connections += 1;
  listen(connection);
  const refused = refusalOf(connection);
  if (refused === null) return;
  hub.countLimit('connections_max');
  const details = { max_capacity: hub.limits.connections_max };
  connection.complain('CAPACITY_EXHAUSTED', refused, { details });
  farewell(connection);
}

function listen(connection: Connection): void {
  const { hub } = connection;
  const { stream } = connection.wire;
  stream.on('data', (chunk: Buffer) => takeBytes(connection, chunk));
  stream.on('end', () => {
    connection.ended = true;
    connection.lines.end();
    after(connection);
  });
  stream.on('drain', () => steer(connection));
  stream.on('error', () => stream.destroy());
  stream.on('close', () => {
    connection.phase = 'closed';
    hub.connections.delete(connection);
    for (const other of placeLine(connection)) steer(other);
    endSubscriptions(connection);
    if (connection.pending === 0) loseSessions(connection);
  });
}

function takeBytes(connection: Connection, chunk: Buffer): void {
  const { hub } = connection;
  if (hub.stopping) return;
  connection.heard_ms = hub.elapsed();
  if (connection.phase === 'new') connection.hello_bytes += chunk.length;
  connection.lines.push(chunk);
  if (connection.phase === 'new' && connection.hello_bytes > hub.limits.hello_bytes_max)
    refuseStranger(connection, 'hello_bytes_max', 'bytes');
  for (const other of placeLine(connection)) steer(other);
  watchLines(hub, steer);
  after(connection);
}

function refuseStranger(
  connection: Connection,
  limit: 'hello_bytes_max' | 'hello_lines_max',
  unit: string,
): void {
  const { hub } = connection;
  hub.countLimit(limit);
  connection.complain('AUTH_FAILED', `no handshake in the first ${hub.limits[limit]} ${unit}`);
  farewell(connection);
}

/** Runs after every chunk of input and every commit. */
function after(connection: Connection): void {
  commit(connection, () => {
    after(connection);
    for (const other of connection.hub.connections) if (other.paused) steer(other);
  });
  replenish(connection);
  steer(connection);
  if (connection.pending > 0) return;
  if (connection.phase === 'closed') {
    loseSessions(connection);
  } else if (connection.ended && connection.phase !== 'greeting') {
    flushAcks(connection);
    farewell(connection);
  }
}

/** Pauses or resumes reading, depending on what is pending. */
function steer(connection: Connection): void {
  const { hub } = connection;
  const { stream } = connection.wire;
  const full =
    connection.pending_bytes > hub.limits.pending_bytes_max ||
    hub.pending_bytes > hub.limits.pending_all_bytes_max ||
    !connection.has_room ||
    hub.long_lines_waiting.has(connection) ||
    isOver(connection);
  const pause = connection.phase === 'greeting' || (full && connection.phase === 'open');
  if (pause === connection.paused) return;
  connection.paused = pause;
  connection.heard_ms = hub.elapsed();
  if (pause) stream.pause();
  else stream.resume();
}

function takeLine(connection: Connection, line: Buffer): void {
  const { phase, hub, wire } = connection;
  if (phase === 'greeting') {
    connection.held.push(Buffer.from(line));
    return;
  }
  if (connection.is_over) return;
  if (phase === 'new' && HTTP.test(line.toString('latin1', line.length - HTTP_END_BYTES))) {
    connection.phase = 'closing';
    wire.stream.destroy();
    return;
  }
  hub.counters.messages += 1;
  const read = readMessage(line);
  // Bytes that waited while this process started have an unknown arrival time.
  const waiting = phase === 'new' && wire.waited_ms > 0;
  takeRead(connection, read, { line, received_ms: waiting ? null : hub.options.clock.now() });
}

function takeRead(
  connection: Connection,
  read: ReadMessage,
  { line, received_ms }: Pick<Arrival, 'line' | 'received_ms'>,
): void {
  const { limits } = connection.hub;
  spend(connection, read.message?.type);
  connection.faulty_lines = read.fault === null ? 0 : connection.faulty_lines + 1;
  if (read.fault !== null) {
    const { code, message, details, field } = read.fault;
    const named = field === null ? details : { field, ...details };
    const judged = judgeFault(connection, read, received_ms);
    connection.complain(code, message, { details: named, about: read.message, judged });
  } else if (read.message.type === 'handshake_request') {
    void welcome(connection, { ...read, line: NOTHING, received_ms });
    return;
  } else if (connection.phase === 'new') {
    const why = 'send handshake_request first: other messages are refused before it';
    connection.complain('AUTH_FAILED', why, { about: read.message, severity: 'error' });
  } else {
    const { message, text } = read;
    takeMessage(connection, { message, text, line, received_ms });
  }
  if (connection.faulty_lines > limits.faulty_lines_max) refuseNoise(connection);
  if (connection.phase !== 'new') return;
  connection.hello_lines += 1;
  if (connection.hello_lines > limits.hello_lines_max)
    refuseStranger(connection, 'hello_lines_max', 'lines');
}

function refuseNoise(connection: Connection): void {
  const { hub } = connection;
  hub.countLimit('faulty_lines_max');
  const why = `${hub.limits.faulty_lines_max} consecutive lines are not messages: the connection is closed`;
  connection.complain('INVALID_MESSAGE_FORMAT', why);
  farewell(connection);
}

async function welcome(connection: Connection, arrival: Arrival): Promise<void> {
  const again = connection.phase === 'open';
  connection.phase = 'greeting';
  const taken = await greet(connection, arrival, again);
  if ((connection.phase as string) !== 'greeting') return;
  const { held } = connection;
  connection.held = [];
  connection.phase = 'open';
  // A refused session does not affect the other sessions of the connection.
  if (!taken && !again) {
    farewell(connection);
    return;
  }
  for (const line of held) takeLine(connection, line);
  after(connection);
}

function takeOversize(connection: Connection, { bytes, sha256 }: OversizeLine): void {
  const { hub } = connection;
  if (connection.is_over) return;
  hub.counters.messages += 1;
  spend(connection, null);
  if (connection.line_refused) {
    connection.line_refused = false;
    return;
  }
  hub.countLimit('message_bytes_max');
  const max = hub.limits.message_bytes_max;
  const details = { received_bytes: bytes, max_message_bytes: max, sha256 };
  const why = `the message has ${bytes} bytes: at most ${max} are allowed`;
  connection.complain('MESSAGE_TOO_LARGE', why, { details });
}

/** Ends our side. Further input is read and dropped, so that our last messages arrive. */
export function farewell(connection: Connection): void {
  if (connection.is_over) return;
  const { stream } = connection.wire;
  connection.phase = 'closing';
  connection.closing_ms = connection.hub.elapsed();
  connection.paused = false;
  endSubscriptions(connection);
  stream.end();
  stream.resume();
}
