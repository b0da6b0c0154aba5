/**
 * Finished runs of the journal get their rows in the index. Contract: a segment counts as settled only once every
 * finished run in it has its row.
 */
import { TachoError } from '../../lib/errors.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import type { Index } from '../../store/index/index-db.ts';
import { newReport, type ReadReport } from '../../store/journal/scan.ts';
import { readTombstones } from '../../store/journal/tombstones.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { rebuildRun } from './rebuilt.ts';

export interface Settled {
  /** Runs that got their row. */
  added: string[];
  /** Runs without an end: their recorder is at work, or was killed. */
  unfinished: number;
  /** Runs with entries that are no events. */
  foreign: number;
  /** Segments that could not be read to their end. */
  unread: Set<string>;
  report: ReadReport;
}

/** Gives every finished run in these segments its row. Under the store lock, or on an index that nobody else has. */
export async function settle(
  state: StateDir,
  index: Index,
  segments: ReadonlyMap<string, number>,
): Promise<Settled> {
  const report = newReport();
  const unread = new Set(await createCatalogue(state.journal, index).refresh(report));
  const done: Settled = { added: [], unfinished: 0, foreign: 0, unread, report };
  const deleted = readTombstones(state);
  const known = new Set(index.runIds());
  const looked = new Set<string>();
  for (const segment of segments.keys()) {
    for (const session of index.sessionsIn(segment)) {
      if (deleted.has(session) || known.has(session) || looked.has(session)) continue;
      looked.add(session);
      const before = done.report.unreadable;
      await settleRun(state, index, session, done);
      if (done.report.unreadable > before) unread.add(segment);
    }
  }
  // What could not be read is looked at again the next time.
  const covered = index.covered();
  const whole = done.report.unreadable === 0;
  const isSettled = (segment: string, bytes: number) =>
    whole ? covered.has(segment) : (covered.get(segment) ?? 0) >= bytes && !unread.has(segment);
  index.settle(new Map([...segments].filter(([segment, bytes]) => isSettled(segment, bytes))));
  return done;
}

async function settleRun(state: StateDir, index: Index, run_id: string, done: Settled) {
  try {
    const run = await rebuildRun(state, index, run_id);
    if (run.foreign > 0) done.foreign += 1;
    if (run.outcome !== null) {
      index.saveOutcome(run.outcome);
      done.added.push(run_id);
    } else if (run.report.unreadable > 0) done.report.unreadable += run.report.unreadable;
    else if (run.begun) done.unfinished += 1;
  } catch (error) {
    // The disk or the index failed. Anything else is what foreign entries do to a fold, and concerns this run alone.
    if (error instanceof TachoError) throw error;
    done.foreign += 1;
  }
}
