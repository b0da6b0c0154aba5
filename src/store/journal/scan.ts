/** Reads segments: streaming, in constant memory, and without exceptions for invalid content. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { STORE_LIMITS } from '../limits.ts';
import { findLine, type LineHead, readLine, startsWith } from './line.ts';
import { openSegment, PACKED, plainSize, type SegmentFile, sizeOnDisk } from './segment-file.ts';

const SEGMENT = /^[0-9a-hjkmnp-tv-z]{26}\.jsonl$/;
const LF = 10;
const LINE_BYTES_MAX = STORE_LIMITS.entry_bytes_max + 64 * 1024;
/** `{"v":` opens a segment's own first line. */
const VERSION_KEY = Buffer.from('{"v":');

/** Findings of a read, in addition to the entries. */
export type ReadReport = ReturnType<typeof newReport>;

export function newReport() {
  return {
    entries: 0,
    /** Last lines without an end: their writer died, or is still writing. */
    torn: 0,
    /** Lines that are not ours or have a wrong checksum. */
    corrupt: 0,
    /** Entries found after bytes that are not entries. */
    salvaged: 0,
    /** Entries that were already present. */
    duplicates: 0,
    /** Entries that differ from the first one with the same number. */
    conflicts: 0,
    /** Files that could not be read, including links and folders in a segment's place. */
    unreadable: 0,
  };
}

/** A line and the buffer that contains it, which is valid until the next read. */
export interface SegmentLine extends LineHead {
  bytes: Buffer;
  /** The position of this line and of the next one in the segment. */
  offset: number;
  next: number;
}

export const isSegment = (name: string) => SEGMENT.test(name);

/** The segment that a file contains. For any other file, its own name. */
export const segmentOf = (name: string) =>
  name.endsWith(PACKED) ? name.slice(0, -PACKED.length) : name;

/** Names of the segments, packed or not, oldest first. */
export function listSegments(dir: string): string[] {
  try {
    return [...new Set(readdirSync(dir).map(segmentOf).filter(isSegment))].sort();
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return [];
    throw fileError(cause, dir, 'journal');
  }
}

/** Bytes of its plain text; offsets count these bytes. */
export const segmentBytes = (dir: string, segment: string) => plainSize(join(dir, segment));

/** Bytes on disk. */
export const diskBytes = (dir: string, segment: string) => sizeOnDisk(join(dir, segment));

export class SegmentReader {
  readonly #path: string;
  readonly #report: ReadReport;
  #file: SegmentFile | null = null;
  #bytes = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  /**
   * File offset of bytes[0]. bytes[0, fill) are read, bytes[0, used) returned, and bytes[0, seen) contain no further
   * LF.
   */
  #base: number;
  #fill = 0;
  #used = 0;
  #seen = 0;
  #skipping = false;

  constructor(path: string, { from = 0, report }: ScanOptions) {
    this.#path = path;
    this.#report = report;
    this.#base = from;
  }

  /** The start of the first line not yet returned. */
  get position(): number {
    return this.#base + this.#used;
  }

  /** Bytes of an unfinished line at the end. */
  get pending(): number {
    return this.#fill - this.#used;
  }

  /** The lines of the next chunk. Null if there is nothing more for now. */
  async next(): Promise<SegmentLine[] | null> {
    for (;;) {
      this.#makeRoom();
      try {
        this.#file ??= this.#open();
        const room = this.#bytes.length - this.#fill;
        const at = this.#base + this.#fill;
        const count = await this.#file.read(this.#bytes, this.#fill, room, at);
        if (count === 0) return null;
        this.#fill += count;
      } catch {
        this.#report.unreadable += 1;
        return null;
      }
      const lines = this.#split();
      if (lines.length > 0) return lines;
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  #open(): SegmentFile {
    const file = openSegment(this.#path);
    if (file.damaged) this.#report.corrupt += 1;
    return file;
  }

  #makeRoom(): void {
    if (this.#used > 0) this.#bytes.copyWithin(0, this.#used, this.#fill);
    this.#base += this.#used;
    this.#fill -= this.#used;
    this.#seen = this.#fill;
    this.#used = 0;
    if (this.#fill < this.#bytes.length) return;
    if (this.#bytes.length >= LINE_BYTES_MAX) {
      if (!this.#skipping) this.#report.corrupt += 1;
      this.#skipping = true;
      this.#base += this.#fill;
      this.#fill = 0;
      this.#seen = 0;
      return;
    }
    const larger = Buffer.allocUnsafe(Math.min(this.#bytes.length * 2, LINE_BYTES_MAX));
    this.#bytes.copy(larger, 0, 0, this.#fill);
    this.#bytes = larger;
  }

  #split(): SegmentLine[] {
    const lines: SegmentLine[] = [];
    const bytes = this.#bytes;
    for (
      let lf = bytes.indexOf(LF, this.#seen);
      lf >= 0 && lf < this.#fill;
      lf = bytes.indexOf(LF, this.#used)
    ) {
      if (!this.#skipping) this.#take(this.#used, lf, lines);
      this.#skipping = false;
      this.#used = lf + 1;
    }
    return lines;
  }

  #take(start: number, end: number, lines: SegmentLine[]): void {
    const bytes = this.#bytes;
    const line = lineIn(bytes, start, end, this.#report);
    if (line === null) return;
    const { head, at } = line;
    lines.push({ ...head, bytes, offset: this.#base + at, next: this.#base + end + 1 });
  }
}

/** The entry in `bytes[start, end)` and its start, or null. Damage is counted. */
export function lineIn(
  bytes: Buffer,
  start: number,
  end: number,
  report: ReadReport,
): { head: LineHead; at: number } | null {
  if (end === start || startsWith(bytes, VERSION_KEY, start, end)) return null;
  const head = readLine(bytes, start, end);
  if (head !== null) return { head, at: start };
  report.corrupt += 1;
  const at = findLine(bytes, start, end);
  if (at < 0) return null;
  report.salvaged += 1;
  return { head: readLine(bytes, at, end) as LineHead, at };
}

interface ScanOptions {
  from?: number;
  report: ReadReport;
}

/** All lines of a segment from an offset on, in chunks. Counts a torn end. Returns the end of the last complete line. */
export async function* scanSegment(
  dir: string,
  segment: string,
  options: ScanOptions,
): AsyncGenerator<SegmentLine[], number> {
  const reader = new SegmentReader(join(dir, segment), options);
  try {
    for (let lines = await reader.next(); lines !== null; lines = await reader.next()) yield lines;
    if (reader.pending > 0) options.report.torn += 1;
    return reader.position;
  } finally {
    reader.close();
  }
}

/** The same, line by line. */
export async function eachLine(
  dir: string,
  segment: string,
  options: ScanOptions,
  take: (line: SegmentLine) => void,
): Promise<number> {
  const scan = scanSegment(dir, segment, options);
  try {
    for (;;) {
      const { done, value } = await scan.next();
      if (done === true) return value;
      value.forEach(take);
    }
  } finally {
    await scan.return(0);
  }
}

export function unreadable(what: string): TachoError {
  const text = `${what} cannot be read: check the owner and mode, and try again`;
  return new TachoError('journal_failed', text, { stage: 'journal', retryable: true });
}
