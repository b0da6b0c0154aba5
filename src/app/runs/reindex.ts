/**
 * Rebuilds the index and missing transcripts from the journal. Contract: the new index is built in a file next to the
 * old one and replaces it in one transaction: after a kill at any moment, either the old or the new one exists. Rows
 * saved by runs in the meantime are kept.
 */
import { randomBytes } from 'node:crypto';
import { dieHere, failsAt } from '../../store/failpoint.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { listSegments, segmentBytes } from '../../store/journal/scan.ts';
import { readTombstones } from '../../store/journal/tombstones.ts';
import { dropSearch } from '../../store/search/search-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type StoreLockOptions, withStoreLock } from '../../store/store-lock.ts';
import { SCRATCH, sweepScratch } from '../../store/sweep.ts';
import { settle } from './settle.ts';

/** The result of a rebuilt index. */
export interface Reindexed {
  /** Runs in the new index. */
  runs: number;
  /** Runs without an end: their recorder is working, or was killed. */
  unfinished: number;
  /** Deleted runs that the journal may still contain. */
  deleted: number;
  /** Runs with entries that are not events; `verify` reports them. */
  foreign: number;
  /** Unreadable lines of the journal. */
  damaged: number;
  /** Lines of the journal that were cut off while they were written. */
  torn: number;
  /** Unreadable segments of the journal. The index keeps the rows of runs in them. */
  unreadable: string[];
}

export function reindex(state: StateDir, options: StoreLockOptions = {}): Promise<Reindexed> {
  return withStoreLock(state, options, () => rebuild(state));
}

async function rebuild(state: StateDir): Promise<Reindexed> {
  // The next search builds it again.
  dropSearch(state);
  sweepScratch(state);
  const path = `${state.db}${SCRATCH}${randomBytes(6).toString('hex')}`;
  const index = openIndex(state);
  const fresh = openIndex({ ...state, db: path });
  try {
    const before = { runs: index.runIds(), segments: index.segmentNames() };
    const names = listSegments(state.journal);
    const sizes = new Map(names.map((name) => [name, segmentBytes(state.journal, name)]));
    const { added, unfinished, foreign, unread, report } = await settle(state, fresh, sizes);
    const deleted = readTombstones(state);
    const unsure = unread.size === 0 ? new Set<string>() : runsIn(unread, index, fresh);
    const stay = new Set(before.runs).intersection(unsure).difference(deleted);
    // The rest of the journal contains only a part of these runs.
    fresh.deleteRuns([...stay]);
    for (const segment of unread) fresh.forgetSegment(segment);
    fresh.close();
    if (failsAt('before_merge')) dieHere();
    index.mergeFrom(path, {
      runs: before.runs.filter((run_id) => !stay.has(run_id)),
      segments: before.segments.filter((segment) => !unread.has(segment)),
    });
    return {
      runs: stay.size === 0 ? added.length : stay.union(new Set(added)).size,
      unfinished,
      deleted: deleted.size,
      foreign,
      damaged: report.corrupt,
      torn: report.torn,
      unreadable: [...unread],
    };
  } finally {
    fresh.close();
    index.close();
    sweepScratch(state);
  }
}

/**
 * Listed runs that may have entries in these segments: those that the old index found there, and those found nowhere.
 */
function runsIn(segments: ReadonlySet<string>, index: Index, fresh: Index): Set<string> {
  const there = [...segments].flatMap((segment) => index.sessionsIn(segment));
  const nowhere = index.runIds().filter((run_id) => fresh.getPositions(run_id).length === 0);
  return new Set([...there, ...nowhere]);
}
