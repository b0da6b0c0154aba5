/** Criteria 6.1–6.2: failures stay isolated, and nothing is lost. */
import { ACKED_TYPES, AGENT_MESSAGE_TYPES } from '../model/live-words.ts';
import type { SectionRule } from './rule.ts';
import type { Item, Session } from './tracked.ts';
import { type Message, type Place, placeOf } from './types.ts';

/** Final statuses of a session that a failure ended. */
const BROUGHT_DOWN = /^(fail|error|crash|lost|abort|agent_error)/i;

const survival: SectionRule = {
  id: '6.1',
  title: 'sessions survive the failure of a tool',
  types: AGENT_MESSAGE_TYPES,
  nothing: 'no tool failed',
  create(tally, { live }) {
    /** The last failure of each session that no message has followed yet. */
    const waiting = new Map<string, Place>();

    function followed(item: Item, session: Session): void {
      const place = waiting.get(session.id);
      if (place === undefined) return;
      waiting.delete(session.id);
      const { type, data } = item.message as Message;
      const down = type === 'session_end' && BROUGHT_DOWN.test(data.status as string);
      tally.judge(place, down ? `the session ended with the failure: ${data.status}` : null);
    }

    return {
      push(item) {
        const { message, session, call } = item;
        if (message === null || session === null) return;
        if (waiting.size > 0) followed(item, session);
        if (message.type !== 'tool_call_response') return;
        const failed = message.data.error != null;
        if (call?.failed && !failed)
          tally.judge(item, `call ${call.call_id} failed, but its response has a result`);
        if (failed && !session.ended) waiting.set(session.id, placeOf(item));
      },
      close(session) {
        const place = waiting.get(session.id);
        waiting.delete(session.id);
        // A session dropped from a live stream may still continue.
        if (place !== undefined && !live)
          tally.judge(place, 'no message followed the failure, not even session_end');
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
  nothing: 'there are no critical messages',
  create(tally, { live }) {
    let acks = 0;
    /** Per session: the last acknowledged number, and the last critical message. */
    const sessions = new Map<string, { acked: number; last: Place; unacked: number }>();

    function acknowledge({ data }: Message, item: Item): void {
      acks += 1;
      if (data.durable !== true)
        tally.judge(item, 'the ack covers messages that are not stored durably');
      for (const { session_id, seq } of data.acked as { session_id: string; seq: number }[]) {
        // A session without critical messages needs no acknowledgement.
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
        tally.judge(item, refused ? `${message.type} does not request an acknowledgement` : null);
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
          tally.judge(place, `messages missing from the session: ${missing}`);
        if (acks > 0 && state !== undefined && state.unacked > 0 && !live)
          tally.judge(state.last, `critical messages without an acknowledgement: ${state.unacked}`);
      },
      unjudged: () => (acks === 0 ? ['acknowledgements: this stream has none'] : []),
    };
  },
};

export const RESILIENCE_RULES: readonly SectionRule[] = [survival, lossPrevention];
