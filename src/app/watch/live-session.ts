/**
 * One live session of a followed run: its events, as they are in the journal, become messages in the outbox. Contract:
 * messages that the outbox has already are not made twice, so a session continues after a kill.
 */
import { compose } from '../../live/protocol/compose.ts';
import type { Event } from '../../model/event.ts';
import type { LiveMessage } from '../../model/live.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { LiveProjector } from '../../projections/live/live.ts';
import type { JournalRead } from '../../store/journal/read.ts';
import type { OutSession } from '../live/sender.ts';
import { eventIn } from '../runs/journal-events.ts';
import { Closing } from '../runs/run-entries.ts';
import type { SentRun } from './live-book.ts';

/** Events of one run that wait in memory. Further ones are read from the journal. */
const FRESH_MAX = 10_000;
/** Events between two looks at the size of the outboxes. */
const FULL_EVERY = 64;

/** The first session of a run has its id. */
export const sessionId = ({ run_id, sessions }: Pick<SentRun, 'run_id' | 'sessions'>) =>
  sessions === 1 ? run_id : `${run_id}.${sessions}`;

export class LiveSession {
  readonly sent: SentRun;
  readonly out: OutSession;
  /** The number of the next event. */
  next: number;
  readonly #projector: LiveProjector;
  /** The event of the last message that the outbox had at the beginning. */
  readonly #stored: { seq: number; messages: number };
  #first: Event | null = null;
  #fresh: Event[] = [];

  constructor(sent: SentRun, out: OutSession) {
    this.sent = sent;
    this.out = out;
    // A later session has only what the earlier ones lack.
    this.next = sent.events + 1;
    this.#stored = { ...out.outbox.last_event };
    // Without messages that are made by time: they would differ when they are made again.
    const times = { call_timeout_ms: null, abandoned_ms: null };
    this.#projector = new LiveProjector({ session_id: out.session_id, trace: null, ...times });
  }

  /** A new event of the run, as it is journalled. */
  observe(event: Event): void {
    if (this.#fresh.length <= FRESH_MAX) this.#fresh.push(event);
  }

  /** Takes what is new: from memory, otherwise from the journal. False if `isFull` stopped it. */
  async catchUp(journal: JournalRead, isFull: () => boolean): Promise<boolean> {
    const fresh = this.#fresh;
    this.#fresh = [];
    if (fresh[0]?.seq === this.next && fresh.length <= FRESH_MAX) {
      for (const event of fresh) this.#take(event);
      return true;
    }
    const { run_id } = this.sent;
    for await (const { source, seq, body } of journal) {
      if (source !== CAPTURE_SOURCE || (seq < this.next && seq > 1)) continue;
      const event = eventIn(body, run_id);
      if (event === null) continue;
      if (seq === 1) this.#first = event;
      this.#take(event);
      if (seq % FULL_EVERY === 0 && isFull()) return false;
    }
    return true;
  }

  /** Ends as the run does: with its provisional end. False if the journal has none. */
  async end(journal: JournalRead): Promise<boolean> {
    const { run_id } = this.sent;
    const closing = new Closing();
    for await (const entry of journal) if (entry.source === CLOSING_SOURCE) closing.take(entry);
    const end = closing.after(this.next - 1).map(({ body }) => eventIn(body, run_id));
    if (end.at(-1)?.kind !== 'run_finished') return false;
    this.#close(end.flatMap((event) => (event === null ? [] : this.#projector.push(event))));
    return true;
  }

  /** Ends without the run, which was removed. */
  endRemoved(): void {
    const { session_id } = this.out;
    const data = { status: 'removed', reason: 'the run was removed from the store' };
    const numbered = { session_id, seq: 0, at_ms: Date.now() };
    this.#close([compose('session_end', data, numbered) as LiveMessage]);
  }

  #take(event: Event): void {
    if (event.seq < this.next) return;
    const { events } = this.sent;
    const begins = events > 0 && event.seq === events + 1 && this.#first !== null;
    const start = begins
      ? this.#projector.push({ ...this.#first, at_ms: event.at_ms } as Event)
      : [];
    const messages = [
      ...start.map((message) => this.#continuing(message)),
      ...this.#projector.push(event),
    ];
    const { seq, messages: whole } = this.#stored;
    const missing = event.seq === seq ? messages.slice(whole) : messages;
    if (event.seq >= seq && missing.length > 0) this.out.say(missing, event.seq);
    this.next = event.seq + 1;
  }

  /** The start names the session that it continues. */
  #continuing(message: LiveMessage): LiveMessage {
    if (message.type !== 'session_start') return message;
    const { run_id, sessions } = this.sent;
    const parent_session_id = sessionId({ run_id, sessions: sessions - 1 });
    return { ...message, data: { ...message.data, parent_session_id } } as LiveMessage;
  }

  /** Numbered as the last event: the run may continue with other events of the same numbers as its end. */
  #close(messages: LiveMessage[]): void {
    this.out.say(messages, Math.max(this.next - 1, this.out.outbox.last_event.seq));
  }
}
