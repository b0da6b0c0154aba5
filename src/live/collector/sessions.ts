/** The sessions a collector knows: their owners, their open calls, and the states that subscribers receive. */
import { LIMITS } from '../../lib/limits.ts';
import type { LiveMessage } from '../../model/live.ts';
import { readText } from '../protocol/messages.ts';
import { isCrowded } from './admission.ts';
import {
  type Connection,
  callIdOf,
  type Hub,
  HubSession,
  type SessionFacts,
  type Subscription,
} from './hub.ts';
import { LIVE_SOURCE } from './options.ts';

export type Claim =
  | { session: HubSession }
  /** Another connection owns the session. */
  | { held_by: Connection }
  | { full: Full };

interface Full {
  message: string;
  details: { current_capacity: number; max_capacity: number };
}

/** A session belongs to the connection that sends for it. `take_over`: also when another connection owns it. */
export function claim(
  connection: Connection,
  id: string,
  { take_over }: { take_over: boolean },
): Claim {
  const { hub } = connection;
  const known = hub.sessions.get(id);
  if (known?.owner === connection && isOpen(known)) return { session: known };
  const owner = known?.owner ?? null;
  const held_by = owner === null || owner === connection || isLeaving(owner) ? null : owner;
  if (held_by !== null && !take_over) return { held_by };
  const full = fullFor(connection, id);
  if (full !== null) return { full };
  if (held_by !== null && known !== undefined) dispossess(held_by, known);
  if (known === undefined) forgetSome(hub);
  const session = known ?? new HubSession(id, connection.room);
  session.owner = connection;
  hub.options.board?.held(id, true);
  if (session.status === 'lost') session.status = 'active';
  // The most recently used session is forgotten last.
  hub.sessions.delete(id);
  hub.sessions.set(id, session);
  return { session };
}

/** The connection sends nothing more: the next owner need not wait until it has closed. */
const isLeaving = ({ ended, is_over }: Connection) => ended || is_over;

/** An ending session does not count as open: their number is bounded by the journal's queue. */
const isOpen = ({ owner, status, ending }: HubSession) =>
  owner !== null && status !== 'ended' && !ending;

/** Null when the connection may open this session in addition to the open ones. */
function fullFor(connection: Connection, id: string): Full | null {
  const { hub, wire } = connection;
  const { sessions_max, private_sessions } = hub.limits;
  const own_max = wire.private ? sessions_max : Math.ceil(sessions_max / 4);
  if (hub.sessions.size < own_max) return null;
  const open = [...hub.sessions.values()].filter((one) => one.id !== id && isOpen(one));
  const own = open.filter(({ owner }) => owner === connection).length;
  const wires = open.map(({ owner }) => (owner as Connection).wire);
  if (own >= own_max) return tooMany(own, own_max, 'sessions of this connection');
  if (!isCrowded([...wires, wire], sessions_max, private_sessions)) return null;
  return tooMany(open.length, sessions_max, 'sessions');
}

const tooMany = (current_capacity: number, max_capacity: number, what: string): Full => ({
  message: `${current_capacity} ${what} are open: end one first`,
  details: { current_capacity, max_capacity },
});

/** Forgets sessions that have ended or have no owner, until there is room for one more. */
function forgetSome({ sessions, limits }: Hub): void {
  for (const { id, owner, status, calls } of sessions.values()) {
    if (sessions.size < limits.sessions_max) return;
    if (owner !== null && status !== 'ended') continue;
    sessions.delete(id);
    // Its messages may still be on their way to the journal.
    calls.leave();
  }
}

function dispossess(owner: Connection, { id: session_id, info }: HubSession): void {
  owner.hub.counters.collisions += 1;
  const details = { conflicting_session_id: session_id, existing_session_info: info };
  const why = 'another connection has taken over this session';
  owner.complain('SESSION_COLLISION', why, { session_id, details });
}

/** Applies a stored message to its session. */
export function note(hub: Hub, facts: SessionFacts): void {
  const { of: session, seq, type, call_id } = facts;
  const { counters, calls } = session;
  session.last_seq = Math.max(session.last_seq, seq);
  counters.messages += 1;
  if (type === 'session_end') {
    session.status = 'ended';
    calls.clear();
  } else if (type === 'session_start') session.status = 'active';
  if (type === 'tool_call_request') counters.requests += 1;
  if (type === 'tool_call_response') counters.responses += 1;
  if (call_id === null) return;
  const now = hub.elapsed();
  if (type === 'tool_call_response') calls.delete(call_id);
  else if (calls.has(call_id)) calls.set(call_id, now);
  else if (type === 'tool_call_request') open(hub, session, { call_id, now, about: facts });
}

