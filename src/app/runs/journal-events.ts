/**
 * Events out of a run's journal entries. Anybody may have written the journal, and a checksum says nothing about that:
 * an entry that is no event is left out, with a problem in its place, and the run does not count as complete.
 */
import type { Event, EventOf } from '../../model/event.ts';
import { checkEvent } from '../../model/generated/checks.ts';
import type { Completeness } from '../../model/parts.ts';

/** Later moments are no dates. */
const TIME_MS_MAX = 8.64e15;

/** The event in an entry's text; null when it is none. */
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

export interface EventReader {
  /** The events of an entry: usually one. */
  read(entry: { seq: number; body: string }): Event[];
  /** Entries that were left out so far. */
  readonly foreign: number;
}

export function createEventReader(run_id: string): EventReader {
  let last: Event | null = null;
  let foreign = 0;
  /** Left out before the first event: reported behind it, because they have no time of their own. */
  let waiting: number[] = [];
  return {
    get foreign() {
      return foreign;
    },
    read({ seq, body }) {
      const event = eventIn(body, run_id);
      if (event === null) {
        foreign += 1;
        if (last !== null) return [problemAt(seq, last)];
        waiting.push(seq);
        return [];
      }
      last = event;
      const before = waiting.map((at) => problemAt(at, event));
      waiting = [];
      const read = event.kind === 'run_finished' && foreign > 0 ? partial(event, foreign) : event;
      return read.kind === 'run_finished' ? [...before, read] : [read, ...before];
    },
  };
}

function problemAt(seq: number, { v, run_id, at_ms, step }: Event): EventOf<'problem'> {
  const detail = `entry ${seq} of the journal is not an event of this run and was left out`;
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
