/**
 * Removes runs from the store: archives them, records them as deleted, then frees their bytes. Contract: requires the
 * store lock. A kill at any moment loses no run that is kept, and the next gc finishes recorded deletions. A run that is
 * to be archived is removed only if all of it can be archived.
 */
import { join } from 'node:path';
import { systemRandom } from '../../lib/ids.ts';
import { createCatalogue } from '../index/catalogue.ts';
import type { Index } from '../index/index-db.ts';
import { unclosed } from '../index/segment-book.ts';
import type { StateDir } from '../state-dir.ts';
import { sweepLeftovers } from '../sweep.ts';
import { createArchive } from './archive.ts';
import { freeDeleted } from './free.ts';
import { packClosed } from './pack-left.ts';
import { createSift, inOrder, walkSession } from './read.ts';
import { eachLine, listSegments, newReport, type SegmentLine, unreadable } from './scan.ts';
import { segmentName } from './segment.ts';
import { deleteRuns } from './tombstones.ts';

export interface GcRun {
  run_id: string;
  archive: boolean;
}

/** Receives a run's entries in the order of their numbers and decides whether they are complete. */
interface RunCheck {
  push(entry: { source: string; seq: number; body: string }): void;
  /** The fault in the journal's entries, or null. */
  fault(): string | null;
}

export interface GcOptions {
  now_ms: number;
  newCheck: (run_id: string) => RunCheck;
}

export interface KeptRun {
  run_id: string;
  why: string;
}

export interface GcResult {
  removed: number;
  /** Runs that are kept because they cannot be fully archived. */
  kept: KeptRun[];
  /** Path of the archive. Null if nothing was archived. */
  archive: string | null;
  segments_removed: number;
  /** Segments that were rewritten without their deleted lines. */
  segments_rewritten: number;
}

export async function collectRuns(
  state: StateDir,
  index: Index,
  runs: readonly GcRun[],
  options: GcOptions,
): Promise<GcResult> {
  sweepLeftovers(state);
  const report = newReport();
  await createCatalogue(state.journal, index).refresh(report);
  const wanted = new Set(runs.filter(({ archive }) => archive).map(({ run_id }) => run_id));
  // An unreadable segment may contain part of a run: its archive would be incomplete.
  if (report.unreadable > 0 && wanted.size > 0) throw unreadable(`a segment of ${state.journal}`);
  const { archive, kept } = await archiveWhole(state, index, wanted, options);
  const going = new Set(runs.map(({ run_id }) => run_id));
  for (const { run_id } of kept) going.delete(run_id);
  deleteRuns(state, index, [...going]);
  const freed = await freeDeleted(state, index);
  const { journal } = state;
  await packClosed(journal, [...unclosed(journal, index.book), ...index.unpacked()]);
  const live = join(state.path, 'live', 'journal');
  await packClosed(live, listSegments(live));
  if (going.size > 0) index.compact();
  return {
    removed: going.size,
    kept,
    archive,
    segments_removed: freed.removed.length,
    segments_rewritten: freed.rewritten.length,
  };
}

type Archived = Pick<GcResult, 'archive' | 'kept'>;

/** Archives those of the runs that are complete. */
async function archiveWhole(
  state: StateDir,
  index: Index,
  runs: ReadonlySet<string>,
  { now_ms, newCheck }: GcOptions,
): Promise<Archived> {
  if (runs.size === 0) return { archive: null, kept: [] };
  const name = segmentName(now_ms, systemRandom).replace(/\.jsonl$/, '');
  const archive = createArchive(state, name);
  const checks = new Map([...runs].map((run_id) => [run_id, newCheck(run_id)]));
  let kept: KeptRun[];
  try {
    await eachRunLine(state, index, runs, (line, source) => {
      const { session, seq, bytes, start, end, offset, next } = line;
      checks.get(session)?.push({ source, seq, body: bytes.toString('utf8', start, end) });
      // Byte for byte: the closing brace and the LF follow the body.
      archive.add(bytes.subarray(end + 2 - (next - offset), end + 2));
    });
    kept = faultsOf(checks);
    if (kept.length === 0) archive.commit();
  } finally {
    archive.abandon();
  }
  if (kept.length === 0) return { archive: archive.path, kept };
  // Rare, so the segments are read again only then.
  const whole = runs.difference(new Set(kept.map(({ run_id }) => run_id)));
  const others = await archiveWhole(state, index, whole, { now_ms, newCheck });
  return { archive: others.archive, kept: [...kept, ...others.kept] };
}

function faultsOf(checks: ReadonlyMap<string, RunCheck>): KeptRun[] {
  return [...checks].flatMap(([run_id, check]) => {
    const fault = check.fault();
    return fault === null ? [] : [{ run_id, why: `the journal ${fault}` }];
  });
}

type TakeLine = (line: SegmentLine, source: string) => void;

/** The lines of these runs, each once, with the lines of a run in the order of their numbers. */
async function eachRunLine(
  state: StateDir,
  index: Index,
  runs: ReadonlySet<string>,
  take: TakeLine,
): Promise<void> {
  const { journal } = state;
  const catalogue = createCatalogue(journal, index);
  // A rewritten segment has a later name than those that follow it.
  const mixed = index
    .sessionsInPieces()
    .filter((session) => runs.has(session) && !inOrder(catalogue.positions(session)));
  await scanRuns(state, index, runs.difference(new Set(mixed)), take);
  for (const session of mixed) {
    const report = newReport();
    const lines = walkSession(journal, session, { catalogue, report }, (_, line, source) =>
      take(line, source),
    );
    for await (const _ of lines);
    if (report.unreadable > 0) throw unreadable(`a segment of ${journal}`);
  }
}

/** The same for runs that the segments contain in order, with one scan per segment. */
async function scanRuns(
  { journal }: StateDir,
  index: Index,
  runs: ReadonlySet<string>,
  take: TakeLine,
): Promise<void> {
  const held = index.segmentsWith(runs);
  const sourceOf = createSifts();
  for (const segment of listSegments(journal)) {
    if (!held.has(segment)) continue;
    const report = newReport();
    await eachLine(journal, segment, { report }, (line) => {
      const source = runs.has(line.session) ? sourceOf(line) : null;
      if (source !== null) take(line, source);
    });
    if (report.unreadable > 0) throw unreadable(join(journal, segment));
  }
}

/** Returns the source that a line is attributed to. Null for a duplicate: a killed gc leaves lines twice. */
function createSifts(): (line: SegmentLine) => string | null {
  const sifts = new Map<string, ReturnType<typeof createSift>>();
  return (line) => {
    let sift = sifts.get(line.session);
    if (sift === undefined) {
      sift = createSift(newReport());
      sifts.set(line.session, sift);
    }
    return sift(line);
  };
}
