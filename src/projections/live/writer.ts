/** The envelope of live messages: numbers, times, ids (LP-3, LP-5). */
import { writableTime } from '../../lib/iso-time.ts';
import type { Event } from '../../model/event.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import { ACKED_TYPES, type LiveType, type TIME_SOURCES } from '../../model/live-words.ts';

type TimeSource = (typeof TIME_SOURCES)[number];
export type Trace = LiveMessage['trace'];
/** `data` of a type with additional fields: unlisted fields are passed on. */
export type DataAndMore<T extends LiveType> = LiveDataOf<T> & Record<string, unknown>;

const SOURCES: Record<Event['at_source'], TimeSource> = {
  native: 'agent',
  observed: 'capture',
  clamped: 'clamped',
};

export class LiveWriter {
  /** The last message, its number, and the time of the next one. */
  last: LiveMessage | null = null;
  seq = 0;
  at_ms = 0;
  readonly #session_id: string;
  readonly #trace: Trace;
  #made: LiveMessage[] = [];
  #source: TimeSource = 'capture';

  constructor(session_id: string, trace: Trace) {
    this.#session_id = session_id;
    this.#trace = trace;
  }

  /** Sets the time of the following messages. */
  moment(at_ms: number, source: Event['at_source']): void {
    const safe = writableTime(at_ms);
    this.#source = safe < this.at_ms ? 'clamped' : SOURCES[source];
    this.at_ms = Math.max(this.at_ms, safe);
  }

  /** `call_id`: the call it belongs to; null for none. */
  write<T extends LiveType>(type: T, data: DataAndMore<T>, call_id: string | null = null): void {
    this.seq += 1;
    const message: LiveMessage<T> = {
      type,
      timestamp: new Date(this.at_ms).toISOString(),
      session_id: this.#session_id,
      correlation_id: call_id === null ? null : `${this.#session_id}/${call_id}`,
      message_id: `${this.#session_id}-${this.seq}`,
      seq: this.seq,
      ack_required: ACKED_TYPES.has(type),
      trace: this.#trace,
      data: { ...data, time_source: this.#source },
    };
    this.last = message as LiveMessage;
    this.#made.push(message as LiveMessage);
  }

  take(): LiveMessage[] {
    const made = this.#made;
    this.#made = [];
    return made;
  }

  /** Continues after a message of an earlier writer of the session. */
  continueAfter(message: LiveMessage, at_ms: number): void {
    this.seq = Math.max(this.seq, message.seq ?? 0);
    this.at_ms = Math.max(this.at_ms, at_ms);
    this.last = message;
  }
}
