/**
 * How far each session has been read, over any number of connections.
 * Contract: a session's messages pass once and without a gap; what comes too early is left for the subscription that
 * brings what is missing.
 */
import { LIMITS } from '../../lib/limits.ts';

interface Place {
  /** 0: nothing has been read yet. */
  seq: number;
  /** What had been stored before the reading began: not asked for when a connection comes again. */
  base: number;
  ended: boolean;
}

export type Passed = 'new' | 'known' | 'early';

export class Places {
  readonly #places = new Map<string, Place>();

  #of(session_id: string): Place {
    let place = this.#places.get(session_id);
    if (place !== undefined) return place;
    place = { seq: 0, base: 0, ended: false };
    this.#places.set(session_id, place);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= LIMITS.live_places_read_max) break;
      this.#places.delete(oldest);
    }
    return place;
  }

  /** A message comes; the first one of a session may have any number. */
  pass(session_id: string, seq: number, type: string): Passed {
    const place = this.#of(session_id);
    if (seq <= place.seq) return 'known';
    if (place.seq > 0 && seq > place.seq + 1) return 'early';
    place.seq = seq;
    place.ended = type === 'session_end';
    return 'new';
  }

  /** Where the collector says that a session stands when the reading begins. */
  begin(session_id: string, last_seq: number): void {
    const place = this.#of(session_id);
    if (place.seq === 0) place.base = Math.max(place.base, last_seq);
  }

  /** The last number that needs not be asked for. */
  have(session_id: string): number {
    const place = this.#places.get(session_id);
    return place === undefined ? 0 : Math.max(place.seq, place.base);
  }

  /** Sessions that may have gone on while nobody listened. */
  unfinished(): string[] {
    return [...this.#places].filter(([, place]) => !place.ended).map(([id]) => id);
  }

  /** From here on, a session without anything read goes on behind what had been stored before. */
  settle(): void {
    for (const place of this.#places.values()) place.seq = Math.max(place.seq, place.base);
  }
}
