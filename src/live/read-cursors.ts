/**
 * How far each session has been read, over any number of connections.
 * Contract: a session's messages pass once and without a gap; what comes too early is left for the subscription that
 * brings what is missing.
 */
import { LastSet } from '../lib/bounded.ts';
import { LIVE_LIMITS } from './limits.ts';

interface Cursor {
  /** 0: nothing has been read yet. */
  seq: number;
  /** What had been stored before the reading began: not asked for when a connection comes again. */
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

  /** A message comes; the first one of a session may have any number. */
  pass(session_id: string, seq: number, type: string): Passed {
    const cursor = this.#of(session_id);
    if (seq <= cursor.seq) return 'known';
    if (cursor.seq > 0 && seq > cursor.seq + 1) return 'early';
    cursor.seq = seq;
    cursor.ended = type === 'session_end';
    return 'new';
  }

  /** How far a session is, by the collector's word, when the reading begins. */
  begin(session_id: string, last_seq: number): void {
    const cursor = this.#of(session_id);
    if (cursor.seq === 0) cursor.base = Math.max(cursor.base, last_seq);
  }

  /** The last number that needs not be asked for. */
  have(session_id: string): number {
    const cursor = this.#cursors.get(session_id);
    return cursor === undefined ? 0 : Math.max(cursor.seq, cursor.base);
  }

  /** Sessions that may have continued while nobody listened. */
  unfinished(): string[] {
    const open = this.#cursors.entries().filter(([, cursor]) => !cursor.ended);
    return [...open.map(([id]) => id)];
  }

  /** From here on, a session without anything read continues behind what had been stored before. */
  settle(): void {
    for (const [, cursor] of this.#cursors.entries())
      cursor.seq = Math.max(cursor.seq, cursor.base);
  }
}
