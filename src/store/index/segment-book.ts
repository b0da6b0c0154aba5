/**
 * Tracks which segments of a journal still have to be checked. Contract: a segment is closed once no process can
 * append to it and the index knows all of it. Closed segments are not checked again as long as their files keep their
 * names in the same folder. In case of doubt (another folder, a change too recent to show in its time, a clock that was
 * set back), the folder is listed again, or every segment counts as not closed.
 */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileError } from '../../lib/errors.ts';
import { isSegment, segmentOf } from '../journal/scan.ts';
import { isPacked, PACKED, sizeOnDisk } from '../journal/segment-file.ts';

export interface ClosedSegment {
  segment: string;
  packed: boolean;
  disk_bytes: number;
}

/** A journal folder as it was listed. */
export interface KnownFolder {
  /** Differs for any other folder, even for a copy at the same path. */
  identity: string;
  /** Changes whenever a name is added or removed. Empty if the folder's content is unknown. */
  stamp: string;
  /** Segments in it that were not closed. */
  open: readonly string[];
  /** Changes whenever a closed segment counts as not closed again. */
  generation: number;
}

/** The stored form, kept by the index. It may be lost, and a save may fail: then there is more to check. */
export interface SegmentBook {
  /** `open`: without segments that were closed since. */
  folder(): KnownFolder | null;
  /** Has no effect if the generation has changed. */
  saveFolder(folder: KnownFolder): void;
  /** Names of the closed segments' files, ascending, each followed by LF. */
  closedFiles(): string;
  /** Has no effect on segments that are not covered, or if the folder is not the known one. */
  close(identity: string, segments: readonly ClosedSegment[]): void;
  /** Marks these segments as not closed. */
  reopen(segments: readonly string[]): void;
  /** Forgets the closed segments of any other folder. */
  moveTo(identity: string): void;
}

/** For callers that store nothing. */
export const NO_BOOK: SegmentBook = {
  folder: () => null,
  saveFolder: () => undefined,
  closedFiles: () => '',
  close: () => undefined,
  reopen: () => undefined,
  moveTo: () => undefined,
};

/** Folder times have a resolution of up to two seconds: a later change within that may leave them unchanged. */
const TICK_MS = 2_000;

/** Whether a change of the folder after `now_ms` shows in its times. */
function isSteady({ mtimeNs, ctimeNs }: BigIntStats, now_ms: number): boolean {
  // Whole seconds: the file system has no finer resolution. A clock that was set back could then show the same time again.
  const coarse = mtimeNs % 1_000_000_000n === 0n || ctimeNs % 1_000_000_000n === 0n;
  const latest = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n);
  return !coarse && latest + TICK_MS < now_ms;
}

const identityIn = ({ dev, ino, birthtimeNs }: BigIntStats) => `${dev}:${ino}:${birthtimeNs}`;
/** The change time cannot be set: a restored folder has a different one. */
const stampIn = ({ mtimeNs, ctimeNs, size }: BigIntStats) => `${mtimeNs}:${ctimeNs}:${size}`;

const statOf = (dir: string) => lstatSync(dir, { throwIfNoEntry: false, bigint: true });

/** Empty if there is no such folder. */
export function identityOf(dir: string): string {
  const stat = statOf(dir);
  return stat === undefined ? '' : identityIn(stat);
}

/** The segments of a folder that are not known to be closed, oldest first. */
export function unclosed(dir: string, book: SegmentBook): readonly string[] {
  // Before anything is read, so that any later change has a later time.
  const now_ms = Date.now();
  const stat = statOf(dir);
  if (stat === undefined) return [];
  const [identity, stamp] = [identityIn(stat), stampIn(stat)];
  const steady = isSteady(stat, now_ms);
  const known = book.folder();
  if (steady && known?.identity === identity && known.stamp === stamp) return known.open;
  if (known?.identity !== identity) book.moveTo(identity);
  // Not the value just saved: saving may have failed.
  const closed = known?.identity === identity ? book.closedFiles() : '';
  const { open, gone } = compare(namesIn(dir), closed);
  if (gone.length > 0) book.reopen(gone);
  else if (steady && known?.identity === identity)
    book.saveFolder({ identity, stamp, open, generation: known.generation });
  return open;
}

function namesIn(dir: string): string[] {
  try {
    // Cheap if Node already lists them in order.
    return readdirSync(dir).sort();
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return [];
    throw fileError(cause, dir, 'journal');
  }
}

/**
 * Compares both lists in parallel: no set of names is built, however many there are. `gone`: closed segments without
 * files.
 */
function compare(names: readonly string[], closed: string): { open: string[]; gone: string[] } {
  const open = new Set<string>();
  const gone: string[] = [];
  let at = 0;
  const next = () => closed.slice(at, closed.indexOf('\n', at));
  for (const name of names) {
    while (at < closed.length) {
      if (closed.startsWith(name, at) && closed[at + name.length] === '\n') break;
      const file = next();
      if (file > name) break;
      gone.push(segmentOf(file));
      at += file.length + 1;
    }
    if (closed.startsWith(name, at) && closed[at + name.length] === '\n') at += name.length + 1;
    else if (isSegment(segmentOf(name))) open.add(segmentOf(name));
  }
  for (; at < closed.length; at += next().length + 1) gone.push(segmentOf(next()));
  return { open: [...open], gone };
}

/** A segment that its writer has finished, or left when it died. */
export function closedForm(dir: string, segment: string): ClosedSegment {
  const path = join(dir, segment);
  return { segment, packed: isPacked(path), disk_bytes: sizeOnDisk(path) };
}

export const fileName = (segment: string, packed: boolean) =>
  packed ? `${segment}${PACKED}` : segment;
