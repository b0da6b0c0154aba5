/**
 * Asks on an open connection where further sessions continue: a handshake resumes one session, and a sender may have
 * many. A collector without support for a second handshake answers with an error, or not at all.
 */

import type { WireMessage } from '../protocol/messages.ts';
import type { Failure } from './delivery.ts';
import { type Link, refusalIn, type Welcome } from './link.ts';

/** `resume_from_seq`: the number that the next message must have; null when unknown. */
type Answer = (resume_from_seq: number | null, refused: Failure | null) => void;

export class ResumeRequests {
  /** By session. */
  readonly #open = new Map<string, { id: string; answer: Answer }>();

  ask(link: Link, session: { id: string; last_seq: number }, answer: Answer): void {
    this.#open.set(session.id, { id: link.resume(session.id, session.last_seq), answer });
  }

  answered({ data }: WireMessage): void {
    const welcome = data as unknown as Welcome;
    // A refusal names no session, but requests are answered in order.
    const [first = ''] = this.#open.keys();
    if (welcome.success)
      this.#settle(welcome.session_id ?? '', welcome.resume_from_seq ?? null, null);
    else this.#settle(first, null, refusalIn(welcome));
  }

  /** Whether the error was the answer to one of these requests. */
  refused({ data }: WireMessage): boolean {
    const { message_id } = (data.caused_by ?? {}) as { message_id?: unknown };
    const found = [...this.#open].find(([, { id }]) => id === message_id);
    if (found === undefined) return false;
    this.#settle(found[0], null, null);
    return true;
  }

  #settle(session_id: string, resume_from_seq: number | null, refused: Failure | null): void {
    const question = this.#open.get(session_id);
    this.#open.delete(session_id);
    question?.answer(resume_from_seq, refused);
  }

  /** The connection is lost: no answers will arrive. */
  clear(): void {
    for (const session_id of [...this.#open.keys()]) this.#settle(session_id, null, null);
  }
}
