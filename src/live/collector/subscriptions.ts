/** Subscriptions: a filter by session, type and first number. The states of the sessions are sent first. */

import type { LiveDataOf } from '../../model/live.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection, Subscription } from './hub.ts';
import { pump } from './pump.ts';
import { recall, snapshotOf, wantsState } from './sessions.ts';

type Filter = NonNullable<LiveDataOf<'subscribe_events'>['filter']>;

const keyOf = ({ session_ids, types, from_seq }: Filter) =>
  JSON.stringify([session_ids ?? null, types ?? null, from_seq ?? null]);

const setOf = (list: readonly string[] | null | undefined) =>
  list === null || list === undefined ? null : new Set(list);

export function subscribe(connection: Connection, message: WireMessage): void {
  const { hub } = connection;
  const filter = ((message.data as LiveDataOf<'subscribe_events'>).filter ?? {}) as Filter;
  const key = keyOf(filter);
  if (!mayBegin(connection, message, { filter, key })) return;
  const subscription: Subscription = {
    key,
    // A token for some sessions does not see others.
    session_ids: setOf(filter.session_ids) ?? connection.grant.sessions,
    types: setOf(filter.types),
    from_seq: filter.from_seq ?? null,
    abort: new AbortController(),
    behind: 0,
  };
  connection.subscriptions.add(subscription);
  void pump(connection, subscription);
  if (message.ack_required === true) confirm(connection, message);
  for (const session of hub.sessions.values()) {
    if (wantsState(subscription, session.id)) connection.sayIfRoom(snapshotOf(hub, session));
  }
  void sendStoredStates(connection, subscription);
}

/** Whether the peer may subscribe; if not, answers with the reason. */
function mayBegin(
  connection: Connection,
  about: WireMessage,
  { filter, key }: { filter: Filter; key: string },
): boolean {
  const { hub, subscriptions, grant } = connection;
  const { subscriptions_max, filter_chars_max } = hub.limits;
  if (subscriptions.size >= subscriptions_max) {
    hub.countLimit('subscriptions_max');
    const why = `a connection may have at most ${subscriptions_max} subscriptions: end one first`;
    const details = { current_capacity: subscriptions_max, max_capacity: subscriptions_max };
    connection.complain('CAPACITY_EXHAUSTED', why, { about, details });
    return false;
  }
  if (key.length > filter_chars_max) {
    const why = `a filter may have at most ${filter_chars_max} characters: name fewer sessions, or subscribe more than once`;
    const capacity = { current_capacity: key.length, max_capacity: filter_chars_max };
    const details = { field: 'data.filter', ...capacity };
    connection.complain('CAPACITY_EXHAUSTED', why, { about, details });
    return false;
  }
  if (grant.sessions !== null && filter.session_ids?.some((id) => !grant.sessions?.has(id))) {
    const why = 'the token does not cover these sessions';
    connection.complain('AUTH_FAILED', why, { about, severity: 'error' });
    return false;
  }
  return true;
}

/** Sends the states of sessions that are named in the filter but only in the journal, as after a restart. */
async function sendStoredStates(connection: Connection, subscription: Subscription): Promise<void> {
  const { hub } = connection;
  const { signal } = subscription.abort;
  const wanted = [...(subscription.session_ids ?? [])].filter((id) => wantsState(subscription, id));
  for (const id of wanted.filter((one) => !hub.sessions.has(one)).slice(0, RECALLED_MAX)) {
    // A journal that cannot be read is reported by the subscription itself.
    const session = await recall(connection, id, signal).catch(() => null);
    if (signal.aborted) return;
    if (session !== null) connection.sayIfRoom(snapshotOf(hub, session));
  }
}

/** Sessions that one subscription may read from the journal for their states. */
const RECALLED_MAX = 16;

/** Confirms a request: an acknowledgement without stored messages, linked to the request. */
function confirm(connection: Connection, { message_id = null }: WireMessage): void {
  const ids = { correlation_id: message_id };
  connection.say(connection.hub.messageOf('ack', { acked: [], durable: false }, ids));
}

/** Ends the subscriptions with the same filter; without a filter, all. */
export function unsubscribe(connection: Connection, message: WireMessage): void {
  const filter = (message.data as { filter?: Filter | null }).filter ?? null;
  for (const subscription of connection.subscriptions) {
    if (filter !== null && subscription.key !== keyOf(filter)) continue;
    connection.subscriptions.delete(subscription);
    subscription.abort.abort();
  }
  if (message.ack_required === true) confirm(connection, message);
}

export function endSubscriptions({ subscriptions }: Connection): void {
  for (const { abort } of subscriptions) abort.abort();
  subscriptions.clear();
}
