/** The calls of a stream: open calls, answered calls, and the owner of each correlation id. */
import { LastSet } from '../lib/bounded.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Call, Item, Session, TrackerCounts } from './tracked.ts';
import { type Message, placeOf } from './types.ts';

const keyOf = (session_id: string, call_id: string) => `${session_id}\n${call_id}`;

export class CallBook {
  /** The latest answered calls. */
  readonly #answered = new LastSet<string, Call>(LIMITS.calls_remembered_max, (_, call) =>
    disown(call),
  );
  readonly #counts: TrackerCounts;

  constructor(counts: TrackerCounts) {
    this.#counts = counts;
  }

  find(session: Session | undefined, session_id: string, call_id: unknown): Call | null {
    if (typeof call_id !== 'string') return null;
    const open = session?.calls.get(call_id);
    return open ?? this.#answered.get(keyOf(session_id, call_id)) ?? null;
  }

  settle(item: Item, message: Message, session: Session): void {
    if (message.type === 'tool_call_request') {
      this.#open(item, message, session);
      return;
    }
    const { call } = item;
    if (call === null || call.answered) return;
    const quiet_ms = item.at_ms - call.sign_ms;
    if (call.first_ms === null) call.first_ms = quiet_ms;
    else call.longest_ms = Math.max(call.longest_ms, quiet_ms);
    call.sign_ms = Math.max(call.sign_ms, item.at_ms);
    if (message.type === 'tool_execution_status') call.failed ||= message.data.status === 'failed';
    if (message.type === 'tool_call_response') this.close(call, session);
  }

  close(call: Call, session: Session): void {
    call.answered = true;
    session.calls.delete(call.call_id);
    const key = keyOf(call.session_id, call.call_id);
    const earlier = this.#answered.get(key);
    if (earlier !== undefined) disown(earlier);
    this.#answered.set(key, call);
  }

  /** Drops the open calls of a dropped session; they are not judged. */
  drop({ calls }: Session): void {
    for (const call of calls.values()) disown(call);
    calls.clear();
  }

  #open(item: Item, message: Message, session: Session): void {
    // A duplicate id is judged by 4.1; the first call keeps it.
    if (item.call !== null && !item.call.answered) return;
    const { sender, calls } = session;
    const call: Call = {
      session_id: session.id,
      sender,
      call_id: message.data.call_id as string,
      correlation_id: message.correlation_id as string,
      trace: message.trace?.traceparent ?? null,
      place: placeOf(item),
      requested_ms: item.at_ms,
      sign_ms: item.at_ms,
      longest_ms: 0,
      first_ms: null,
      failed: false,
      answered: false,
    };
    if (calls.size >= LIMITS.live_open_calls_max || !calls.fits(call.call_id, call)) {
      this.#counts.calls_over += 1;
      return;
    }
    calls.set(call.call_id, call);
    if (!sender.owners.has(call.correlation_id)) sender.owners.set(call.correlation_id, call);
  }
}

function disown(call: Call): void {
  const { owners } = call.sender;
  if (owners.get(call.correlation_id) === call) owners.delete(call.correlation_id);
}
