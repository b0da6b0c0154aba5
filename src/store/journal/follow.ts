/** Follows the journal while any process writes to it. */
import { type FSWatcher, fstatSync, readSync, watch } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { withFd } from '../../lib/with-fd.ts';
import { openRead } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { type Cursor, type JournalRead, type StoredEntry, storedEntry } from './read.ts';
import {
  listSegments,
  newReport,
  type ReadReport,
  type SegmentLine,
  SegmentReader,
  segmentBytes,
  segmentOf,
} from './scan.ts';
import { isPacked } from './segment-file.ts';

/** Checked before the body is read. */
export type EntryFilter = (entry: { session: string; source: string; seq: number }) => boolean;

/**
 * Everything from the cursor on, then new entries, until the signal aborts. Entries of one segment arrive in order. An
 * entry may arrive twice (after a failed write, or with an outdated cursor), but is never missed.
 */
export function follow(
  dir: string,
  cursor: Cursor,
  signal: AbortSignal,
  filter?: EntryFilter,
): JournalRead {
  const report = newReport();
  return { report, [Symbol.asyncIterator]: () => walk({ dir, cursor, signal, filter, report }) };
}

const LF = 10;
const PIECE_BYTES = 64 * 1024;

/** A cursor from which only later entries are read. */
export function endsOf(dir: string): Cursor {
  return Object.fromEntries(listSegments(dir).map((segment) => [segment, endOf(dir, segment)]));
}

/** The end of the last complete line: the next one may be half written at this moment. */
function endOf(dir: string, segment: string): number {
  const bytes = Buffer.allocUnsafe(PIECE_BYTES);
  let fd: number;
  try {
    fd = openRead(join(dir, segment));
  } catch (error) {
    // Packed: nothing is added to it any more.
    return errnoOf(error) === 'ENOENT' ? segmentBytes(dir, segment) : 0;
  }
  return withFd(fd, () => {
    for (let end = fstatSync(fd).size; end > 0; end -= PIECE_BYTES) {
      const from = Math.max(0, end - PIECE_BYTES);
      const count = readSync(fd, bytes, 0, end - from, from);
      const at = bytes.subarray(0, count).lastIndexOf(LF);
      if (at >= 0) return from + at + 1;
    }
    return 0;
  });
}

interface Walk {
  dir: string;
  cursor: Cursor;
  signal: AbortSignal;
  filter: EntryFilter | undefined;
  report: ReadReport;
}

async function* walk(options: Walk): AsyncGenerator<StoredEntry> {
  const { dir, cursor, signal, filter, report } = options;
  const places = new Map<string, number>(Object.entries(cursor));
  const sizes = new Map<string, number>();
  /** Packed segments that were read: nothing is added to them any more. */
  const ended = new Set<string>();
  const bell = createBell(dir, signal);
  try {
    for (let round = 0; !signal.aborted; round++) {
      for (const segment of due(dir, bell, round)) {
        if (ended.has(segment)) continue;
        if (isPacked(join(dir, segment))) ended.add(segment);
        const size = segmentBytes(dir, segment);
        if (size === sizes.get(segment)) continue;
        sizes.set(segment, size);
        const from = places.get(segment) ?? 0;
        const reader = new SegmentReader(join(dir, segment), { from, report });
        try {
          for await (const line of linesOf(reader, signal)) {
            if (filter !== undefined && !filter(line)) continue;
            report.entries += 1;
            yield storedEntry(segment, line, line.source);
          }
          places.set(segment, reader.position);
        } finally {
          reader.close();
        }
        if (signal.aborted) return;
      }
      await bell.rings();
    }
  } finally {
    bell.close();
  }
}

async function* linesOf(reader: SegmentReader, signal: AbortSignal): AsyncGenerator<SegmentLine> {
  for (let lines = await reader.next(); lines !== null; lines = await reader.next()) {
    for (const line of lines) {
      if (signal.aborted) return;
      yield line;
    }
  }
}

/** The first round and every tenth check all segments, the others only changed segments and the newest. */
function due(dir: string, bell: Bell, round: number): string[] {
  const all = listSegments(dir);
  const changed = bell.changed();
  if (round % 10 === 0) return all;
  const newest = new Set(all.slice(-STORE_LIMITS.follow_segments_hot));
  return all.filter((segment) => newest.has(segment) || changed.has(segment));
}

type Bell = ReturnType<typeof createBell>;

/** Signals that something in a folder may have changed. */
function createBell(dir: string, signal: AbortSignal) {
  let names = new Set<string>();
  let wake: (() => void) | null = null;
  let watcher: FSWatcher | null = null;
  const ring = () => wake?.();
  try {
    watcher = watch(dir, { persistent: false }, (_event, name) => {
      if (name !== null) names.add(segmentOf(name));
      ring();
    });
    // If the watcher fails, polling remains.
    watcher.on('error', () => watcher?.close());
  } catch {
    watcher = null;
  }
  signal.addEventListener('abort', ring);
  return {
    /** Names of files that changed since the last call. A packed segment is listed under its plain name. */
    changed(): Set<string> {
      const result = names;
      names = new Set();
      return result;
    },
    /** Resolves on a change, after the poll time, or on abort. */
    rings(): Promise<void> {
      if (signal.aborted || names.size > 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(ring, LIMITS.tail_poll_ms);
        wake = () => {
          wake = null;
          clearTimeout(timer);
          resolve();
        };
      });
    },
    close() {
      signal.removeEventListener('abort', ring);
      watcher?.close();
    },
  };
}
