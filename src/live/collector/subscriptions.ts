/**
 * Subscribers: each reads the journal itself, at its own pace.
 * Contract: what is sent are the stored bytes, a session's in order and once; a peer that does not read holds up nobody,
 * costs one open file, and is told how far it was behind when it goes on.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { LiveDataOf } from '../../model/live.ts';
import { URGENT_TYPES } from '../../model/live-words.ts';
import type { WireMessage } from '../protocol/messages.ts';
import {
  type Connection,
  complain,
  countLimit,
  type Hub,
  hasRoom,
  LIVE_SOURCE,
  messageOf,
  type StoredMessage,
  type Subscription,
  say,
  sayIfRoom,
  type Taken,
  write,
} from './hub.ts';
import { recall, snapshotOf, wantsState } from './sessions.ts';

type Filter = NonNullable<LiveDataOf<'subscribe_events'>['filter']>;

const keyOf = ({ session_ids, types, from_seq }: Filter) =>
  JSON.stringify([session_ids ?? null, types ?? null, from_seq ?? null]);

const setOf = (list: readonly string[] | null | undefined) =>
  list === null || list === undefined ? null : new Set(list);

export function subscribe(hub: Hub, connection: Connection, message: WireMessage): void {
  const { subscriptions_max } = hub.limits;
  if (connection.subscriptions.size >= subscriptions_max) {
    countLimit(hub, 'subscriptions_max');
    complain(hub, connection, 'CAPACITY_EXHAUSTED', {
      message: `a connection may have ${subscriptions_max} subscriptions: end one first`,
      about: message,
      details: { current_capacity: subscriptions_max, max_capacity: subscriptions_max },
    });
    return;
  }
  const filter = ((message.data as LiveDataOf<'subscribe_events'>).filter ?? {}) as Filter;
  const key = keyOf(filter);
  if (key.length > LIMITS.live_filter_chars_max) {
    const max_capacity = LIMITS.live_filter_chars_max;
    complain(hub, connection, 'CAPACITY_EXHAUSTED', {
      message: `a filter may have ${max_capacity} characters: name fewer sessions, or subscribe more than once`,
      about: message,
      details: { field: 'data.filter', current_capacity: key.length, max_capacity },
    });
    return;
  }
  const { sessions } = connection.grant;
  if (sessions !== null && filter.session_ids?.some((id) => !sessions.has(id))) {
    const why = 'this token is not for these sessions';
    complain(hub, connection, 'AUTH_FAILED', { message: why, about: message, severity: 'error' });
    return;
  }
  const subscription: Subscription = {
    key,
    // A token for some sessions sees no others.
    session_ids: setOf(filter.session_ids) ?? sessions,
    types: setOf(filter.types),
    from_seq: filter.from_seq ?? null,
    abort: new AbortController(),
    behind: 0,
  };
  connection.subscriptions.add(subscription);
  void pump(hub, connection, subscription);
  if (message.ack_required === true) confirm(hub, connection, message);
  for (const session of hub.sessions.values()) {
    if (wantsState(subscription, session.id)) sayIfRoom(hub, connection, snapshotOf(hub, session));
  }
  void tellOld(hub, connection, subscription);
}

/** The state of sessions asked for by name that only the journal knows: those of before a restart. */
async function tellOld(
  hub: Hub,
  connection: Connection,
  subscription: Subscription,
): Promise<void> {
  const { signal } = subscription.abort;
  const wanted = [...(subscription.session_ids ?? [])].filter((id) => wantsState(subscription, id));
  for (const id of wanted.filter((one) => !hub.sessions.has(one)).slice(0, RECALLED_MAX)) {
    // A journal that cannot be read is told by the subscription itself.
    const session = await recall(hub, connection, id, signal).catch(() => null);
    if (signal.aborted) return;
    if (session !== null) sayIfRoom(hub, connection, snapshotOf(hub, session));
  }
}

/** Sessions that one subscription has read from the beginning for their states. */
const RECALLED_MAX = 16;

/** That it holds from here on: an acknowledgement of nothing stored, linked to the request. */
function confirm(hub: Hub, connection: Connection, { message_id = null }: WireMessage): void {
  const ids = { correlation_id: message_id };
  say(hub, connection, messageOf(hub, 'ack', { acked: [], durable: false }, ids));
}

