/**
 * The index and missing transcripts made again from the journal. Contract: the new index is built in a file beside the
 * old one and replaces it in one transaction: killed at any moment, the old one or the new one is there. What runs save
 * in the meantime stays.
 */
import { randomBytes } from 'node:crypto';
import { dieHere, failsAt } from '../store/failpoint.ts';
import { openIndex } from '../store/index-db.ts';
import { listSegments, segmentBytes } from '../store/scan.ts';
import type { StateDir } from '../store/state-dir.ts';
import { type StoreLockOptions, withStoreLock } from '../store/store-lock.ts';
import { SCRATCH, sweepScratch } from '../store/sweep.ts';
import { readTombstones } from '../store/tombstones.ts';
import { settle } from './settle.ts';

export interface Reindexed {
  runs: number;
  /** Runs that have no end record yet: still being recorded, or to be recovered. */
  unfinished: number;
  deleted: number;
  /** Runs with entries that are no events of theirs. */
  foreign: number;
  /** Lines of the journal that cannot be read any more. */
  damaged: number;
  torn: number;
}

export function reindex(state: StateDir, options: StoreLockOptions = {}): Promise<Reindexed> {
  return withStoreLock(state, options, () => rebuild(state));
}

async function rebuild(state: StateDir): Promise<Reindexed> {
  sweepScratch(state);
  const path = `${state.db}${SCRATCH}${randomBytes(6).toString('hex')}`;
  const index = openIndex(state);
  const fresh = openIndex({ ...state, db: path });
  try {
    const known = { runs: index.runIds(), segments: [...index.settled().keys()] };
    const names = listSegments(state.journal);
    const sizes = new Map(names.map((name) => [name, segmentBytes(state.journal, name)]));
    const { added, unfinished, foreign, report } = await settle(state, fresh, sizes);
    fresh.close();
    if (failsAt('before_merge')) dieHere();
    index.mergeFrom(path, known);
    const deleted = readTombstones(state).size;
    const { corrupt: damaged, torn } = report;
    return { runs: added.length, unfinished, deleted, foreign, damaged, torn };
  } finally {
    fresh.close();
    index.close();
    sweepScratch(state);
  }
}
