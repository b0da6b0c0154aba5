/** Reading segments: streaming, flat memory, never an exception for what stands in them. */
import { closeSync, lstatSync, read, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { openRead } from '../files.ts';
import { findLine, type LineHead, readLine } from './line.ts';

const readAt = promisify(read);
const SEGMENT = /^[0-9a-hjkmnp-tv-z]{26}\.jsonl$/;
const LF = 10;
const LINE_BYTES_MAX = LIMITS.entry_bytes_max + 64 * 1024;
/** `{"v":` opens a segment's own first line. */
const VERSION_KEY = Buffer.from('{"v":');

/** What was met while reading, beside the entries. */
export interface ReadReport {
  entries: number;
  /** Last lines without an end: their writer died, or is writing. */
  torn: number;
  /** Lines that are none of ours or whose hash is wrong. */
  corrupt: number;
  /** Entries found behind bytes that are none. */
  salvaged: number;
  /** Entries that were there already. */
  duplicates: number;
  /** Entries with another content than the one that was there first. */
  conflicts: number;
  /** Files that could not be read, links and folders in a segment's place included. */
  unreadable: number;
}

export function newReport(): ReadReport {
  return {
    entries: 0,
    torn: 0,
    corrupt: 0,
    salvaged: 0,
    duplicates: 0,
    conflicts: 0,
    unreadable: 0,
  };
}

/** A line and the bytes it lies in, which are valid until the next read. */
export interface SegmentLine extends LineHead {
  bytes: Buffer;
  /** Where the line begins and where the next one does, in the segment. */
  offset: number;
  next: number;
}

export const isSegment = (name: string) => SEGMENT.test(name);

/** Names of the segments, oldest first. */
export function listSegments(dir: string): string[] {
  try {
    return readdirSync(dir).filter(isSegment).sort();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fileError(cause, dir, 'journal');
  }
}

/** Of a link the bytes of the link itself: none is followed, and one that leads nowhere is noticed too. */
export function segmentBytes(dir: string, segment: string): number {
  return lstatSync(join(dir, segment), { throwIfNoEntry: false })?.size ?? 0;
}

export interface SegmentReader {
  /** The lines of the next piece; null when there is nothing more for now. */
  next(): Promise<SegmentLine[] | null>;
  /** Where the first line not yet given begins. */
  readonly position: number;
  /** Bytes of an unfinished line at the end. */
  readonly pending: number;
  close(): void;
}

export function openSegment(
  dir: string,
  segment: string,
  options: { from?: number; report: ReadReport },
): SegmentReader {
  const { report } = options;
  let fd = -1;
  let bytes = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  /** Offset in the file of bytes[0]; bytes[0, fill) are read, bytes[0, used) given away, bytes[0, seen) have no more LF. */
  let base = options.from ?? 0;
  let fill = 0;
  let used = 0;
  let seen = 0;
  let skipping = false;

  function makeRoom(): void {
    if (used > 0) bytes.copyWithin(0, used, fill);
    base += used;
    fill -= used;
    seen = fill;
    used = 0;
    if (fill < bytes.length) return;
    if (bytes.length >= LINE_BYTES_MAX) {
      if (!skipping) report.corrupt += 1;
      skipping = true;
      base += fill;
      fill = 0;
      seen = 0;
      return;
    }
    const larger = Buffer.allocUnsafe(Math.min(bytes.length * 2, LINE_BYTES_MAX));
    bytes.copy(larger, 0, 0, fill);
    bytes = larger;
  }

  function take(start: number, end: number, lines: SegmentLine[]): void {
    if (end === start || bytes.compare(VERSION_KEY, 0, 5, start, start + 5) === 0) return;
    let from = start;
    let head = readLine(bytes, from, end);
    if (head === null) {
      report.corrupt += 1;
      from = findLine(bytes, start, end);
      if (from < 0) return;
      head = readLine(bytes, from, end) as LineHead;
      report.salvaged += 1;
    }
    lines.push({ ...head, bytes, offset: base + from, next: base + end + 1 });
  }

  function split(): SegmentLine[] {
    const lines: SegmentLine[] = [];
    for (let lf = bytes.indexOf(LF, seen); lf >= 0 && lf < fill; lf = bytes.indexOf(LF, used)) {
      if (!skipping) take(used, lf, lines);
      skipping = false;
      used = lf + 1;
    }
    return lines;
  }

  return {
    async next() {
      for (;;) {
        makeRoom();
        try {
          if (fd < 0) fd = openRead(join(dir, segment));
          const { bytesRead } = await readAt(fd, bytes, fill, bytes.length - fill, base + fill);
          if (bytesRead === 0) return null;
          fill += bytesRead;
        } catch {
          report.unreadable += 1;
          return null;
        }
        const lines = split();
        if (lines.length > 0) return lines;
      }
    },
    get position() {
      return base + used;
    },
    get pending() {
      return fill - used;
    },
    close() {
      if (fd >= 0) closeSync(fd);
      fd = -1;
    },
  };
}

/** All lines of a segment from an offset on, in pieces; counts a torn end. Returns where the last whole line ended. */
export async function* scanSegment(
  dir: string,
  segment: string,
  options: { from?: number; report: ReadReport },
): AsyncGenerator<SegmentLine[], number> {
  const reader = openSegment(dir, segment, options);
  try {
    for (let lines = await reader.next(); lines !== null; lines = await reader.next()) yield lines;
    if (reader.pending > 0) options.report.torn += 1;
    return reader.position;
  } finally {
    reader.close();
  }
}

/** The same for what must not miss a line: throws when the segment cannot be read to its end. */
export async function* scanWhole(
  dir: string,
  segment: string,
): AsyncGenerator<SegmentLine[], number> {
  const report = newReport();
  const end = yield* scanSegment(dir, segment, { report });
  if (report.unreadable > 0) throw unreadable(join(dir, segment));
  return end;
}

export function unreadable(what: string): TachoError {
  const text = `${what} cannot be read: check the owner and mode, and try again`;
  return new TachoError('journal_failed', text, { stage: 'journal', retryable: true });
}
