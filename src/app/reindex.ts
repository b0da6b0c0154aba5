/** The index made again from the journal: outcomes are a fold over events, and nothing else is in it. */
import type { Event } from '../model/event.ts';
import { createOutcomeFold, type OutcomeFold } from '../projections/outcome.ts';
import { openIndex } from '../store/index-db.ts';
import { type ReadReport, readAll } from '../store/journal-read.ts';
import type { StateDir } from '../store/state-dir.ts';
import { readTombstones } from '../store/tombstones.ts';
import { CAPTURE_SOURCE } from './recorder.ts';

export interface Reindexed {
  runs: number;
  /** Runs that have no end record yet: still going on, or to be recovered. */
  unfinished: number;
  deleted: number;
  journal: ReadReport;
}

export async function reindex(state: StateDir): Promise<Reindexed> {
  const index = openIndex(state);
  const deleted = readTombstones(state);
  const folds = new Map<string, OutcomeFold>();
  let runs = 0;
  try {
    index.clear();
    const entries = readAll(state.journal);
    for await (const { session, source, body } of entries) {
      if (source !== CAPTURE_SOURCE || deleted.has(session)) continue;
      const event = JSON.parse(body) as Event;
      const fold = folds.get(session) ?? createOutcomeFold({ keepIo: false });
      folds.set(session, fold);
      fold.push(event);
      if (event.kind !== 'run_finished') continue;
      index.saveOutcome(fold.finish());
      folds.delete(session);
      runs += 1;
    }
    return { runs, unfinished: folds.size, deleted: deleted.size, journal: entries.report };
  } finally {
    index.close();
  }
}
