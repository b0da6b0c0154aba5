/** Criteria 6.1–6.2: a failure stays where it is, and nothing is lost. */
import { ACKED_TYPES, AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item, Session } from './tracked.ts';
import { type Message, type Place, placeOf } from './types.ts';

/** How a session ends that was brought down. */
const BROUGHT_DOWN = /^(fail|error|crash|lost|abort|agent_error)/i;

const survival: SectionRule = {
  id: '6.1',
  title: 'sessions survive the failure of a tool',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'no tool failed',
  create(tally, { live }) {
    /** Failures after which nothing came yet, by session: at most one each. */
    const waiting = new Map<string, Place>();

    function goesOn(item: Item, session: Session): void {
      const place = waiting.get(session.id);
      if (place === undefined) return;
      waiting.delete(session.id);
      const { type, data } = item.message as Message;
      const down = type === 'session_end' && BROUGHT_DOWN.test(data.status as string);
      tally.judge(place, down ? `the session ended with it: ${data.status}` : null);
    }

    return {
      push(item) {
        const { message, session, call } = item;
        if (message === null || session === null) return;
        if (waiting.size > 0) goesOn(item, session);
        if (message.type !== 'tool_call_response') return;
        const failed = message.data.error != null;
        if (call?.failed && !failed)
          tally.judge(item, `call ${call.call_id} failed, and its response has a result`);
        if (failed && !session.ended) waiting.set(session.id, placeOf(item));
      },
      close(session) {
        const place = waiting.get(session.id);
        waiting.delete(session.id);
        // Live, one that is let go may still continue.
        if (place !== undefined && !live)
          tally.judge(place, 'nothing came after it, not even session_end');
      },
    };
  },
};

const isCritical = ({ type, ack_required }: Message) =>
  ack_required === true || ACKED_TYPES.has(type);

const lossPrevention: SectionRule = {
  id: '6.2',
  title: 'critical messages are acknowledged, none is lost',
  types: null,
  nothing: 'there is no critical message',
  create(tally, { live }) {
    let acks = 0;
    /** By session: how far it is acknowledged, and the last critical message. */
    const sessions = new Map<string, { acked: number; last: Place; unacked: number }>();

    function acknowledge({ data }: Message, item: Item): void {
      acks += 1;
      if (data.durable !== true) tally.judge(item, 'it acknowledges what is not stored durably');
      for (const { session_id, seq } of data.acked as { session_id: string; seq: number }[]) {
        // A session that was not seen has nothing to acknowledge.
        const state = sessions.get(session_id);
        if (state === undefined) continue;
        state.acked = Math.max(state.acked, seq);
        if ((state.last.seq ?? 0) <= state.acked) state.unacked = 0;
      }
    }

    return {
      push(item) {
        const { message, session, seq } = item;
        if (message === null) return;
        if (message.type === 'ack') acknowledge(message, item);
        if (session === null || seq === null) return;
        if (!isCritical(message)) return;
        const refused = message.ack_required === false;
        tally.judge(item, refused ? `${message.type} does not ask for an acknowledgement` : null);
        const known = sessions.get(session.id);
        const state = known ?? { acked: 0, last: placeOf(item), unacked: 0 };
        if (known === undefined) sessions.set(session.id, state);
        if (seq <= state.acked) return;
        state.unacked += 1;
        state.last.line = item.line;
        state.last.seq = seq;
      },
      close({ id, missing, last_seq }) {
        const state = sessions.get(id);
        sessions.delete(id);
        const place = { line: null, session_id: id, seq: last_seq };
        if (missing > 0 && !live)
          tally.judge(place, `${missing} of the session's messages are missing`);
        if (acks > 0 && state !== undefined && state.unacked > 0 && !live)
          tally.judge(state.last, `${state.unacked} are not acknowledged`);
      },
      unjudged: () => (acks === 0 ? ['acknowledgements: there are none in this stream'] : []),
    };
  },
};

export const RESILIENCE_RULES: readonly SectionRule[] = [survival, lossPrevention];
