/**
 * The read position of each session, across connections.
 * Contract: a session's messages pass once and without a gap. A message that is too early is skipped; the subscription
 * that delivers the missing messages will deliver it again.
 */
import { LastSet } from '../lib/bounded.ts';
import { LIVE_LIMITS } from './limits.ts';

interface Cursor {
  /** The last number read; 0 when nothing has been read. */
  seq: number;
  /** The last number stored before reading began: earlier messages are not requested after a reconnect. */
  base: number;
  ended: boolean;
}

type Passed = 'new' | 'known' | 'early';

export class ReadCursors {
  readonly #cursors = new LastSet<string, Cursor>(LIVE_LIMITS.places_read_max);

  #of(session_id: string): Cursor {
    const known = this.#cursors.get(session_id);
    const cursor = known ?? { seq: 0, base: 0, ended: false };
    if (known === undefined) this.#cursors.set(session_id, cursor);
    return cursor;
  }

  /** Takes a message. The first one of a session may have any number. */
  pass(session_id: string, seq: number, type: string): Passed {
    const cursor = this.#of(session_id);
    if (seq <= cursor.seq) return 'known';
    if (cursor.seq > 0 && seq > cursor.seq + 1) return 'early';
    cursor.seq = seq;
    cursor.ended = type === 'session_end';
    return 'new';
  }

  /** Sets the last stored number, as the collector reports it, when reading begins. */
  begin(session_id: string, last_seq: number): void {
    const cursor = this.#of(session_id);
    if (cursor.seq === 0) cursor.base = Math.max(cursor.base, last_seq);
  }

  /** The last number that need not be requested. */
  have(session_id: string): number {
    const cursor = this.#cursors.get(session_id);
    return cursor === undefined ? 0 : Math.max(cursor.seq, cursor.base);
  }

  /** Sessions that may have continued while there was no connection. */
  unfinished(): string[] {
    const open = this.#cursors.entries().filter(([, cursor]) => !cursor.ended);
    return [...open.map(([id]) => id)];
  }

  /** From now on, sessions without a read message continue after what was stored before. */
  settle(): void {
    for (const [, cursor] of this.#cursors.entries())
      cursor.seq = Math.max(cursor.seq, cursor.base);
  }
}
