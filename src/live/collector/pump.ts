/**
 * Subscribers: each reads the journal itself, at its own pace.
 * Contract: the stored bytes are sent, each session's in order and once. A peer that does not read delays nobody, costs
 * one open file, and gets a report of its backlog when it reads again.
 */
import { LastSet } from '../../lib/bounded.ts';
import type { LiveDataOf } from '../../model/live.ts';
import { URGENT_TYPES } from '../../model/live-words.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection, Hub, Subscription, Taken } from './hub.ts';
import { LIVE_SOURCE, type StoredMessage } from './options.ts';

/** Counts new messages for subscribers that have stopped reading. */
export function noteBehind(hub: Hub, { session, seq, type }: Taken): void {
  for (const subscription of hub.stalled) {
    if (!matches(subscription, session, seq)) continue;
    if (subscription.types === null || subscription.types.has(type)) subscription.behind += 1;
  }
}

const matches = ({ session_ids, from_seq }: Subscription, session: string, seq: number) =>
  (session_ids === null || session_ids.has(session)) && (from_seq === null || seq >= from_seq);

export async function pump(connection: Connection, subscription: Subscription): Promise<void> {
  const { hub, wire } = connection;
  const { abort, from_seq, types } = subscription;
  const last = new LastSet<string, number>(hub.limits.places_max);
  const filter = ({ session, source, seq }: Omit<StoredMessage, 'body'>) =>
    source === LIVE_SOURCE && matches(subscription, session, seq);
  try {
    const stored = hub.options.reader.follow(
      from_seq === null ? 'now' : 'start',
      abort.signal,
      filter,
    );
    for await (const { session, seq, body } of stored) {
      if (abort.signal.aborted) return;
      if (seq <= (last.get(session) ?? 0)) continue;
      // The most recently used sessions are kept: duplicates follow each other closely.
      last.set(session, seq);
      if (types !== null && !types.has(typeOf(body))) continue;
      if (!(await mayPass(connection, subscription, body))) return;
      connection.write(body);
      if (!wire.stream.writableNeedDrain) continue;
      connection.drain ??= drained(connection);
      await stalled(connection, subscription, connection.drain);
    }
  } catch (error) {
    connection.subscriptions.delete(subscription);
    const why = `the subscription ended: ${(error as Error).message}`;
    const details = { filter: JSON.parse(subscription.key) };
    connection.complain('CAPACITY_EXHAUSTED', why, { details });
  }
}

/** Sets the number of messages that a subscriber is ready to receive; it replaces the previous one (LP-10). */
export function takeWindow(connection: Connection, { data }: WireMessage): void {
  connection.window = (data as LiveDataOf<'flow_control'>).available_credits;
  connection.refill?.resolve();
  connection.refill = null;
}

/** Waits until the peer is ready for a message; false when the subscription has ended. */
async function mayPass(
  connection: Connection,
  subscription: Subscription,
  body: string,
): Promise<boolean> {
  if (connection.window === null || URGENT_TYPES.has(typeOf(body))) return true;
  const { signal } = subscription.abort;
  while (connection.window <= 0 && !signal.aborted) {
    connection.refill ??= Promise.withResolvers();
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    signal.addEventListener('abort', end);
    const wait = Promise.race([connection.refill.promise, ended.promise]);
    await stalled(connection, subscription, wait);
    signal.removeEventListener('abort', end);
  }
  connection.window -= 1;
  return !signal.aborted;
}

function typeOf(body: string): string {
  // The journal may have been edited: an entry that is not a message has no type.
  try {
    const { type } = (JSON.parse(body) ?? {}) as { type?: unknown };
    return typeof type === 'string' ? type : '';
  } catch {
    return '';
  }
}

async function stalled(
  connection: Connection,
  subscription: Subscription,
  wait: Promise<void>,
): Promise<void> {
  const { hub } = connection;
  const { behind_ms, backlog_bytes_max: max_capacity } = hub.limits;
  const since = hub.elapsed();
  subscription.behind = 0;
  hub.stalled.add(subscription);
  await wait;
  hub.stalled.delete(subscription);
  const { behind: pending_messages } = subscription;
  const waited = hub.elapsed() - since;
  if (subscription.abort.signal.aborted || waited < behind_ms) return;
  const backpressure_duration_ms = Math.round(waited);
  const current_capacity = connection.has_room ? max_capacity : 0;
  const why = `this subscriber read nothing for ${backpressure_duration_ms} ms: the missed messages follow`;
  connection.complain('CAPACITY_EXHAUSTED', why, {
    severity: 'warning',
    details: { pending_messages, backpressure_duration_ms, current_capacity, max_capacity },
  });
}

function drained(connection: Connection): Promise<void> {
  const { stream } = connection.wire;
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      connection.drain = null;
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