function open(
  hub: Hub,
  session: HubSession,
  { call_id, now, about }: { call_id: string; now: number; about: object },
): void {
  const { open_calls_max, calls_max } = hub.limits;
  const { calls, owner } = session;
  const full = calls.size >= open_calls_max;
  if (!full && calls.fits(call_id, now)) {
    calls.set(call_id, now);
    session.calls_warned = false;
    return;
  }
  hub.countLimit(full ? 'open_calls_max' : 'calls_max');
  if (owner === null || session.calls_warned) return;
  session.calls_warned = true;
  const who = full ? `the session has ${open_calls_max}` : 'the collector has too many';
  const why = `${who} open calls: further calls are stored but not tracked`;
  const details = {
    current_capacity: full ? calls.size : hub.room.count,
    max_capacity: full ? open_calls_max : calls_max,
  };
  owner.complain('CAPACITY_EXHAUSTED', why, { about, severity: 'warning', details });
}

/** Abandons calls without recent messages. */
export function abandonCalls(hub: Hub): void {
  const before = hub.elapsed() - hub.limits.abandoned_ms;
  for (const session of hub.sessions.values()) {
    const given_up = [...session.calls].filter(([, seen_ms]) => seen_ms < before);
    if (given_up.length === 0) continue;
    for (const [call_id] of given_up) session.calls.delete(call_id);
    session.counters.abandoned += given_up.length;
    hub.counters.abandoned_calls += given_up.length;
    publish(hub, session, { abandoned_calls: given_up.map(([call_id]) => call_id) });
  }
}

/** Disowns the sessions of a closed connection: they continue when another connection resumes them. */
export function loseSessions(connection: Connection): void {
  const { hub } = connection;
  for (const session of hub.sessions.values()) {
    if (session.owner !== connection) continue;
    session.owner = null;
    hub.options.board?.held(session.id, false);
    // A session without stored messages was only asked for.
    if (session.last_seq === 0) hub.sessions.delete(session.id);
    if (session.last_seq === 0 || session.status === 'ended') continue;
    session.status = 'lost';
    publish(hub, session);
  }
}

export function snapshotOf(
  hub: Hub,
  session: HubSession,
  more: Record<string, unknown> = {},
): LiveMessage<'session_state'> {
  const { id: session_id, status, last_seq, calls } = session;
  const open_calls = [...calls.keys().take(LIMITS.live_open_calls_named_max)];
  const counters = { ...session.counters, open_calls: calls.size };
  const data = { status, open_calls, last_seq, counters, ...more };
  return hub.messageOf('session_state', data, { session_id });
}

/**
 * Restores a session from the journal when no message of it has arrived since this collector started.
 * Null when there is none.
 */
export async function recall(
  { hub, room }: Connection,
  id: string,
  signal: AbortSignal,
): Promise<HubSession | null> {
  const session = new HubSession(id, room);
  try {
    for await (const { source, seq, body } of hub.options.reader.session(id)) {
      if (signal.aborted) return null;
      if (source !== LIVE_SOURCE) continue;
      const { message, fault } = readText(body);
      if (fault !== null) continue;
      note(hub, { of: session, seq, type: message.type, call_id: callIdOf(message) });
    }
    // It may have continued in the meantime, and is then already known.
    if (hub.sessions.has(id) || session.last_seq === 0) return null;
    if (session.status === 'active') session.status = 'lost';
    forgetSome(hub);
    if (hub.sessions.size < hub.limits.sessions_max) hub.sessions.set(id, session);
    return session;
  } finally {
    if (hub.sessions.get(id) !== session) session.calls.leave();
  }
}

export const wantsState = ({ session_ids, types }: Subscription, id: string) =>
  (session_ids === null || session_ids.has(id)) && (types === null || types.has('session_state'));

function publish(hub: Hub, session: HubSession, more: Record<string, unknown> = {}): void {
  for (const connection of hub.connections) {
    if ([...connection.subscriptions].some((one) => wantsState(one, session.id)))
      connection.sayIfRoom(snapshotOf(hub, session, more));
  }
}
