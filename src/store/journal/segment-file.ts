/**
 * A segment on disk: `<id>.jsonl` while it may grow, `<id>.jsonl.zst` once it is packed. Contract: all other code uses
 * only the first name, and positions in the plain text. If both exist, the plain one takes precedence: it is removed
 * last. A frame that cannot be decompressed is treated as a damaged line of its size, so that all others keep their
 * positions.
 */
import { closeSync, fstatSync, lstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { withFd } from '../../lib/with-fd.ts';
import { errno, openRead, readStart } from '../files.ts';
import {
  FRAME_BYTES,
  type FrameTable,
  frameWith,
  type PackedFrame,
  readTable,
} from './frame-table.ts';
import { textNow, textOf, unpackNow } from './frame-text.ts';
import { bytesAt } from './zstd-frames.ts';

const readAt = promisify(read);

/** Suffix after the name of a segment. */
export const PACKED = '.zst';

export interface SegmentFile {
  /** The end of the file is missing, so its content cannot be counted. */
  readonly damaged: boolean;
  /** Reads up to `count` bytes of the plain text at `position` to `target[at]`; 0 at the end. */
  read(target: Buffer, at: number, count: number, position: number): Promise<number>;
  close(): void;
}

/**
 * Tries both forms of a segment: the packed form has its final name before the plain one is removed, so one is found.
 */
function either<T>(path: string, plain: (path: string) => T, packed: (path: string) => T): T {
  try {
    return plain(path);
  } catch (missing) {
    if (errnoOf(missing) !== 'ENOENT') throw missing;
    try {
      return packed(`${path}${PACKED}`);
    } catch (error) {
      throw errnoOf(error) === 'ENOENT' ? missing : error;
    }
  }
}

export function openSegment(path: string): SegmentFile {
  return either(path, openPlain, openPacked);
}

function openPlain(path: string): SegmentFile {
  const fd = openRead(path);
  return {
    damaged: false,
    read: async (target, at, count, position) =>
      (await readAt(fd, target, at, count, position)).bytesRead,
    close: () => closeSync(fd),
  };
}

function openPacked(path: string): SegmentFile {
  const fd = openRead(path);
  let table: FrameTable;
  try {
    table = tableIn(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let held: { frame: PackedFrame; bytes: Buffer } | null = null;
  const letGo = () => {
    if (held !== null) free(held.bytes);
    held = null;
  };
  return {
    damaged: table.damaged,
    async read(target, at, count, position) {
      const frame = frameWith(table, position);
      if (frame === undefined) return 0;
      if (held?.frame !== frame) {
        letGo();
        held = { frame, bytes: await textOf(fd, frame) };
      }
      const from = position - frame.plain_at;
      return held.bytes.copy(target, at, from, from + count);
    },
    close() {
      letGo();
      closeSync(fd);
    },
  };
}

/**
 * Frees the memory now: otherwise a scan would leave as much garbage as it reads. Small buffers share
 * memory.
 */
function free({ buffer, length }: Buffer): void {
  if (length >= FRAME_BYTES / 2) (buffer as ArrayBuffer).transfer(0);
}

function tableIn(fd: number): FrameTable {
  const table = readTable(fd);
  if (table === null) throw errno('EINVAL', 'no frame of a packed segment');
  return table;
}

/** The beginning of the text, at most `bytes_max`. For a segment packed by us, at least its first line. */
export function readFirst(path: string, bytes_max: number): Buffer {
  return either(
    path,
    (plain) => readStart(plain, bytes_max),
    (packed) => withFd(openRead(packed), (fd) => firstOf(fd).subarray(0, bytes_max)),
  );
}

const firstOf = (fd: number) => textNow(fd, tableIn(fd).frames[0] as PackedFrame);

/** Whether the text has no gap. A copy of a text with a gap would make the loss permanent. */
export function isWhole(path: string): boolean {
  if (!isPacked(path)) return true;
  try {
    return withFd(openRead(`${path}${PACKED}`), (fd) => {
      const table = tableIn(fd);
      return !table.damaged && table.frames.every((frame) => unpackNow(fd, frame) !== null);
    });
  } catch {
    return false;
  }
}

/** Whether the packed form contains all the text of the plain one next to it; it may contain more. */
export function packedHolds(path: string): boolean {
  if (lstatSync(`${path}${PACKED}`, { throwIfNoEntry: false })?.isFile() !== true) return false;
  return withFd(openRead(`${path}${PACKED}`), (packed) =>
    withFd(openRead(path), (plain) => {
      const table = readTable(packed);
      const { size } = fstatSync(plain);
      if (table === null || table.damaged || table.bytes < size) return false;
      return table.frames.every((frame) => {
        const count = Math.min(frame.plain, size - frame.plain_at);
        if (count <= 0) return true;
        return textNow(packed, frame)
          .subarray(0, count)
          .equals(bytesAt(plain, frame.plain_at, count));
      });
    }),
  );
}

/** All of the text, synchronously. A chunk is valid until the next one. */
export function* piecesOf(path: string): Generator<Buffer> {
  const file = either(
    path,
    (plain) => ({ fd: openRead(plain), packed: false }),
    (packed) => ({ fd: openRead(packed), packed: true }),
  );
  try {
    if (file.packed) for (const frame of tableIn(file.fd).frames) yield textNow(file.fd, frame);
    else yield* plainPieces(file.fd);
  } finally {
    closeSync(file.fd);
  }
}

function* plainPieces(fd: number): Generator<Buffer> {
  const bytes = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  let count = readSync(fd, bytes, 0, bytes.length, null);
  for (; count > 0; count = readSync(fd, bytes, 0, bytes.length, null))
    yield bytes.subarray(0, count);
}

const sizeAt = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.size;

/**
 * Bytes of the plain text. 0 if there is none. For a link, the bytes of the link itself: links are not followed, and
 * dangling links are noticed too, as is a packed file that cannot be read.
 */
export function plainSize(path: string): number {
  const size = sizeAt(path);
  if (size !== undefined) return size;
  try {
    return withFd(openRead(`${path}${PACKED}`), (fd) => readTable(fd)?.bytes ?? fstatSync(fd).size);
  } catch {
    return sizeAt(`${path}${PACKED}`) ?? 0;
  }
}

/** Bytes of a segment on disk, in both forms if both exist. */
export function sizeOnDisk(path: string): number {
  return (sizeAt(path) ?? 0) + (sizeAt(`${path}${PACKED}`) ?? 0);
}

export const isPacked = (path: string) =>
  sizeAt(path) === undefined && sizeAt(`${path}${PACKED}`) !== undefined;

export const isThere = (path: string) => sizeOnDisk(path) > 0;
