/** Messages after the handshake: numbered ones go to the journal and are acknowledged when they are durable. */

import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import {
  AGENT_MESSAGE_TYPES,
  CLIENT_MESSAGE_TYPES,
  CONTROL_MESSAGE_TYPES,
  type LiveRole,
  URGENT_TYPES,
} from '../../model/live-words.ts';
import { type WireMessage, wantsAck } from '../protocol/messages.ts';
import { refusalOf } from './auth.ts';
import { forward, routeAnswer } from './forward.ts';
import {
  type Arrival,
  type Connection,
  complain,
  countLimit,
  type Hub,
  LIVE_SOURCE,
  messageOf,
  say,
  type Taken,
} from './hub.ts';
import { judge, judgeControl } from './judging.ts';
import { claim, infoOf, note } from './sessions.ts';
import { compareClocks } from './skew.ts';
import { noteBehind, subscribe, takeWindow, unsubscribe } from './subscriptions.ts';

type Handler = (hub: Hub, connection: Connection, arrival: Arrival) => void;
type Control = (hub: Hub, connection: Connection, message: WireMessage) => void;

const HANDLERS: Readonly<Record<string, Handler>> = {
  ...Object.fromEntries(AGENT_MESSAGE_TYPES.map((type) => [type, takeNumbered])),
  ...Object.fromEntries(CLIENT_MESSAGE_TYPES.map((type) => [type, takeInput])),
  subscribe_events: withSubscribe(subscribe),
  unsubscribe_events: withSubscribe(unsubscribe),
  heartbeat: control(compareClocks),
  flow_control: control(takeWindow),
  error: takeError,
};

/** Whose a message is, where it is only one role's. Agents may subscribe, too: stdio has room for one peer only. */
const ROLES: Readonly<Record<string, LiveRole>> = {
  ...Object.fromEntries(AGENT_MESSAGE_TYPES.map((type) => [type, 'agent'])),
  ...Object.fromEntries(CLIENT_MESSAGE_TYPES.map((type) => [type, 'client'])),
};

const FREE: ReadonlySet<unknown> = new Set([...CONTROL_MESSAGE_TYPES, ...URGENT_TYPES]);

/** A line costs a credit whether or not it could be taken: its sender has spent one. */
export function spend(connection: Connection, type: unknown): void {
  if (!FREE.has(type)) connection.credits -= 1;
}

/** What a collector itself sends (ack, handshake_response) says nothing to it. */
export function takeMessage(hub: Hub, connection: Connection, arrival: Arrival): void {
  const { message } = arrival;
  const { type } = message;
  const role = own(ROLES, type);
  if (role === undefined || role === connection.role)
    own(HANDLERS, type)?.(hub, connection, arrival);
  else
    refuse(
      hub,
      connection,
      message,
      `${type} is sent by the role ${role}: the handshake of this connection said ${connection.role}`,
    );
}

/** A message of the connection itself. */
function control(handler: Control): Handler {
  return (hub, connection, arrival) => {
    judgeControl(hub, connection, arrival);
    handler(hub, connection, arrival.message);
  };
}

function withSubscribe(handler: Control): Handler {
  const taken = control(handler);
  return (hub, connection, arrival) => {
    const refused = refusalOf(connection.grant, 'subscribe', null);
    if (refused === null) taken(hub, connection, arrival);
    else refuse(hub, connection, arrival.message, refused);
  };
}

function takeInput(hub: Hub, connection: Connection, arrival: Arrival): void {
  const { message, text } = arrival;
  const refused = refusalOf(connection.grant, 'inject', message.session_id ?? null);
  if (refused !== null) {
    refuse(hub, connection, message, refused);
    return;
  }
  judge(hub, connection, arrival);
  forward(hub, connection, message, text);
}

/** An error is never answered with an error. */
function takeError(hub: Hub, connection: Connection, arrival: Arrival): void {
  const { message, text } = arrival;
  routeAnswer(hub, connection, message, text);
  const numbered = (message.seq ?? 0) > 0 && (message.session_id ?? '') !== '';
  if (numbered) takeNumbered(hub, connection, arrival);
  else judgeControl(hub, connection, arrival);
}

function refuse(hub: Hub, connection: Connection, message: WireMessage, why: string): void {
  complain(hub, connection, 'AUTH_FAILED', { message: why, about: message, severity: 'error' });
}

function takeNumbered(hub: Hub, connection: Connection, arrival: Arrival): void {
  const { message } = arrival;
  const { session_id = null, seq = null } = message;
  if (session_id === null || seq === null) {
    const details = { missing_field: 'seq' };
    const why = 'the field seq is missing: a message of an agent is numbered';
    complain(hub, connection, 'MISSING_REQUIRED_FIELD', { message: why, about: message, details });
    return;
  }
  const fault = seqFault(seq);
  if (fault !== null) {
    complain(hub, connection, 'INVALID_FIELD_TYPE', { ...fault, about: message });
    return;
  }
  const refused = refusalOf(connection.grant, 'send', session_id);
  if (refused !== null) {
    refuse(hub, connection, message, refused);
    return;
  }
  const claimed = claim(hub, connection, session_id, { take_over: false });
  if ('session' in claimed) {
    const { session } = claimed;
    session.ending = message.type === 'session_end';
    connection.batch.push({ ...arrival, session, seq });
  } else if ('full' in claimed) {
    countLimit(hub, 'sessions_max');
    complain(hub, connection, 'CAPACITY_EXHAUSTED', { ...claimed.full, about: message });
  } else {
    hub.counters.collisions += 1;
    const existing = hub.sessions.get(session_id);
    complain(hub, connection, 'SESSION_COLLISION', {
      message: 'another connection sends for this session: resume it with a handshake',
      about: message,
      details: {
        conflicting_session_id: session_id,
        existing_session_info: existing && infoOf(existing),
      },
    });
  }
}

