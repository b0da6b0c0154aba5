/**
 * Writes a segment. Contract: only the process that created a segment writes to it, so nothing is appended to a line torn
 * by a dead writer. The first line names the writer.
 */
import {
  type BigIntStats,
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { errnoOf, fileError, TachoError } from '../../lib/errors.ts';
import { newRunId, type RandomSource } from '../../lib/ids.ts';
import { dieHere, failsAt } from '../failpoint.ts';
import { createPrivate, openRead, syncFolder, writeAll } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { mayLive, thisOwner } from '../owner.ts';
import { packBeside } from './pack.ts';
import { isPacked, PACKED, piecesOf } from './segment-file.ts';
import { readHeader } from './segment-owner.ts';

const syncData = promisify(fdatasync);

export type SegmentWriter = ReturnType<typeof createSegment>;

let last_ms = 0;

/** Names sort by time, even if one process creates several within a millisecond. */
export function segmentName(now_ms: number, random: RandomSource): string {
  last_ms = Math.max(now_ms, last_ms + 1);
  return `${newRunId(last_ms, random).slice(2)}.jsonl`;
}

/** `replaces`: as below. Returns the first line, which names the writer. */
function begin(dir: string, path: string, replaces?: string) {
  const fd = createPrivate(path);
  try {
    const first = Buffer.from(`${JSON.stringify({ v: 1, ...thisOwner(dir), replaces })}\n`);
    writeAll(fd, first);
    syncFolder(dir);
    return { fd, first, made: fstatSync(fd, { bigint: true }) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** `replaces`: the segment that it copies, without the deleted part. */
export function createSegment(dir: string, name: string, replaces?: string) {
  const path = join(dir, name);
  const { fd, first, made } = begin(dir, path, replaces);
  let bytes = first.length;
  /** The file as our last write left it. */
  let ours = made;
  let sum = crc32(first);
  /** Another process has written to it or set its time, so its bytes may not be ours. */
  let touched = false;
  let packed = false;

  /**
   * Detects that the file was removed or replaced while it is written: data is then lost, although every write
   * succeeds.
   */
  function look(): BigIntStats {
    const place = packed ? `${path}${PACKED}` : path;
    const found = lstatSync(place, { throwIfNoEntry: false, bigint: true });
    if (found === undefined || found.ino !== ours.ino || found.dev !== ours.dev)
      throw lost(place, 'was removed or replaced');
    if (found.size < (packed ? ours.size : BigInt(bytes))) throw lost(place, 'was truncated');
    // Readers prefer a plain file to the packed one: it would hide the recorded data.
    if (packed && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw lost(path, 'was removed or replaced');
    return found;
  }

  /** Throws unless the file is still at its path with all written bytes. Works after `close` too. */
  function check(): void {
    const found = look();
    if (!touched && isAs(found, ours)) return;
    if (sumOf(path, bytes) !== sum) throw lost(path, 'was changed');
    touched = false;
    ours = found;
  }

  return {
    name,
    path,
    /** Bytes written and synced. */
    get bytes() {
      return bytes;
    },
    check,
    /** Durable when it resolves. After a failure, the segment accepts no more data. */
    async write(chunk: Buffer): Promise<void> {
      try {
        if (failsAt('before_write')) dieHere();
        touched ||= !isAs(fstatSync(fd, { bigint: true }), ours);
        if (failsAt('mid_write')) {
          writeAll(fd, chunk.subarray(0, chunk.length >> 1));
          dieHere();
        }
        writeAll(fd, chunk);
        if (failsAt('after_write')) dieHere();
        await syncData(fd);
        if (failsAt('after_sync')) dieHere();
      } catch (error) {
        cutTo(fd, bytes);
        throw error;
      }
      bytes += chunk.length;
      sum = crc32(chunk, sum);
      ours = look();
    },
    close: () => closeSync(fd),
    /** After `close`: packs it if that is worthwhile. A failure leaves it unchanged. */
    async pack(): Promise<void> {
      if (bytes < STORE_LIMITS.pack_bytes_min || touched) return;
      try {
        // The time can be reset after a change, so only the bytes that were written are packed in its place.
        const made = await packBeside(
          path,
          (file, packed_sum) => file.ino === ours.ino && isAs(file, ours) && packed_sum === sum,
        );
        touched = made === null;
        if (made === null) return;
        unlinkSync(path);
        ours = made;
        packed = true;
      } catch {
        // The disk is full, or others changed the file: the recorded data is in the plain one.
      }
    },
  };
}

const isAs = (found: BigIntStats, known: BigIntStats) =>
  found.mtimeNs === known.mtimeNs && found.size === known.size;

/** The checksum of the first bytes of a segment. */
function sumOf(path: string, bytes: number): number {
  let sum = 0;
  let left = bytes;
  for (const piece of piecesOf(path)) {
    const counted = piece.subarray(0, left);
    sum = crc32(counted, sum);
    left -= counted.length;
    if (left === 0) break;
  }
  return sum;
}

function lost(path: string, how: string): TachoError {
  const text = `${path}: ${how} while it was written: keep the state folder where the agent does not write (--state-dir)`;
  return new TachoError('journal_failed', text, { stage: 'journal' });
}

/** Removes bytes that were not acknowledged. If that fails too, the reader drops them as torn or duplicate. */
function cutTo(fd: number, bytes: number): void {
  try {
    ftruncateSync(fd, bytes);
  } catch {
    // The original failure is the one to report.
  }
}

/** Syncs data that a dead writer left in the page cache, before other code relies on it. */
export async function syncSegment(dir: string, name: string): Promise<void> {
  const path = join(dir, name);
  let fd = -1;
  try {
    fd = openRead(path);
    await syncData(fd);
  } catch (cause) {
    // Packed, and therefore durable; or removed together with its data.
    if (errnoOf(cause) !== 'ENOENT') throw fileError(cause, path, 'journal');
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/** Whether the process that created a segment may still append to it. Never true for a packed one. */
export function mayGrow(dir: string, name: string): boolean {
  const path = join(dir, name);
  if (isPacked(path)) return false;
  const header = readHeader(path);
  return header !== null && mayLive(header.owner, dir);
}
