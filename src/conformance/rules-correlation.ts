/** Criteria 4.1–4.4: related messages are linked by their ids. */
import { own } from '../lib/own.ts';
import { AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import { FOLLOWING_TYPES, missesCalls, type SectionRule } from './rule.ts';
import type { Call, Item, Session } from './tracked.ts';
import type { Message } from './types.ts';

function mispaired({ message, call, session, at_ms }: Item): string | null {
  if (call === null || message === null) return null;
  if (call.answered) return `second response to call ${call.call_id}`;
  if (call.correlation_id !== message.correlation_id)
    return `correlation_id is ${message.correlation_id}, but its request has ${call.correlation_id}`;
  if (at_ms < call.requested_ms)
    return `its timestamp is ${call.requested_ms - at_ms} ms before its request`;
  return session?.ended ? 'message after the end of its session' : null;
}

const pairing: SectionRule = {
  id: '4.1',
  title: 'every request has a response',
  types: ['tool_call_request', 'tool_call_response', 'session_end'],
  nothing: 'no call was answered or had to be answered',
  create(tally, { sessions, counts }) {
    const unanswered = ({ place, call_id }: Call, end: string) =>
      tally.judge(place, `call ${call_id} was never answered: ${end}`);
    return {
      push(item) {
        const { message, call, session } = item;
        if (message === null || session === null) return;
        if (message.type === 'session_end')
          for (const open of session.calls.values()) unanswered(open, 'the session has ended');
        else if (message.type === 'tool_call_response') {
          // A response without a request is judged by 1.2 and 3.3.
          if (call !== null) tally.judge(item, mispaired(item));
        } else if (call !== null && !call.answered)
          tally.judge(item, `call_id ${call.call_id} is in use by an open call`);
      },
      end() {
        for (const { calls } of sessions.values())
          for (const call of calls.values()) unanswered(call, 'the stream has ended');
      },
      unjudged: () =>
        counts.calls_over === 0
          ? []
          : [`${counts.calls_over} calls beyond the limit of open calls`],
    };
  },
};

function contaminated({ owner, session }: Item): string | null {
  if (owner === null || session === null || owner.session_id === session.id) return null;
  return `correlation_id ${owner.correlation_id} belongs to session ${owner.session_id}`;
}

function stateFault({ data }: Message, session: Session): string | null {
  const closed = (data.open_calls as string[]).find((call_id) => !session.calls.has(call_id));
  if (closed !== undefined)
    return `session_state lists ${closed} as an open call, but it is not open`;
  return data.status === 'active'
    ? null
    : `session_state has status ${data.status} before session_end`;
}

const consistency: SectionRule = {
  id: '4.2',
  title: 'sessions are complete: start, messages, end',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'there are no messages of a session',
  create(tally, { sessions, counts }) {
    function wrong(item: Item): string | null | undefined {
      const { message, session } = item;
      if (message === null || session === null) return undefined;
      if (session.ended) return 'message after the end of its session';
      if (message.type === 'session_start')
        return session.started ? 'second session_start of the session' : null;
      // A stream may begin in the middle of a session: earlier messages are unknown.
      if (!session.started && session.first_seq === 1 && session.messages === 0)
        return 'the session does not start with session_start';
      if (message.type === 'session_state' && !missesCalls(session, counts)) {
        const fault = stateFault(message, session);
        if (fault !== null) return fault;
      }
      return contaminated(item);
    }
    return {
      push: (item) => tally.judge(item, wrong(item)),
      end() {
        for (const { id, last_seq, ended } of sessions.values())
          if (!ended)
            tally.judge(
              { line: null, session_id: id, seq: last_seq },
              'the stream ended without a session_end of the session',
            );
      },
      unjudged: () =>
        counts.sessions_over === 0
          ? []
          : [`${counts.sessions_over} messages of sessions beyond the limit of open sessions`],
    };
  },
};

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
const traceOf = (traceparent: string) => TRACEPARENT.exec(traceparent)?.[1];

function traceFault({ message, call }: Item): string | null {
  const own = message?.trace?.traceparent ?? null;
  if (own !== null) {
    const trace = traceOf(own);
    if (trace === undefined || /^0+$/.test(trace)) return `traceparent ${own} is not valid`;
  }
  if (message?.type === 'tool_call_request' || call === null) return null;
  if (call.trace !== null && own === null) return 'the trace of its request is missing';
  if (call.trace === null || own === null || traceOf(call.trace) === traceOf(own)) return null;
  return 'the trace id differs from that of its request';
}

const components: SectionRule = {
  id: '4.3',
  title: 'each call keeps its correlation id and its trace',
  types: ['tool_call_request', ...FOLLOWING_TYPES],
  nothing: 'there are no calls',
  create: (tally) => ({ push: (item) => tally.judge(item, linkFault(item)) }),
};

const ownedBy = ({ correlation_id, call_id }: Call) =>
  `correlation_id ${correlation_id} belongs to call ${call_id}`;

function linkFault(item: Item): string | null | undefined {
  const { message, call, owner, session } = item;
  if (message === null || session === null) return undefined;
  if (message.type === 'tool_call_request')
    return owner === null ? traceFault(item) : `${ownedBy(owner)} of session ${owner.session_id}`;
  const { call_id } = message.data;
  if (owner?.session_id === session.id && owner.call_id !== call_id)
    return `${ownedBy(owner)}, not to ${call_id}`;
  if (call !== null && call.correlation_id !== message.correlation_id)
    return `call ${call.call_id} has two correlation ids`;
  return traceFault(item);
}

/** Errors of the connection, which no message causes. */
const UNCAUSED =
  /^(CONNECTION_|STDIO_|NAMED_PIPE_|CAPACITY_|FLOW_CONTROL_|SESSION_TIMEOUT|INTERNAL_)/;
/** Errors about lines without ids: they carry a piece of the line instead. */
const UNREADABLE: Readonly<Record<string, string>> = {
  INVALID_JSON_FORMAT: 'raw_message',
  INVALID_NDJSON_FORMAT: 'problematic_line',
};

function unlinked(
  { data, session_id }: Message,
  sessions: ReadonlyMap<string, Session>,
): string | null {
  const { correlation_id, message_id, seq } = (data.caused_by ?? {}) as Record<string, unknown>;
  if (correlation_id == null && message_id == null && seq == null) {
    const field = own(UNREADABLE, String(data.error_code));
    const details = data.details as Record<string, unknown> | null | undefined;
    const shown = field !== undefined && typeof details?.[field] === 'string';
    return shown ? null : 'caused_by does not name a message';
  }
  const session = session_id == null ? undefined : sessions.get(session_id);
  if (typeof seq === 'number' && session !== undefined && seq > session.highest_seq)
    return `caused_by names number ${seq}, which the session has not reached`;
  return null;
}

const errors: SectionRule = {
  id: '4.4',
  title: 'errors name the message that caused them',
  types: ['error'],
  nothing: 'there are no errors caused by a message',
  create: (tally, { sessions }) => ({
    push(item) {
      const { message } = item;
      if (message === null || UNCAUSED.test(message.data.error_code as string)) return;
      tally.judge(item, unlinked(message, sessions) ?? foreign(item));
    },
  }),
};

function foreign({ owner, session_id }: Item): string | null {
  if (owner === null || session_id === null || owner.session_id === session_id) return null;
  return `the error is of session ${session_id}, but its cause is of session ${owner.session_id}`;
}

export const CORRELATION_RULES: readonly SectionRule[] = [pairing, consistency, components, errors];
