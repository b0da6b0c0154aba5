/** How far one session's messages have come: what is acknowledged, what was sent, when it is sent again (LP-7). */
import type { WireMessage } from '../protocol/messages.ts';

/** Where the messages lie; an outbox is one. */
export interface MessageSource {
  readonly session_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
  /** Up to here they are known to be acknowledged from before. */
  readonly acked: number;
  read(
    from_seq: number,
    bytes_max?: number,
  ): Promise<readonly { seq: number; type: string; text: string }[]>;
}

/** What keeps a session from being delivered for good. */
export interface Failure {
  error_code: string;
  message: string;
}

export interface ResendTimes {
  resend_ms: number;
  resend_ms_max: number;
}

export class Delivery {
  readonly source: MessageSource;
  readonly #times: ResendTimes;
  failure: Failure | null = null;
  /** The last number up to which the collector has everything for good. */
  acked: number;
  /** The number to send next. */
  next: number;
  #wait_ms: number;
  /** Since when the oldest message that was sent waits for its acknowledgement. */
  #since = 0;
  /** Not before this time: another connection has the session. */
  #paused_until = 0;
  /** When the collector was asked on this connection where the session continues; null: not yet. */
  #asked: number | null = null;
  #answered = false;
  /** What was acknowledged before the collector claimed to have more. */
  #proven = Infinity;
  /** Whether nothing may go behind the message that proves it, until that is acknowledged or overdue. */
  #proving = false;
  #collisions = 0;

  constructor(source: MessageSource, times: ResendTimes) {
    this.source = source;
    this.#times = times;
    this.#wait_ms = times.resend_ms;
    this.acked = Math.max(source.first_seq - 1, source.acked);
    this.next = this.acked + 1;
  }

  get done(): boolean {
    return this.failure === null && this.acked >= this.source.last_seq;
  }

  /** Whether the collector has yet to be asked; also where all is acknowledged: input finds its way by that. */
  get unasked(): boolean {
    return this.failure === null && this.#asked === null && this.source.last_seq > 0;
  }

  /** Whether there is something to send now. A collector that does not answer the question is not waited for. */
  ready(now: number): boolean {
    const { failure, next } = this;
    if (failure !== null || this.#asked === null || next > this.source.last_seq) return false;
    if (!this.mayGo(next)) return false;
    return now >= this.#paused_until && (this.#answered || now >= this.#answerDue(this.#asked));
  }

  /** Behind a message of which the collector may have another form none goes: they would be of two sessions. */
  mayGo(seq: number): boolean {
    return !this.#proving || seq === this.acked + 1;
  }

  #answerDue(asked: number): number {
    return asked + this.#times.resend_ms;
  }

  /** When something has to be done if nothing comes; null: never. */
  due(now: number): number | null {
    if (this.failure !== null) return null;
    if (this.#paused_until > now && !this.done) return this.#paused_until;
    if (this.#asked !== null && !this.#answered && now < this.#answerDue(this.#asked))
      return this.#answerDue(this.#asked);
    return this.next > this.acked + 1 ? this.#since + this.#wait_ms : null;
  }

  /** On a new connection everything that is not acknowledged counts as not sent. */
  begin(): void {
    this.next = this.acked + 1;
    this.#wait_ms = this.#times.resend_ms;
    this.#paused_until = 0;
    this.#proving = false;
    this.#asked = null;
    this.#answered = false;
  }

  asked(now: number): void {
    this.#asked = now;
  }

  /** The answer; null: it said nothing of a number. */
  answered(resume_from_seq: number | null): void {
    if (this.#answered) return;
    this.#answered = true;
    if (resume_from_seq !== null) this.expect(resume_from_seq);
  }

  sent(seq: number, now: number): void {
    if (this.next === this.acked + 1) this.#since = now;
    this.next = seq + 1;
  }

  /** Goes back to the oldest without an acknowledgement when that is overdue. */
  resend(now: number): boolean {
    const overdue = this.next > this.acked + 1 && now - this.#since >= this.#wait_ms;
    if (!overdue) return false;
    // Not every collector acknowledges again what it has.
    this.#proving = false;
    this.next = this.acked + 1;
    this.#wait_ms = Math.min(this.#wait_ms * 2, this.#times.resend_ms_max);
    this.#since = now;
    return true;
  }

  ack(seq: number, now: number): void {
    const known = Math.min(seq, this.source.last_seq);
    // Behind a message that was refused others may have been taken; the session is broken all the same.
    if (known <= this.acked || this.failure !== null) return;
    this.acked = known;
    this.#proven = Infinity;
    this.#proving = false;
    this.next = Math.max(this.next, known + 1);
    this.#since = now;
    this.#wait_ms = this.#times.resend_ms;
    this.#collisions = 0;
  }

  /**
   * The collector says which number it wants; it may have lost what it had acknowledged. Where it has more than we knew of,
   * the last of that is sent again: a session of the same name with other content must show, and not pass for delivered.
   */
  expect(seq: number): void {
    const { first_seq, last_seq, session_id } = this.source;
    if (seq < first_seq) {
      this.fail({
        error_code: 'INVALID_MESSAGE_FORMAT',
        message: `the collector wants message ${seq} of ${session_id}, which begins here with ${first_seq}`,
      });
    } else if (seq - 1 > last_seq) {
      this.fail({
        error_code: 'DUPLICATE_CONFLICT',
        message: `the collector has ${seq - 1} messages of ${session_id}, and here are ${last_seq}: use another session`,
      });
    } else {
      const proof = seq - 1 > this.acked && seq > first_seq ? 1 : 0;
      if (proof > 0) this.#proven = Math.min(this.#proven, this.acked);
      this.#proving = proof > 0;
      this.acked = seq - 1 - proof;
      this.next = this.acked + 1;
    }
  }

  /** Another connection has the session: ours waits, longer each time. All that was under way is answered so: it counts once. */
  pause(now: number): void {
    if (now < this.#paused_until) return;
    const { resend_ms, resend_ms_max } = this.#times;
    this.#paused_until = now + Math.min(resend_ms * 2 ** this.#collisions, resend_ms_max);
    this.#collisions += 1;
    this.next = this.acked + 1;
  }

  fail(failure: Failure): void {
    this.failure ??= failure;
  }

  /** Takes what the collector says of one of its messages. Returns whether that was the end of it. */
  error({ data }: WireMessage, now: number): boolean {
    const { error_code, message, retriable, severity, details, caused_by } = data as {
      error_code: string;
      message: string;
      retriable: boolean;
      severity: string;
      details?: { expected_seq?: unknown } | null;
      caused_by?: { seq?: number | null } | null;
    };
    const expected = details?.expected_seq;
    if (typeof expected === 'number') this.expect(expected);
    else if (error_code === 'SESSION_COLLISION' && retriable) this.pause(now);
    else if (!retriable && severity !== 'warning') {
      this.fail({ error_code, message });
      this.acked = Math.min(this.acked, this.#proven, (caused_by?.seq ?? this.next) - 1);
    }
    return this.failure !== null;
  }
}
