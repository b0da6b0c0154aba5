/**
 * Events from a run's journal entries. Anyone may have written the journal, and a checksum does not change that: an
 * entry that is not an event is omitted, with a problem in its place, and the run does not count as complete.
 */
import type { Event, EventOf } from '../../model/event.ts';
import { checkEvent } from '../../model/generated/checks.ts';
import type { Completeness } from '../../model/parts.ts';

/** Later times are not valid dates. */
const TIME_MS_MAX = 8.64e15;

/** The event in an entry's text, or null. */
export function eventOf(body: string): Event | null {
  try {
    const event = JSON.parse(body) as Event;
    return checkEvent(event) && Math.abs(event.at_ms) <= TIME_MS_MAX ? event : null;
  } catch {
    return null;
  }
}

/** The same, and null for an event of another run. */
export function eventIn(body: string, run_id: string): Event | null {
  const event = eventOf(body);
  return event?.run_id === run_id ? event : null;
}

export class EventReader {
  /** Entries omitted so far. */
  foreign = 0;
  readonly #run_id: string;
  #last: Event | null = null;
  /** Omitted before the first event: reported after it, because they have no time. */
  #waiting: number[] = [];

  constructor(run_id: string) {
    this.#run_id = run_id;
  }

  /** The events of an entry, usually one. */
  read({ seq, body }: { seq: number; body: string }): Event[] {
    const event = eventIn(body, this.#run_id);
    if (event === null) {
      this.foreign += 1;
      if (this.#last !== null) return [problemAt(seq, this.#last)];
      this.#waiting.push(seq);
      return [];
    }
    this.#last = event;
    const before = this.#waiting.map((at) => problemAt(at, event));
    this.#waiting = [];
    if (event.kind !== 'run_finished') return [event, ...before];
    return [...before, this.foreign > 0 ? partial(event, this.foreign) : event];
  }
}

function problemAt(seq: number, { v, run_id, at_ms, step }: Event): EventOf<'problem'> {
  const detail = `entry ${seq} of the journal is not an event of this run and was omitted`;
  const nothing = { bytes: null, sha256: null, excerpt: null };
  const data = { stage: 'store', code: 'bad_record', detail, ...nothing } as const;
  return { v, run_id, seq, at_ms, at_source: 'clamped', step, raw: null, kind: 'problem', data };
}

function partial(event: EventOf<'run_finished'>, foreign: number): EventOf<'run_finished'> {
  const { grade, gaps, filled } = event.data.completeness;
  const completeness: Completeness = {
    grade: grade === 'complete' ? 'partial' : grade,
    gaps: [...gaps, `journal_entries_left_out:${foreign}`].sort(),
    filled,
  };
  return { ...event, data: { ...event.data, completeness } };
}
