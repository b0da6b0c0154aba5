/** Criteria 3.1–3.4: times, delays, order, and status of long calls. */

import { LIMITS } from '../lib/limits.ts';
import { own } from '../lib/own.ts';
import { LIVE_TYPES } from '../model/live-words.ts';
import { FOLLOWING_TYPES, missesCalls, type SectionRule } from './rule.ts';
import { blockOf } from './sessions.ts';
import type { Call, Item } from './tracked.ts';

const NO_ARRIVALS = 'arrival times are unknown';
/** Types that are compared with their arrival time: they are sent immediately, ahead of queued messages. */
const CLOCK_TYPES: ReadonlySet<string> = new Set(['handshake_request', 'heartbeat']);

const timestamps: SectionRule = {
  id: '3.1',
  title: 'timestamps are exact and never go back',
  types: LIVE_TYPES,
  nothing: 'there are no messages of a known type',
  create(tally) {
    let clocks = 0;
    let captured = 0;

    function wrong(item: Item): string | null {
      const { fault, message, session, at_ms, received_ms } = item;
      if (fault !== null) return fault.field === 'timestamp' ? fault.message : null;
      if (message?.data.time_source === 'capture') captured += 1;
      if (received_ms !== null && CLOCK_TYPES.has(message?.type ?? '')) {
        clocks += 1;
        const skew_ms = Math.round(received_ms - at_ms);
        if (Math.abs(skew_ms) > LIMITS.live_skew_ms_max)
          return `the clocks differ by ${skew_ms} ms`;
      }
      // A queued message can arrive late; only a clock difference makes it arrive early.
      if (received_ms !== null && received_ms - at_ms < -LIMITS.live_skew_ms_max)
        return `it arrived ${at_ms - received_ms} ms before its timestamp: the clocks differ`;
      if (session === null || item.sequence === 'late' || at_ms >= session.last_ms) return null;
      return `its timestamp is ${session.last_ms - at_ms} ms before that of an earlier message of the session`;
    }

    return {
      push: (item) => tally.judge(item, wrong(item)),
      unjudged: () => [
        ...(clocks === 0
          ? ['clock difference: no handshake or heartbeat has an arrival time']
          : []),
        ...(captured > 0
          ? [`accuracy of ${captured} timestamps: their time_source is capture`]
          : []),
      ],
    };
  },
};

const DELAY_MS: Readonly<Record<string, number>> = {
  tool_call_request: 10,
  tool_call_response: 10,
  tool_execution_status: 50,
};
const DELAY_OTHER_MS = 100;

/** Milliseconds from the event to its arrival; null when unknown. */
export function delayOf({ message, received_ms, at_ms }: Item): number | null {
  return message === null || received_ms === null ? null : received_ms - at_ms;
}

const latency: SectionRule = {
  id: '3.2',
  title: 'events arrive in time',
  threshold: 0.95,
  types: LIVE_TYPES,
  nothing: NO_ARRIVALS,
  create: (tally) => ({
    push(item) {
      const delay_ms = delayOf(item);
      if (delay_ms === null || item.seq === null) return;
      const most_ms = own(DELAY_MS, item.type ?? '') ?? DELAY_OTHER_MS;
      const late = delay_ms > most_ms;
      const early = delay_ms < -LIMITS.live_skew_ms_max;
      const why = late
        ? `it arrived ${delay_ms} ms after its timestamp; at most ${most_ms} ms are allowed`
        : `it arrived ${-delay_ms} ms before its timestamp: the clocks differ`;
      tally.judge(item, late || early ? why : null);
    },
  }),
};

const CONTENT_TYPES = ['content_block_delta', 'content_block_stop', 'message_stop'];

const order: SectionRule = {
  id: '3.3',
  title: 'causes precede effects',
  types: ['tool_call_request', ...FOLLOWING_TYPES, ...CONTENT_TYPES],
  nothing: 'there are no calls and no content blocks',
  create(tally, { counts }) {
    function wrong(item: Item): string | null | undefined {
      const { message, session, call, owner } = item;
      if (message === null || session === null) return undefined;
      const { type, data } = message;
      const misses_blocks = session.joined || counts.blocks_over > 0;
      if (type === 'message_stop') {
        if (data.message_id == null || misses_blocks) return undefined;
        return session.texts.has(data.message_id as string)
          ? null
          : `no earlier message_start of ${data.message_id}`;
      }
      if (CONTENT_TYPES.includes(type)) {
        if (misses_blocks) return undefined;
        return session.blocks.has(blockOf(data))
          ? null
          : `no earlier content_block_start of block ${data.index}`;
      }
      if (owner !== null && owner.session_id !== session.id && !owner.answered)
        return `correlation_id ${owner.correlation_id} is in use by session ${owner.session_id}`;
      if (type === 'tool_call_request') return null;
      if (call === null)
        return missesCalls(session, counts)
          ? undefined
          : `no earlier tool_call_request with call_id ${data.call_id}`;
      return call.answered ? `call ${call.call_id} has already been answered` : null;
    }
    return { push: (item) => tally.judge(item, wrong(item)) };
  },
};

/** Tolerance for timers and busy machines. */
const SLACK_MS = 1_000;

function silence(call: Call, until_ms: number): string | null {
  const first_ms = call.first_ms ?? until_ms - call.requested_ms;
  if (first_ms > LIMITS.live_status_first_ms + SLACK_MS)
    return `call ${call.call_id}: no message in the first ${first_ms} ms`;
  const longest_ms = Math.max(call.longest_ms, until_ms - call.sign_ms);
  if (call.first_ms !== null && longest_ms > LIMITS.live_status_every_ms + SLACK_MS)
    return `call ${call.call_id}: no message for ${longest_ms} ms`;
  return null;
}

const statusReports: SectionRule = {
  id: '3.4',
  title: 'long calls report their status',
  types: ['tool_call_response', 'session_end'],
  nothing: 'no call took longer than 5 s',
  create(tally, { sessions }) {
    function judge(call: Call, until_ms: number): void {
      if (until_ms - call.requested_ms <= LIMITS.live_status_first_ms) return;
      tally.judge(call.place, silence(call, until_ms));
    }
    return {
      push({ message, session, call, at_ms }) {
        if (message === null || session === null) return;
        if (message.type === 'session_end')
          for (const open of session.calls.values()) judge(open, at_ms);
        else if (call !== null && !call.answered) judge(call, at_ms);
      },
      end() {
        for (const { calls, last_ms } of sessions.values())
          for (const call of calls.values()) judge(call, last_ms);
      },
    };
  },
};

export const TIMING_RULES: readonly SectionRule[] = [timestamps, latency, order, statusReports];
