/** Stores numbered messages: acknowledged when they are durable, answered with an error when they cannot be stored. */
import { readMessage } from '../protocol/messages.ts';
import { type Arrival, type Batch, type Connection, type HubSession, Taken } from './hub.ts';
import { judge } from './judging.ts';
import { type AppendResult, LIVE_SOURCE } from './options.ts';
import { noteBehind } from './pump.ts';
import { note } from './sessions.ts';

export function put(
  connection: Connection,
  arrival: Arrival,
  { session, seq }: { session: HubSession; seq: number },
): void {
  connection.batch ??= openBatch(connection);
  const { batch } = connection;
  const taken = new Taken(session, seq, arrival);
  batch.taken.push(taken);
  batch.bytes += taken.body.length;
  batch.put(taken);
  taken.leaveLine();
}

function openBatch(connection: Connection): Batch {
  const { journal } = connection.hub.options;
  const batch = journal.batch<Taken>((taken, result) => place(connection, taken, result));
  return { answer: batch.answer, put: batch.put, taken: [], bytes: 0 };
}

/** The result is known before the message is durable: the rules see it now. */
function place(connection: Connection, taken: Taken, result: AppendResult): void {
  taken.is_placed = true;
  if (result !== 'stored' && result !== 'duplicate') return;
  const { body: line, received_ms, arrival } = taken;
  if (arrival !== null) judge(connection, arrival);
  else {
    // It was placed after its line had been read.
    const read = readMessage(line);
    if (read.fault === null) judge(connection, { ...read, line, received_ms });
    taken.leaveLine();
  }
}

/** Commits the batch of a chunk of input. `after`: called when it is durable or has failed. */
export function commit(connection: Connection, after: () => void): void {
  const { hub, batch } = connection;
  if (batch === null) return;
  const { answer, taken, bytes } = batch;
  connection.batch = null;
  connection.pending += taken.length;
  connection.pending_bytes += bytes;
  hub.pending_bytes += bytes;
  answer
    .then(
      (results) => settle(connection, taken, results),
      (error: Error) => unstored(connection, taken, error),
    )
    .finally(() => {
      connection.pending -= taken.length;
      connection.pending_bytes -= bytes;
      hub.pending_bytes -= bytes;
      after();
    });
}

function settle(
  connection: Connection,
  batch: readonly Taken[],
  results: readonly AppendResult[],
): void {
  const { hub } = connection;
  const { counters } = hub;
  const gaps: Taken[] = [];
  for (let i = 0; i < batch.length; i++) {
    const taken = batch[i] as Taken;
    const result = results[i] as AppendResult;
    const { of: session } = taken;
    if (taken.type === 'session_end') session.ending = false;
    if (result === 'stored') {
      connection.is_sender = true;
      counters.stored += 1;
      note(hub, taken);
      noteBehind(hub, taken);
      if (taken.wants_ack) acknowledge(connection, session);
    } else if (result === 'duplicate') {
      connection.is_sender = true;
      counters.duplicates += 1;
      session.last_seq = Math.max(session.last_seq, taken.seq);
      // A resend is acknowledged again, even when no acknowledgement was requested.
      acknowledge(connection, session);
    } else if (result === 'conflict') reportConflict(connection, taken);
    else gaps.push(taken);
  }
  if (gaps.length > 0) void reportGaps(connection, gaps);
}

/** Acknowledgements of one group commit are sent in one message: they are settled in the same turn. */
function acknowledge(connection: Connection, session: HubSession): void {
  if (connection.acks.size === 0) process.nextTick(flushAcks, connection);
  connection.acks.set(session.id, session.last_seq);
}

export function flushAcks(connection: Connection): void {
  const { hub, acks } = connection;
  if (acks.size === 0) return;
  const acked = [...acks].map(([session_id, seq]) => ({ session_id, seq }));
  acks.clear();
  connection.say(hub.messageOf('ack', { acked, durable: true }));
}

function reportConflict(connection: Connection, about: Taken): void {
  connection.hub.counters.conflicts += 1;
  const why = `number ${about.seq} of this session is stored with different content`;
  const details = { field: 'seq', received_seq: about.seq };
  connection.complain('DUPLICATE_CONFLICT', why, { about, details });
}

async function reportGaps(connection: Connection, gaps: readonly Taken[]): Promise<void> {
  const { counters, sessions, options } = connection.hub;
  for (const about of gaps) {
    const { of: session, seq } = about;
    const asked = options.journal.lastSeq(session.id, LIVE_SOURCE);
    const last = await asked.catch(() => session.last_seq);
    counters.gaps += 1;
    const why = `number ${seq} is out of order: the next number of this session is ${last + 1}`;
    const details = { field: 'seq', expected_seq: last + 1, received_seq: seq };
    connection.complain('INVALID_MESSAGE_FORMAT', why, { about, retriable: true, details });
    // A session without stored messages does not exist yet.
    if (last === 0 && session.last_seq === 0) sessions.delete(session.id);
  }
}

/** Nothing is acknowledged: the sender keeps the messages and resends them. */
function unstored(connection: Connection, batch: readonly Taken[], error: Error): void {
  connection.hub.counters.unstored += batch.length;
  for (const { of: session } of batch) session.ending = false;
  const reason = (error as { code?: string }).code ?? 'unknown';
  connection.complain('CAPACITY_EXHAUSTED', `not stored: ${error.message}`, {
    about: batch[0] ?? null,
    details: { reason, pending_messages: batch.length },
  });
}
