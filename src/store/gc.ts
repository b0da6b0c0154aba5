/**
 * Runs leave the store: archived, written down as deleted, then their bytes freed. Contract: killed at any moment no
 * kept run is lost, and what was written down as deleted is finished by the next gc.
 */
import { closeSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { TachoError } from '../lib/errors.ts';
import { systemRandom } from '../lib/ids.ts';
import { createArchive } from './archive.ts';
import { createCatalogue } from './catalogue.ts';
import { openRead } from './files.ts';
import type { Index } from './index-db.ts';
import { takeLock } from './lock.ts';
import { removeFilesOf } from './run-files.ts';
import { newReport, type SegmentLine, scanSegment } from './scan.ts';
import { createSegment, mayGrow, segmentName } from './segment.ts';
import { listSpools, removeSpool } from './spool.ts';
import type { StateDir } from './state-dir.ts';
import { bury, readTombstones, sweepSegments } from './tombstones.ts';

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

/** A segment is written again when at least this share of it is dead. */
const DEAD_SHARE = 0.5;

export async function collectRuns(
  state: StateDir,
  index: Index,
  runs: readonly GcRun[],
  now_ms: number,
): Promise<GcResult> {
  const release = takeLock(join(state.path, 'gc.lock'));
  if (release === null)
    throw new TachoError('busy', `another gc is at work in ${state.path}`, { stage: 'gc' });
  try {
    await createCatalogue(state.journal, index).refresh(newReport());
    const archive = await archiveRuns(state, index, runs, now_ms);
    bury(
      state,
      runs.map(({ run_id }) => run_id),
    );
    const known = new Set(runs.map(({ run_id }) => run_id));
    // What an earlier gc wrote down and did not finish goes with these.
    const deleted = readTombstones(state);
    for (const run_id of index.runIds()) if (deleted.has(run_id)) known.add(run_id);
    const dead = deadShares(index, known);
    index.deleteRuns([...known]);
    for (const spool of listSpools(state)) if (known.has(spool.name)) removeSpool(spool);
    removeFilesOf(state, known);
    const removed = sweepSegments(state, index, [...dead.keys()]);
    const half_dead = [...dead].filter(
      ([segment, share]) => share >= DEAD_SHARE && !removed.includes(segment),
    );
    let segments_rewritten = 0;
    for (const [segment] of half_dead)
      if (await rewrite(state, index, segment)) segments_rewritten += 1;
    const segments_removed = removed.length;
    if (known.size > 0) index.compact();
    return { removed: runs.length, archive, segments_removed, segments_rewritten };
  } finally {
    release();
  }
}

/** Of each segment that holds entries of these sessions: how much of it they are. */
function deadShares(index: Index, sessions: ReadonlySet<string>): Map<string, number> {
  const all = new Map<string, { dead: number; all: number }>();
  for (const { segment, session, entries } of index.entriesBySession()) {
    const count = all.get(segment) ?? { dead: 0, all: 0 };
    count.all += entries;
    if (sessions.has(session)) count.dead += entries;
    all.set(segment, count);
  }
  const shares = [...all].filter(([, { dead }]) => dead > 0);
  return new Map(shares.map(([segment, count]) => [segment, count.dead / count.all]));
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
    for (const segment of [...held].sort())
      for await (const line of wholeLines(state, segment, wanted)) archive.add(line);
    archive.commit();
    return archive.path;
  } finally {
    archive.abandon();
  }
}

/** The lines of these sessions, byte for byte, LF included. */
async function* wholeLines(
  state: StateDir,
  segment: string,
  sessions: ReadonlySet<string>,
): AsyncGenerator<Buffer> {
  const fd = openRead(join(state.journal, segment));
  try {
    const report = newReport();
    for await (const lines of scanSegment(state.journal, segment, { report }))
      for (const line of lines) if (sessions.has(line.session)) yield wholeLine(fd, line);
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

const WRITE_BYTES = 1024 * 1024;

/** What is kept goes into a segment of our own, durable before the old one is removed: twice there is no harm. */
async function rewrite(state: StateDir, index: Index, segment: string): Promise<boolean> {
  if (mayGrow(state.journal, segment)) return false;
  const kept = new Set(index.sessionsIn(segment));
  const out = createSegment(state.journal, segmentName(Date.now(), systemRandom));
  try {
    let held: Buffer[] = [];
    let bytes = 0;
    for await (const line of wholeLines(state, segment, kept)) {
      held.push(line);
      bytes += line.length;
      if (bytes < WRITE_BYTES) continue;
      await out.write(Buffer.concat(held, bytes));
      held = [];
      bytes = 0;
    }
    if (bytes > 0) await out.write(Buffer.concat(held, bytes));
  } finally {
    out.close();
  }
  unlinkSync(join(state.journal, segment));
  index.forgetSegment(segment);
  await createCatalogue(state.journal, index).refresh(newReport());
  return true;
}
