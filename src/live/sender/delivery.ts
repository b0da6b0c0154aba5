/** Delivery state of one session: what is acknowledged, what was sent, and when to resend (LP-7). */
import type { WireMessage } from '../protocol/messages.ts';

/** The source of messages, such as an outbox. */
export interface MessageSource {
  readonly session_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
  /** The last number known to be acknowledged earlier. */
  readonly acked: number;
  read(
    from_seq: number,
    bytes_max?: number,
  ): Promise<readonly { seq: number; type: string; text: string }[]>;
}

/** The permanent failure of a session. */
export interface Failure {
  /** Code of the live protocol. */
  error_code: string;
  /** The reason, for people. */
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
  /** The last number up to which the collector has stored everything. */
  acked: number;
  /** The number to send next. */
  next: number;
  #wait_ms: number;
  /** Start of the wait for the acknowledgement of the oldest sent message. */
  #since = 0;
  /** Nothing is sent before this time: another connection owns the session. */
  #paused_until = 0;
  /** When the collector was asked on this connection where the session continues; null when not yet. */
  #asked: number | null = null;
  #answered = false;
  /** The last acknowledged number before the collector claimed to have more. */
  #proven = Infinity;
  /** Nothing may be sent after the message that verifies the claim, until it is acknowledged or overdue. */
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

  /** Whether the collector has yet to be asked. Needed even when all is acknowledged: input is routed by it. */
  get unasked(): boolean {
    return this.failure === null && this.#asked === null && this.source.last_seq > 0;
  }

  /** Whether there is something to send now. Does not wait forever for a collector that does not answer. */
  ready(now: number): boolean {
    const { failure, next } = this;
    if (failure !== null || this.#asked === null || next > this.source.last_seq) return false;
    if (!this.maySend(next)) return false;
    return now >= this.#paused_until && (this.#answered || now >= this.#answerDue(this.#asked));
  }

  /** Nothing is sent after a message that the collector may have with different content: it may be another session. */
  maySend(seq: number): boolean {
    return !this.#proving || seq === this.acked + 1;
  }

  #answerDue(asked: number): number {
    return asked + this.#times.resend_ms;
  }

  /** The time of the next action if nothing arrives; null for never. */
  due(now: number): number | null {
    if (this.failure !== null) return null;
    if (this.#paused_until > now && !this.done) return this.#paused_until;
    if (this.#asked !== null && !this.#answered && now < this.#answerDue(this.#asked))
      return this.#answerDue(this.#asked);
    return this.next > this.acked + 1 ? this.#since + this.#wait_ms : null;
  }

  /** Starts on a new connection: unacknowledged messages count as not sent. */
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

  /** Takes the answer; null when it named no number. */
  answered(resume_from_seq: number | null): void {
    if (this.#answered) return;
    this.#answered = true;
    if (resume_from_seq !== null) this.expect(resume_from_seq);
  }

  sent(seq: number, now: number): void {
    if (this.next === this.acked + 1) this.#since = now;
    this.next = seq + 1;
  }

  /** Restarts from the oldest unacknowledged message when it is overdue. */
  resend(now: number): boolean {
    const overdue = this.next > this.acked + 1 && now - this.#since >= this.#wait_ms;
    if (!overdue) return false;
    // Not every collector acknowledges a resend.
    this.#proving = false;
    this.next = this.acked + 1;
    this.#wait_ms = Math.min(this.#wait_ms * 2, this.#times.resend_ms_max);
    this.#since = now;
    return true;
  }

  ack(seq: number, now: number): void {
    const known = Math.min(seq, this.source.last_seq);
    // Messages after a refused one may have been accepted, but the session is broken.
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
   * The collector names the number it expects; it may have lost acknowledged messages. If it has more than we know of,
   * its last message is resent: a session with the same id and different content must be detected.
   */
  expect(seq: number): void {
    const { first_seq, last_seq, session_id } = this.source;
    if (seq < first_seq) {
      this.fail({
        error_code: 'INVALID_MESSAGE_FORMAT',
        message: `the collector expects message ${seq} of ${session_id}, but the first one here is ${first_seq}`,
      });
    } else if (seq - 1 > last_seq) {
      this.fail({
        error_code: 'DUPLICATE_CONFLICT',
        message: `the collector has ${seq - 1} messages of ${session_id}, but only ${last_seq} exist here: use another session`,
      });
    } else {
      const proof = seq - 1 > this.acked && seq > first_seq ? 1 : 0;
      if (proof > 0) this.#proven = Math.min(this.#proven, this.acked);
      this.#proving = proof > 0;
      this.acked = seq - 1 - proof;
      this.next = this.acked + 1;
    }
  }

  /** Another connection owns the session: wait, longer each time. Answers to messages in flight count once. */
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

  /** Handles an error of the collector about a message. Returns whether the session has failed. */
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
