/** Criteria 4.1–4.4: what belongs together says so. */
import { own } from '../lib/own.ts';
import { AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import { FOLLOWING_TYPES, missesCalls, type SectionRule } from './rule.ts';
import type { Call, Item, Session } from './tracked.ts';
import type { Message } from './types.ts';

function mispaired({ message, call, session, at_ms }: Item): string | null {
  if (call === null || message === null) return null;
  if (call.answered) return `a second answer to the call ${call.call_id}`;
  if (call.correlation_id !== message.correlation_id)
    return `correlation_id ${message.correlation_id} is not that of the request, ${call.correlation_id}`;
  if (at_ms < call.requested_ms) return `${call.requested_ms - at_ms} ms before its request`;
  return session?.ended ? 'after the end of its session' : null;
}

const pairing: SectionRule = {
  id: '4.1',
  title: 'every request has its response',
  types: ['tool_call_request', 'tool_call_response', 'session_end'],
  nothing: 'no call has been answered, and none should have been',
  create(tally, { sessions, counts }) {
    const unanswered = ({ place, call_id }: Call, end: string) =>
      tally.judge(place, `the call ${call_id} was never answered: ${end}`);
    return {
      push(item) {
        const { message, call, session } = item;
        if (message === null || session === null) return;
        if (message.type === 'session_end')
          for (const open of session.calls.values()) unanswered(open, 'the session has ended');
        else if (message.type === 'tool_call_response') {
          // Without its request it is no pair: 1.2 and 3.3 say so.
          if (call !== null) tally.judge(item, mispaired(item));
        } else if (call !== null && !call.answered)
          tally.judge(item, `the call_id ${call.call_id} is in use by an open call`);
      },
      end() {
        for (const { calls } of sessions.values())
          for (const call of calls.values()) unanswered(call, 'the stream has ended');
      },
      unjudged: () =>
        counts.calls_over === 0 ? [] : [`${counts.calls_over} calls beyond the limit of open ones`],
    };
  },
};

function contaminated({ owner, session }: Item): string | null {
  if (owner === null || session === null || owner.session_id === session.id) return null;
  return `correlation_id ${owner.correlation_id} belongs to session ${owner.session_id}`;
}

function stateFault({ data }: Message, session: Session): string | null {
  const gone = (data.open_calls as string[]).find((call_id) => !session.calls.has(call_id));
  if (gone !== undefined) return `session_state calls ${gone} open, and it is not`;
  return data.status === 'active' ? null : `session_state says ${data.status} before session_end`;
}

const consistency: SectionRule = {
  id: '4.2',
  title: 'sessions are whole: start, messages, end',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'there is no message of a session',
  create(tally, { sessions, counts }) {
    function wrong(item: Item): string | null | undefined {
      const { message, session } = item;
      if (message === null || session === null) return undefined;
      if (session.ended) return 'after the end of its session';
      if (message.type === 'session_start')
        return session.started ? 'a second session_start' : null;
      // A stream may begin in the middle of a session: what was before is not known.
      if (!session.started && session.first_seq === 1 && session.messages === 0)
        return 'the session does not begin with session_start';
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
              'the stream has ended, and the session has no session_end',
            );
      },
      unjudged: () =>
        counts.sessions_over === 0
          ? []
          : [`${counts.sessions_over} messages of sessions beyond the limit of open ones`],
    };
  },
};

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
const traceOf = (traceparent: string) => TRACEPARENT.exec(traceparent)?.[1];

function traceFault({ message, call }: Item): string | null {
  const own = message?.trace?.traceparent ?? null;
  if (own !== null) {
    const trace = traceOf(own);
    if (trace === undefined || /^0+$/.test(trace)) return `traceparent ${own} is none`;
  }
  if (message?.type === 'tool_call_request' || call === null) return null;
  if (call.trace !== null && own === null) return 'the trace of its request is lost';
  if (call.trace === null || own === null || traceOf(call.trace) === traceOf(own)) return null;
  return 'the trace is not that of its request';
}

const components: SectionRule = {
  id: '4.3',
  title: 'correlation ids are one to a call, traces are kept',
  types: ['tool_call_request', ...FOLLOWING_TYPES],
  nothing: 'there are no calls',
  create: (tally) => ({ push: (item) => tally.judge(item, linkFault(item)) }),
};

const holderOf = ({ correlation_id, call_id }: Call) =>
  `correlation_id ${correlation_id} is that of call ${call_id}`;

function linkFault(item: Item): string | null | undefined {
  const { message, call, owner, session } = item;
  if (message === null || session === null) return undefined;
  if (message.type === 'tool_call_request')
    return owner === null ? traceFault(item) : `${holderOf(owner)} of session ${owner.session_id}`;
  const { call_id } = message.data;
  if (owner?.session_id === session.id && owner.call_id !== call_id)
    return `${holderOf(owner)}, not of ${call_id}`;
  if (call !== null && call.correlation_id !== message.correlation_id)
    return `call ${call.call_id} has two correlation ids`;
  return traceFault(item);
}

/** Of the connection, not of a message. */
const UNCAUSED =
  /^(CONNECTION_|STDIO_|NAMED_PIPE_|CAPACITY_|FLOW_CONTROL_|SESSION_TIMEOUT|INTERNAL_)/;
/** Answers to lines without ids: they carry a piece of the line instead. */
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
    return shown ? null : 'caused_by names no message';
  }
  const session = session_id == null ? undefined : sessions.get(session_id);
  if (typeof seq === 'number' && session !== undefined && seq > session.highest_seq)
    return `caused_by names number ${seq}, which the session has not reached`;
  return null;
}

const errors: SectionRule = {
  id: '4.4',
  title: 'errors name what led to them',
  types: ['error'],
  nothing: 'there is no error that a message led to',
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
  return `it is of session ${session_id}, its cause of session ${owner.session_id}`;
}

export const CORRELATION_RULES: readonly SectionRule[] = [pairing, consistency, components, errors];
