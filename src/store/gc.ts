/**
 * Runs leave the store: archived, written down as deleted, then their bytes freed. Contract: under the store lock; killed
 * at any moment no kept run is lost, and what was written down as deleted is finished by the next gc.
 */
import { closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../lib/ids.ts';
import { createArchive } from './archive.ts';
import { createCatalogue } from './catalogue.ts';
import { openRead } from './files.ts';
import { freeDeleted } from './free.ts';
import type { Index } from './index-db.ts';
import { createSift } from './journal-read.ts';
import { newReport, type SegmentLine, scanWhole, unreadable } from './scan.ts';
import { segmentName } from './segment.ts';
import type { StateDir } from './state-dir.ts';
import { sweepLeftovers } from './sweep.ts';
import { deleteRuns, readTombstones } from './tombstones.ts';

export interface GcRun {
  run_id: string;
  archive: boolean;
}

export interface GcResult {
  removed: number;
  /** Where the archived ones are; null: none was archived. */
  archive: string | null;
  segments_removed: number;
  /** Segments of which only what is kept was written again. */
  segments_rewritten: number;
}

export async function collectRuns(
  state: StateDir,
  index: Index,
  runs: readonly GcRun[],
  now_ms: number,
): Promise<GcResult> {
  sweepLeftovers(state);
  const report = newReport();
  await createCatalogue(state.journal, index).refresh(report);
  // What cannot be read may hold a part of a run: its archive would not be whole.
  if (report.unreadable > 0 && runs.some(({ archive }) => archive))
    throw unreadable(`a segment of ${state.journal}`);
  const archive = await archiveRuns(state, index, runs, now_ms);
  const going = new Set(runs.map(({ run_id }) => run_id));
  // What an earlier command wrote down and did not finish goes with these.
  const deleted = readTombstones(state);
  for (const run_id of index.runIds()) if (deleted.has(run_id)) going.add(run_id);
  deleteRuns(state, index, [...going]);
  const { removed, rewritten } = await freeDeleted(state, index);
  if (going.size > 0) index.compact();
  return {
    removed: runs.length,
    archive,
    segments_removed: removed.length,
    segments_rewritten: rewritten.length,
  };
}

async function archiveRuns(
  state: StateDir,
  index: Index,
  runs: readonly GcRun[],
  now_ms: number,
): Promise<string | null> {
  const wanted = new Set(runs.filter(({ archive }) => archive).map(({ run_id }) => run_id));
  if (wanted.size === 0) return null;
  const name = segmentName(now_ms, systemRandom).replace(/\.jsonl$/, '');
  const archive = createArchive(state, name);
  try {
    const held = new Set<string>();
    for (const { segment, session } of index.entriesBySession())
      if (wanted.has(session)) held.add(segment);
    const once = createOnce();
    for (const segment of [...held].sort())
      for await (const line of wholeLines(
        state,
        segment,
        (one) => wanted.has(one.session) && once(one),
      ))
        archive.add(line);
    archive.commit();
    return archive.path;
  } finally {
    archive.abandon();
  }
}

/** Whether a line is the first with its session, source, number and content: a killed gc leaves lines twice. */
function createOnce(): (line: SegmentLine) => boolean {
  const sifts = new Map<string, ReturnType<typeof createSift>>();
  return (line) => {
    let sift = sifts.get(line.session);
    if (sift === undefined) {
      sift = createSift(newReport());
      sifts.set(line.session, sift);
    }
    return sift(line) !== null;
  };
}

/** The lines that are wanted, byte for byte, LF included. */
async function* wholeLines(
  state: StateDir,
  segment: string,
  wanted: (line: SegmentLine) => boolean,
): AsyncGenerator<Buffer> {
  const fd = openRead(join(state.journal, segment));
  try {
    for await (const lines of scanWhole(state.journal, segment))
      for (const line of lines) if (wanted(line)) yield wholeLine(fd, line);
  } finally {
    closeSync(fd);
  }
}

function wholeLine(fd: number, { offset, next }: SegmentLine): Buffer {
  const bytes = Buffer.allocUnsafe(next - offset);
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(fd, bytes, done, bytes.length - done, offset + done);
    if (count === 0) throw new Error('a segment became shorter while it was read');
    done += count;
  }
  return bytes;
}
