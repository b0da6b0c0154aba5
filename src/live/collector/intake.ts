/** Messages after the handshake: the roles that may send them, and their handlers. */

import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import {
  AGENT_MESSAGE_TYPES,
  CLIENT_MESSAGE_TYPES,
  type LiveRole,
} from '../../model/live-words.ts';
import type { WireMessage } from '../protocol/messages.ts';
import { refusalOf } from './auth.ts';
import { put } from './commit.ts';
import { forward, routeAnswer } from './forward.ts';
import type { Arrival, Connection } from './hub.ts';
import { judge, judgeControl } from './judging.ts';
import { takeWindow } from './pump.ts';
import { claim } from './sessions.ts';
import { compareClocks } from './skew.ts';
import { subscribe, unsubscribe } from './subscriptions.ts';

type Handler = (connection: Connection, arrival: Arrival) => void;
type Control = (connection: Connection, message: WireMessage) => void;

const HANDLERS: Readonly<Record<string, Handler>> = {
  ...Object.fromEntries(AGENT_MESSAGE_TYPES.map((type) => [type, takeNumbered])),
  ...Object.fromEntries(CLIENT_MESSAGE_TYPES.map((type) => [type, takeInput])),
  subscribe_events: withSubscribe(subscribe),
  unsubscribe_events: withSubscribe(unsubscribe),
  heartbeat: control(compareClocks),
  flow_control: control(takeWindow),
  error: takeError,
};

/** The role that may send a message, if only one may. Agents may subscribe, too: stdio has only one peer. */
const ROLES: Readonly<Record<string, LiveRole>> = {
  ...Object.fromEntries(AGENT_MESSAGE_TYPES.map((type) => [type, 'agent'])),
  ...Object.fromEntries(CLIENT_MESSAGE_TYPES.map((type) => [type, 'client'])),
};

/** Messages that only a collector sends (ack, handshake_response) are ignored. */
export function takeMessage(connection: Connection, arrival: Arrival): void {
  const { message } = arrival;
  const { type } = message;
  const role = own(ROLES, type);
  if (role === undefined || role === connection.role) own(HANDLERS, type)?.(connection, arrival);
  else {
    const own_role = `the role of this connection is ${connection.role}`;
    refuse(connection, message, `only the role ${role} may send ${type}: ${own_role}`);
  }
}

/** A message of the connection itself. */
function control(handler: Control): Handler {
  return (connection, arrival) => {
    judgeControl(connection, arrival);
    handler(connection, arrival.message);
  };
}

function withSubscribe(handler: Control): Handler {
  const taken = control(handler);
  return (connection, arrival) => {
    const refused = refusalOf(connection.grant, 'subscribe', null);
    if (refused === null) taken(connection, arrival);
    else refuse(connection, arrival.message, refused);
  };
}

function takeInput(connection: Connection, arrival: Arrival): void {
  const { message, text } = arrival;
  const refused = refusalOf(connection.grant, 'inject', message.session_id ?? null);
  if (refused !== null) {
    refuse(connection, message, refused);
    return;
  }
  judge(connection, arrival);
  forward(connection, message, text);
}

/** An error is never answered with an error. */
function takeError(connection: Connection, arrival: Arrival): void {
  const { message, text } = arrival;
  routeAnswer(connection, message, text);
  const numbered = (message.seq ?? 0) > 0 && (message.session_id ?? '') !== '';
  if (numbered) takeNumbered(connection, arrival);
  else judgeControl(connection, arrival);
}

function refuse(connection: Connection, message: WireMessage, why: string): void {
  connection.complain('AUTH_FAILED', why, { about: message, severity: 'error' });
}

function takeNumbered(connection: Connection, arrival: Arrival): void {
  const { message: about } = arrival;
  const { session_id = null, seq = null } = about;
  if (session_id === null || seq === null) {
    const details = { missing_field: 'seq' };
    const why = 'the field seq is missing: messages of an agent are numbered';
    connection.complain('MISSING_REQUIRED_FIELD', why, { about, details });
    return;
  }
  // The journal would refuse it as an internal error.
  if (seq > LIMITS.session_events_max) {
    const expected = `a number up to ${LIMITS.session_events_max}`;
    const details = { field: 'seq', expected, received_type: 'number' };
    const why = `the field seq must be ${expected}`;
    connection.complain('INVALID_FIELD_TYPE', why, { about, details });
    return;
  }
  const refused = refusalOf(connection.grant, 'send', session_id);
  if (refused === null) takeOfSession(connection, arrival, { session_id, seq });
  else refuse(connection, about, refused);
}

function takeOfSession(
  connection: Connection,
  arrival: Arrival,
  { session_id, seq }: { session_id: string; seq: number },
): void {
  const { hub } = connection;
  const { message: about } = arrival;
  const claimed = claim(connection, session_id, { take_over: false });
  if ('session' in claimed) {
    const { session } = claimed;
    session.ending = about.type === 'session_end';
    put(connection, arrival, { session, seq });
  } else if ('full' in claimed) {
    hub.countLimit('sessions_max');
    const { message, details } = claimed.full;
    connection.complain('CAPACITY_EXHAUSTED', message, { details, about });
  } else {
    hub.counters.collisions += 1;
    const why = 'another connection owns this session: resume it with a handshake';
    const existing_session_info = hub.sessions.get(session_id)?.info;
    const details = { conflicting_session_id: session_id, existing_session_info };
    connection.complain('SESSION_COLLISION', why, { about, details });
  }
}
