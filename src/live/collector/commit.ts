/** Numbered messages on their way to the journal: acknowledged when they are durable, answered where they are not. */
import { wantsAck } from '../protocol/messages.ts';
import type { Connection, Hub, Taken } from './hub.ts';
import { judge } from './judging.ts';
import { LIVE_SOURCE } from './options.ts';
import { noteBehind } from './pump.ts';
import { note } from './sessions.ts';

/** Hands what a piece of input held to the journal. `after`: when it is durable or has failed. */
export function commit(connection: Connection, after: () => void): void {
  const { hub, batch } = connection;
  if (batch.length === 0) return;
  connection.batch = [];
  let bytes = 0;
  const entries = batch.map(({ session, seq, text }) => {
    bytes += text.length;
    return { session: session.id, source: LIVE_SOURCE, seq, body: text };
  });
  connection.pending += batch.length;
  connection.pending_bytes += bytes;
  hub.pending_bytes += bytes;
  hub.options.journal
    .append(entries)
    .then(
      (results) => settle(connection, batch, results),
      (error: Error) => unstored(connection, batch, error),
    )
    .finally(() => {
      connection.pending -= batch.length;
      connection.pending_bytes -= bytes;
      hub.pending_bytes -= bytes;
      after();
    });
}

type Result = Awaited<ReturnType<Hub['options']['journal']['append']>>[number];

function settle(connection: Connection, batch: readonly Taken[], results: readonly Result[]): void {
  const { hub } = connection;
  const gaps: Taken[] = [];
  for (const [i, taken] of batch.entries()) {
    const result = results[i] as Result;
    if (taken.message.type === 'session_end') taken.session.ending = false;
    if (result === 'stored' || result === 'duplicate') {
      connection.is_sender = true;
      judge(connection, taken);
    }
    if (result === 'stored') {
      hub.counters.stored += 1;
      note(hub, taken);
      noteBehind(hub, taken);
    } else if (result === 'duplicate') {
      hub.counters.duplicates += 1;
      taken.session.last_seq = Math.max(taken.session.last_seq, taken.seq);
    } else if (result === 'conflict') tellConflict(connection, taken);
    else gaps.push(taken);
    // One that comes again is wondered about, also where no acknowledgement was asked for.
    const wanted = result === 'duplicate' || (result === 'stored' && wantsAck(taken.message));
    if (wanted) acknowledge(connection, taken);
  }
  if (gaps.length > 0) void tellGaps(connection, gaps);
}

/** Those of one group commit come together in one message: they are settled in the same turn. */
function acknowledge(connection: Connection, { session }: Taken): void {
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

function tellConflict(connection: Connection, { message, seq }: Taken): void {
  connection.hub.counters.conflicts += 1;
  const why = `number ${seq} of this session is stored with another content`;
  const details = { field: 'seq', received_seq: seq };
  connection.complain('DUPLICATE_CONFLICT', why, { about: message, details });
}

async function tellGaps(connection: Connection, gaps: readonly Taken[]): Promise<void> {
  const { counters, sessions, options } = connection.hub;
  for (const { session, message, seq } of gaps) {
    const asked = options.journal.lastSeq(session.id, LIVE_SOURCE);
    const last = await asked.catch(() => session.last_seq);
    counters.gaps += 1;
    const why = `number ${seq} does not follow: the next of this session is ${last + 1}`;
    const details = { field: 'seq', expected_seq: last + 1, received_seq: seq };
    const about = message;
    connection.complain('INVALID_MESSAGE_FORMAT', why, { about, retriable: true, details });
    // One of which nothing is stored is no session yet.
    if (last === 0 && session.last_seq === 0) sessions.delete(session.id);
  }
}

/** Nothing is acknowledged: the sender keeps it and sends it again. */
function unstored(connection: Connection, batch: readonly Taken[], error: Error): void {
  connection.hub.counters.unstored += batch.length;
  for (const { session } of batch) session.ending = false;
  const reason = (error as { code?: string }).code ?? 'unknown';
  connection.complain('CAPACITY_EXHAUSTED', `not stored: ${error.message}`, {
    about: batch[0]?.message ?? null,
    details: { reason, pending_messages: batch.length },
  });
}
