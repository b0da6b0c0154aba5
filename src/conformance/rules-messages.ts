/** Criteria 1.1–1.5: messages are complete and match their calls. */

import { LIVE_TYPES } from '../model/live-words.ts';
import { CONFORMANCE_LIMITS } from './limits.ts';
import { type Evidence, missesCalls, type SectionRule } from './rule.ts';
import type { Item } from './tracked.ts';
import { type Message, type Place, placeOf } from './types.ts';

/** Why a message does not match the request of its call; null when it matches or the request is unknown. */
function misfit({ message, call, session }: Item, { counts }: Evidence): string | null {
  if (message === null || session === null) return null;
  if (call === null && missesCalls(session, counts)) return null;
  if (call === null) return `no earlier tool_call_request with call_id ${message.data.call_id}`;
  if (call.correlation_id !== message.correlation_id)
    return `correlation_id is ${message.correlation_id}, but its request has ${call.correlation_id}`;
  return null;
}

/** A rule for one message type: its fields are valid, and `more` finds no fault. */
const typeRule = (
  { id, title, type }: { id: string; title: string; type: string },
  more: (item: Item, evidence: Evidence) => string | null,
): SectionRule => ({
  id,
  title,
  types: [type],
  nothing: `there is no ${type}`,
  create: (tally, evidence) => ({
    push: (item) => tally.judge(item, item.fault?.message ?? more(item, evidence)),
  }),
});

/** Progress must be numeric; a number written as text is a fault. */
function textProgress({ message }: Item): string | null {
  const progress = (message?.data.progress ?? {}) as Record<string, unknown>;
  for (const [name, value] of Object.entries(progress)) {
    if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)))
      return `data.progress.${name} must be a number, but is the text ${JSON.stringify(value)}`;
  }
  return null;
}

const KNOWN: ReadonlySet<string> = new Set(LIVE_TYPES);
const UNKNOWN_CODES: ReadonlySet<unknown> = new Set([
  'INVALID_MESSAGE_TYPE',
  'UNKNOWN_MESSAGE_TYPE',
]);

const NO_UNKNOWN = 'there are no messages of an unknown type';

interface Waiting {
  place: Place;
  message_id: unknown;
}

/** Every message of an unknown type is answered with an error that names it. */
const unknownTypes: SectionRule = {
  id: '1.5',
  title: 'unknown types are answered with an error',
  types: null,
  nothing: NO_UNKNOWN,
  create(tally, { live }) {
    const waiting: Waiting[] = [];
    let unanswered = 0;
    /** Whether the stream includes answers of the receiver. */
    let answers = false;

    function answered({ data }: Message): void {
      if (!UNKNOWN_CODES.has(data.error_code)) return;
      const cause = (data.caused_by ?? {}) as Record<string, unknown>;
      const at = waiting.findIndex(({ place, message_id }) =>
        cause.message_id == null
          ? cause.seq != null && cause.seq === place.seq
          : cause.message_id === message_id,
      );
      if (at >= 0) tally.judge((waiting.splice(at, 1)[0] as Waiting).place, null);
    }

    function settle(): void {
      for (const { place } of waiting.splice(0)) {
        if (answers) tally.judge(place, 'no INVALID_MESSAGE_TYPE error answers the message');
        else unanswered += 1;
      }
    }

    return {
      push(item) {
        const { message, type } = item;
        if (message !== null) {
          answers ||= message.type === 'ack' || message.type === 'handshake_response';
          if (message.type === 'error') answered(message);
        } else if (type !== null && !KNOWN.has(type)) {
          if (waiting.length >= CONFORMANCE_LIMITS.waiting_max) settle();
          waiting.push({ place: placeOf(item), message_id: item.raw?.message_id });
        }
      },
      end: settle,
      nothing() {
        const count = unanswered + waiting.length;
        if (count === 0) return NO_UNKNOWN;
        return live
          ? `${count} messages of an unknown type are not answered yet`
          : `this stream has ${count} messages of an unknown type, but no answers`;
      },
    };
  },
};

export const MESSAGE_RULES: readonly SectionRule[] = [
  typeRule(
    { id: '1.1', title: 'tool_call_request is complete', type: 'tool_call_request' },
    () => null,
  ),
  typeRule(
    { id: '1.2', title: 'tool_call_response matches its request', type: 'tool_call_response' },
    misfit,
  ),
  typeRule(
    { id: '1.3', title: 'tool_execution_status matches its call', type: 'tool_execution_status' },
    (item, evidence) => misfit(item, evidence) ?? textProgress(item),
  ),
  typeRule(
    { id: '1.4', title: 'tool_call_confirmation is complete', type: 'tool_call_confirmation' },
    () => null,
  ),
  unknownTypes,
];
