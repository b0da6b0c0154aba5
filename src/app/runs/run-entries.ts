/**
 * The entries of a run in the journal. A run that tacho recorded has one end. A run of a session file can grow after
 * its end: its ends are provisional, in a source of their own, and one counts only as long as no event follows it.
 */
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { eventOf } from './journal-events.ts';

interface Entry {
  seq: number;
  body: string;
}

/** The last complete provisional end of a run. */
export class Closing {
  /** The number of the last entry of the source. */
  last = 0;
  #group: Entry[] = [];
  #complete = false;

  /** An entry of the closing source. Returns the end that it completes, or null. */
  take({ seq, body }: Entry): readonly Entry[] | null {
    this.last = Math.max(this.last, seq);
    const event = eventOf(body);
    // A killed writer leaves a part of a group. Anyone may have written an entry that is not an event.
    const follows = !this.#complete && event?.seq === (this.#group.at(-1)?.seq ?? 0) + 1;
    if (!follows) this.#group = [];
    if (event !== null) this.#group.push({ seq: event.seq, body });
    this.#complete = event?.kind === 'run_finished';
    return this.#complete ? this.#group : null;
  }

  /** An event of the run follows: a part of an end before it is not continued, even if the next one has its number. */
  interrupt(): void {
    if (!this.#complete) this.#group = [];
  }

  /** The entries that end a run with this number of the last event. None if it has grown since, or has no end. */
  after(seq: number): readonly Entry[] {
    return this.#complete && this.#group[0]?.seq === seq + 1 ? this.#group : [];
  }
}

/** All provisional ends of a run, in order, by the number of the last event before each. */
export interface Ends {
  after: Map<number, string[][]>;
  /** The number of the last entry of the closing source. */
  last: number;
}

export async function endsOf(entries: AsyncIterable<Entry & { source: string }>): Promise<Ends> {
  const after: Ends['after'] = new Map();
  const closing = new Closing();
  for await (const entry of entries) {
    if (entry.source === CAPTURE_SOURCE) closing.interrupt();
    const end = entry.source === CLOSING_SOURCE ? closing.take(entry) : null;
    if (end === null) continue;
    const seq = (end[0]?.seq ?? 1) - 1;
    after.set(seq, [...(after.get(seq) ?? []), end.map(({ body }) => body)]);
  }
  return { after, last: closing.last };
}

/** The entries of a run's events, in order: those of its capture, and of the provisional end that counts. */
export async function* runEntries<E extends Entry & { source: string }>(
  entries: AsyncIterable<E>,
): AsyncGenerator<Entry> {
  const closing = new Closing();
  let last = 0;
  for await (const entry of entries) {
    if (entry.source === CLOSING_SOURCE) closing.take(entry);
    if (entry.source !== CAPTURE_SOURCE) continue;
    last = entry.seq;
    closing.interrupt();
    yield entry;
  }
  yield* closing.after(last);
}