/** Ends those with the same filter; without one, all. */
export function unsubscribe(hub: Hub, connection: Connection, message: WireMessage): void {
  const filter = (message.data as { filter?: Filter | null }).filter ?? null;
  for (const subscription of connection.subscriptions) {
    if (filter !== null && subscription.key !== keyOf(filter)) continue;
    connection.subscriptions.delete(subscription);
    subscription.abort.abort();
  }
  if (message.ack_required === true) confirm(hub, connection, message);
}

export function endSubscriptions({ subscriptions }: Connection): void {
  for (const { abort } of subscriptions) abort.abort();
  subscriptions.clear();
}

/** Counts for those that stopped reading what passes them by. */
export function noteBehind(hub: Hub, { session, seq, message }: Taken): void {
  for (const subscription of hub.stalled) {
    if (!matches(subscription, session.id, seq)) continue;
    if (subscription.types === null || subscription.types.has(message.type))
      subscription.behind += 1;
  }
}

const matches = ({ session_ids, from_seq }: Subscription, session: string, seq: number) =>
  (session_ids === null || session_ids.has(session)) && (from_seq === null || seq >= from_seq);

async function pump(hub: Hub, connection: Connection, subscription: Subscription): Promise<void> {
  const { abort, from_seq, types } = subscription;
  const { reader } = hub.options;
  const last = new Map<string, number>();
  const filter = ({ session, source, seq }: Omit<StoredMessage, 'body'>) =>
    source === LIVE_SOURCE && matches(subscription, session, seq);
  try {
    const from = from_seq === null ? 'now' : 'start';
    for await (const { session, seq, body } of reader.follow(from, abort.signal, filter)) {
      if (abort.signal.aborted) return;
      if (seq <= (last.get(session) ?? 0)) continue;
      remember(last, session, seq);
      if (types !== null && !types.has(typeOf(body))) continue;
      if (!(await mayPass(hub, connection, subscription, body))) return;
      write(hub, connection, body);
      if (!connection.wire.stream.writableNeedDrain) continue;
      connection.drain ??= drained(connection);
      await stalled(hub, connection, subscription, connection.drain);
    }
  } catch (error) {
    connection.subscriptions.delete(subscription);
    complain(hub, connection, 'CAPACITY_EXHAUSTED', {
      message: `the subscription ended: ${(error as Error).message}`,
      details: { filter: JSON.parse(subscription.key) },
    });
  }
}

/** A subscriber says how many messages it has room for; that replaces what it said before (LP-10). */
export function takeWindow(_hub: Hub, connection: Connection, { data }: WireMessage): void {
  connection.window = (data as LiveDataOf<'flow_control'>).available_credits;
  connection.refill?.resolve();
  connection.refill = null;
}

/** Waits while the peer has said that it has no room; false when the subscription has ended. */
async function mayPass(
  hub: Hub,
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
    await stalled(
      hub,
      connection,
      subscription,
      Promise.race([connection.refill.promise, ended.promise]),
    );
    signal.removeEventListener('abort', end);
  }
  connection.window -= 1;
  return !signal.aborted;
}

/** Those used last: an entry that comes twice comes twice close together. */
function remember(last: Map<string, number>, session: string, seq: number): void {
  last.delete(session);
  last.set(session, seq);
  if (last.size <= LIMITS.live_places_max) return;
  for (const oldest of last.keys()) {
    last.delete(oldest);
    return;
  }
}

function typeOf(body: string): string {
  // The journal may have been edited: an entry that is no message has no type.
  try {
    const { type } = (JSON.parse(body) ?? {}) as { type?: unknown };
    return typeof type === 'string' ? type : '';
  } catch {
    return '';
  }
}

async function stalled(
  hub: Hub,
  connection: Connection,
  subscription: Subscription,
  wait: Promise<void>,
): Promise<void> {
  const { clock } = hub.options;
  const since = clock.elapsed();
  subscription.behind = 0;
  hub.stalled.add(subscription);
  await wait;
  hub.stalled.delete(subscription);
  const { behind } = subscription;
  const waited = clock.elapsed() - since;
  if (subscription.abort.signal.aborted || waited < hub.limits.behind_ms) return;
  complain(hub, connection, 'CAPACITY_EXHAUSTED', {
    message: `this subscriber took nothing for ${Math.round(waited)} ms: it gets what it missed now`,
    severity: 'warning',
    details: {
      pending_messages: behind,
      backpressure_duration_ms: Math.round(waited),
      current_capacity: hasRoom(hub, connection) ? hub.limits.backlog_bytes_max : 0,
      max_capacity: hub.limits.backlog_bytes_max,
    },
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