/** What the journal would refuse as a fault of ours. */
function seqFault(seq: number) {
  if (seq <= LIMITS.session_events_max) return null;
  const expected = `a number up to ${LIMITS.session_events_max}`;
  const details = { field: 'seq', expected, received_type: 'number' };
  return { message: `the field seq must be ${expected}`, details };
}

/** Hands what a piece of input held to the journal. `after`: when it is durable or has failed. */
export function commit(hub: Hub, connection: Connection, after: () => void): void {
  const { batch } = connection;
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
      (results) => settle(hub, connection, batch, results),
      (error: Error) => unstored(hub, connection, batch, error),
    )
    .finally(() => {
      connection.pending -= batch.length;
      connection.pending_bytes -= bytes;
      hub.pending_bytes -= bytes;
      after();
    });
}

type Result = Awaited<ReturnType<Hub['options']['journal']['append']>>[number];

function settle(
  hub: Hub,
  connection: Connection,
  batch: readonly Taken[],
  results: readonly Result[],
): void {
  const gaps: Taken[] = [];
  for (const [i, taken] of batch.entries()) {
    const result = results[i] as Result;
    if (taken.message.type === 'session_end') taken.session.ending = false;
    if (result === 'stored' || result === 'duplicate') {
      connection.is_sender = true;
      judge(hub, connection, taken);
    }
    if (result === 'stored') {
      hub.counters.stored += 1;
      note(hub, taken);
      noteBehind(hub, taken);
    } else if (result === 'duplicate') {
      hub.counters.duplicates += 1;
      taken.session.last_seq = Math.max(taken.session.last_seq, taken.seq);
    } else if (result === 'conflict') tellConflict(hub, connection, taken);
    else gaps.push(taken);
    // One that comes again is wondered about, also where no acknowledgement was asked for.
    const wanted = result === 'duplicate' || (result === 'stored' && wantsAck(taken.message));
    if (wanted) acknowledge(hub, connection, taken);
  }
  if (gaps.length > 0) void tellGaps(hub, connection, gaps);
}

/** Those of one group commit come together in one message: they are settled in the same turn. */
function acknowledge(hub: Hub, connection: Connection, { session }: Taken): void {
  if (connection.acks.size === 0) process.nextTick(flushAcks, hub, connection);
  connection.acks.set(session.id, session.last_seq);
}

export function flushAcks(hub: Hub, connection: Connection): void {
  if (connection.acks.size === 0) return;
  const acked = [...connection.acks].map(([session_id, seq]) => ({ session_id, seq }));
  connection.acks.clear();
  say(hub, connection, messageOf(hub, 'ack', { acked, durable: true }));
}

function tellConflict(hub: Hub, connection: Connection, { message, seq }: Taken): void {
  hub.counters.conflicts += 1;
  complain(hub, connection, 'DUPLICATE_CONFLICT', {
    message: `number ${seq} of this session is stored with another content`,
    about: message,
    details: { field: 'seq', received_seq: seq },
  });
}

async function tellGaps(hub: Hub, connection: Connection, gaps: readonly Taken[]): Promise<void> {
  const { journal } = hub.options;
  for (const { session, message, seq } of gaps) {
    const last = await journal.lastSeq(session.id, LIVE_SOURCE).catch(() => session.last_seq);
    hub.counters.gaps += 1;
    complain(hub, connection, 'INVALID_MESSAGE_FORMAT', {
      message: `number ${seq} does not follow: the next of this session is ${last + 1}`,
      about: message,
      retriable: true,
      details: { field: 'seq', expected_seq: last + 1, received_seq: seq },
    });
    // One of which nothing is stored is no session yet.
    if (last === 0 && session.last_seq === 0) hub.sessions.delete(session.id);
  }
}

/** Nothing is acknowledged: the sender keeps it and sends it again. */
function unstored(hub: Hub, connection: Connection, batch: readonly Taken[], error: Error): void {
  hub.counters.unstored += batch.length;
  for (const { session } of batch) session.ending = false;
  complain(hub, connection, 'CAPACITY_EXHAUSTED', {
    message: `not stored: ${error.message}`,
    about: batch[0]?.message ?? null,
    details: {
      reason: (error as { code?: string }).code ?? 'unknown',
      pending_messages: batch.length,
    },
  });
}

/**
 * Gives new credits when half are used up and there is room (LP-10). What the peer is told replaces its count, but what it
 * has left may be under way already: so it is told only what comes to that, and never has more than we reckon with.
 */
export function replenish(hub: Hub, connection: Connection): void {
  const { credits } = hub.limits;
  if (connection.phase !== 'open') return;
  if (connection.credits > credits / 2 || connection.pending > credits / 4) return;
  const left = Math.max(0, connection.credits);
  connection.credits = credits - connection.pending;
  connection.over_told = false;
  const data = { available_credits: connection.credits - left, capacity: credits };
  say(hub, connection, messageOf(hub, 'flow_control', data));
}

/** Whether the peer goes on without credits. */
export function isOver(hub: Hub, connection: Connection): boolean {
  const { credits } = hub.limits;
  if (connection.credits >= 0) return false;
  if (connection.over_told) return true;
  connection.over_told = true;
  countLimit(hub, 'credits');
  complain(hub, connection, 'CAPACITY_EXHAUSTED', {
    message: 'no credits are left: nothing more is read until there is room',
    severity: 'warning',
    details: {
      current_capacity: 0,
      max_capacity: credits,
      pending_messages: connection.pending,
    },
  });
  return true;
}
