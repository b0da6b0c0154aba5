/** The sessions a collector knows: who sends for each, which calls are open, what subscribers are told of it. */
import { LIMITS } from '../lib/limits.ts';
import type { LiveMessage } from '../model/live.ts';
import {
  type Connection,
  complain,
  countLimit,
  type Hub,
  LIVE_SOURCE,
  type LiveSession,
  messageOf,
  type Subscription,
  sayIfRoom,
  type Taken,
} from './hub.ts';
import { readText } from './messages.ts';

export type Claim =
  | { session: LiveSession }
  /** Another connection sends for it. */
  | { held_by: Connection }
  | { full: true };

/** A session belongs to the connection that sends for it; `take_over`: also when it was another's until now. */
export function claim(
  hub: Hub,
  connection: Connection,
  id: string,
  { take_over }: { take_over: boolean },
): Claim {
  const known = hub.sessions.get(id);
  const owner = known?.owner ?? null;
  if (known !== undefined && owner === connection) return { session: known };
  if (known !== undefined && owner !== null && !isLeaving(owner)) {
    if (!take_over) return { held_by: owner };
    dispossess(hub, known, owner);
  }
  if (known === undefined && !makeRoom(hub)) return { full: true };
  const session = known ?? newSession(id);
  session.owner = connection;
  hub.options.board?.held(id, true);
  if (session.status === 'lost') session.status = 'active';
  // The one used last is forgotten last.
  hub.sessions.delete(id);
  hub.sessions.set(id, session);
  return { session };
}

/** It will send no more: whoever comes next need not wait for the end of its goodbyes. */
const isLeaving = ({ phase, ended }: Connection) =>
  ended || phase === 'closing' || phase === 'closed';

function newSession(id: string): LiveSession {
  const counters = { messages: 0, requests: 0, responses: 0, abandoned: 0 };
  return {
    id,
    owner: null,
    status: 'active',
    ending: false,
    last_seq: 0,
    calls: new Map(),
    calls_told: false,
    counters,
  };
}

/**
 * Forgets those that nobody sends for or that have ended. One that is about to end takes no place either; how many there
 * are of these is bounded by what may wait for the journal.
 */
function makeRoom(hub: Hub): boolean {
  const { sessions, limits } = hub;
  if (sessions.size < limits.sessions_max) return true;
  let open = 0;
  for (const { id, owner, status, ending } of sessions.values()) {
    if (sessions.size >= limits.sessions_max && (owner === null || status === 'ended'))
      sessions.delete(id);
    else if (!ending) open += 1;
  }
  return open < limits.sessions_max;
}

function dispossess(hub: Hub, session: LiveSession, owner: Connection): void {
  hub.counters.collisions += 1;
  complain(hub, owner, 'SESSION_COLLISION', {
    message: 'another connection goes on with this session',
    session_id: session.id,
    details: { conflicting_session_id: session.id, existing_session_info: infoOf(session) },
  });
}

export const infoOf = ({ status, last_seq }: LiveSession) => ({ status, last_seq });

/** What a stored message changes. */
export function note(hub: Hub, { session, message, seq }: Taken): void {
  const { counters, calls } = session;
  session.last_seq = Math.max(session.last_seq, seq);
  counters.messages += 1;
  const { type, data } = message;
  if (type === 'session_end') {
    session.status = 'ended';
    calls.clear();
  } else if (type === 'session_start') session.status = 'active';
  if (type === 'tool_call_request') counters.requests += 1;
  if (type === 'tool_call_response') counters.responses += 1;
  if (!Object.hasOwn(data, 'call_id')) return;
  const call_id = data.call_id as string;
  const now = hub.options.clock.elapsed();
  if (type === 'tool_call_response') calls.delete(call_id);
  else if (calls.has(call_id)) calls.set(call_id, now);
  else if (type === 'tool_call_request') open(hub, session, { call_id, now, message });
}

function open(
  hub: Hub,
  session: LiveSession,
  { call_id, now, message }: { call_id: string; now: number; message: object },
): void {
  const { open_calls_max } = hub.limits;
  const { calls, owner } = session;
  if (calls.size < open_calls_max) {
    calls.set(call_id, now);
    session.calls_told = false;
    return;
  }
  countLimit(hub, 'open_calls_max');
  if (owner === null || session.calls_told) return;
  session.calls_told = true;
  complain(hub, owner, 'CAPACITY_EXHAUSTED', {
    message: `the session has ${open_calls_max} open calls: more are stored, and not watched`,
    about: message,
    severity: 'warning',
    details: { current_capacity: calls.size, max_capacity: open_calls_max },
  });
}

/** Gives up calls without a sign of life. */
export function abandonCalls(hub: Hub): void {
  const before = hub.options.clock.elapsed() - hub.limits.abandoned_ms;
  for (const session of hub.sessions.values()) {
    const given_up = [...session.calls].filter(([, seen_ms]) => seen_ms < before);
    if (given_up.length === 0) continue;
    for (const [call_id] of given_up) session.calls.delete(call_id);
    session.counters.abandoned += given_up.length;
    hub.counters.abandoned_calls += given_up.length;
    publish(hub, session, { abandoned_calls: given_up.map(([call_id]) => call_id) });
  }
}

/** What a connection leaves behind: its sessions go on with the next that resumes them. */
export function loseSessions(hub: Hub, connection: Connection): void {
  for (const session of hub.sessions.values()) {
    if (session.owner !== connection) continue;
    session.owner = null;
    hub.options.board?.held(session.id, false);
    // One of which nothing was ever stored was only asked for.
    if (session.last_seq === 0) hub.sessions.delete(session.id);
    if (session.last_seq === 0 || session.status === 'ended') continue;
    session.status = 'lost';
    publish(hub, session);
  }
}

export function snapshotOf(
  hub: Hub,
  session: LiveSession,
  more: Record<string, unknown> = {},
): LiveMessage<'session_state'> {
  const { id: session_id, status, last_seq, calls, counters } = session;
  const open_calls = [...calls.keys().take(LIMITS.live_open_calls_named_max)];
  const data = {
    status,
    open_calls,
    last_seq,
    counters: { ...counters, open_calls: calls.size },
    ...more,
  };
  return messageOf(hub, 'session_state', data, { session_id });
}

/**
 * A session of which nothing came since this collector began, as the journal has it: counted again from its messages, once.
 * Null when there is none.
 */
export async function recall(
  hub: Hub,
  id: string,
  signal: AbortSignal,
): Promise<LiveSession | null> {
  const session = newSession(id);
  for await (const { source, seq, body } of hub.options.reader.session(id)) {
    if (signal.aborted) return null;
    if (source !== LIVE_SOURCE) continue;
    const { message, fault } = readText(body);
    if (fault === null) note(hub, { session, message, seq, text: body, received_ms: null });
  }
  // Where it has gone on meanwhile, its messages tell.
  if (hub.sessions.has(id) || session.last_seq === 0) return null;
  if (session.status === 'active') session.status = 'lost';
  if (makeRoom(hub)) hub.sessions.set(id, session);
  return session;
}

export const wantsState = ({ session_ids, types }: Subscription, id: string) =>
  (session_ids === null || session_ids.has(id)) && (types === null || types.has('session_state'));

function publish(hub: Hub, session: LiveSession, more: Record<string, unknown> = {}): void {
  for (const connection of hub.connections) {
    if ([...connection.subscriptions].some((one) => wantsState(one, session.id)))
      sayIfRoom(hub, connection, snapshotOf(hub, session, more));
  }
}
