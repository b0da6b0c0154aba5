/** The index made again from the journal: outcomes are a fold over events, and nothing else is in it. */
import type { Event } from '../model/event.ts';
import { createOutcomeFold } from '../projections/outcome.ts';
import { openIndex } from '../store/index-db.ts';
import { readSession } from '../store/journal-read.ts';
import type { StateDir } from '../store/state-dir.ts';
import { listSessions, readTombstones } from '../store/tombstones.ts';
import { CAPTURE_SOURCE } from './recorder.ts';

export interface Reindexed {
  runs: number;
  /** Runs that have no end record yet: still going on, or to be recovered. */
  unfinished: number;
  deleted: number;
  /** Lines of the journal that say nothing any more. */
  damaged: number;
  torn: number;
}

export async function reindex(state: StateDir): Promise<Reindexed> {
  const index = openIndex(state);
  const done: Reindexed = {
    runs: 0,
    unfinished: 0,
    deleted: readTombstones(state).size,
    damaged: 0,
    torn: 0,
  };
  try {
    index.clear();
    for (const session of await listSessions(state, index)) {
      const entries = readSession(state.journal, session, { index });
      const fold = createOutcomeFold({ keepIo: false });
      let last: Event | null = null;
      for await (const { source, body } of entries) {
        if (source !== CAPTURE_SOURCE) continue;
        last = JSON.parse(body) as Event;
        fold.push(last);
      }
      done.damaged += entries.report.corrupt;
      done.torn += entries.report.torn;
      if (last?.kind === 'run_finished') {
        index.saveOutcome(fold.finish());
        done.runs += 1;
      } else if (last !== null) done.unfinished += 1;
    }
    return done;
  } finally {
    index.close();
  }
}
