/**
 * A segment on the disk: `<id>.jsonl` while it may grow, `<id>.jsonl.zst` once it is packed. Contract: everybody else
 * knows only the first name, and places in the plain text. Where both are there, the plain one counts: it is removed
 * last. A frame that cannot be unpacked reads as a damaged line of its size, so that all others keep their places.
 */
import { closeSync, fstatSync, lstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { constants, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { errnoOf } from '../../lib/errors.ts';
import { lazy } from '../../lib/lazy.ts';
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
import { bytesAt } from './zstd-frames.ts';

const readAt = promisify(read);
/** Not made at load: reading `zstdDecompress` there would load the module of Node at every start. */
const unpack = lazy(() => promisify(zstdDecompress));
const LF = 10;

/** Behind the name of a segment. */
export const PACKED = '.zst';

export interface SegmentFile {
  /** The end of the file is missing: what was in it cannot be counted. */
  readonly damaged: boolean;
  /** Reads up to `count` bytes of the plain text at `position` to `target[at]`; 0 at the end. */
  read(target: Buffer, at: number, count: number, position: number): Promise<number>;
  close(): void;
}

/** Both forms of a segment: the packed one has its name before the plain one is removed, so one of them is found. */
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

/** At once: a scan would else leave as much to the garbage collector as it reads. Small ones share their memory. */
function free({ buffer, length }: Buffer): void {
  if (length >= FRAME_BYTES / 2) (buffer as ArrayBuffer).transfer(0);
}

function tableIn(fd: number): FrameTable {
  const table = readTable(fd);
  if (table === null) throw errno('EINVAL', 'no frame of a packed segment');
  return table;
}

async function textOf(fd: number, frame: PackedFrame): Promise<Buffer> {
  const packed = Buffer.allocUnsafe(frame.packed);
  const { bytesRead } = await readAt(fd, packed, 0, packed.length, frame.at);
  try {
    return whole(await unpack()(packed.subarray(0, bytesRead), unpackOptions(frame)), frame);
  } catch (error) {
    return holeFor(error, frame);
  }
}

/** A frame never makes more than the table says, and never asks for more memory than a frame of ours. */
const unpackOptions = ({ plain }: PackedFrame) => ({
  maxOutputLength: Math.max(1, plain),
  // Were it filled to its end, a second one would be made.
  chunkSize: plain + 64,
  params: { [constants.ZSTD_d_windowLogMax]: 20 },
});

function whole(bytes: Buffer, { plain }: PackedFrame): Buffer {
  if (bytes.length !== plain) throw errno('EINVAL', 'a frame of another size');
  return bytes;
}

/** Lines cut by the damage end before it and begin behind it. */
function holeFor(error: unknown, { plain }: PackedFrame): Buffer {
  // Nothing is wrong with the file.
  if (errnoOf(error) === 'ZSTD_error_memory_allocation') throw error;
  const hole = Buffer.alloc(plain);
  if (plain > 0) {
    hole[0] = LF;
    hole[plain - 1] = LF;
  }
  return hole;
}

/** The beginning of the text, at most `bytes_max`: its first line at least, of a segment that we packed. */
export function readFirst(path: string, bytes_max: number): Buffer {
  return either(
    path,
    (plain) => readStart(plain, bytes_max),
    (packed) => withFd(openRead(packed), (fd) => firstOf(fd).subarray(0, bytes_max)),
  );
}

const firstOf = (fd: number) => textNow(fd, tableIn(fd).frames[0] as PackedFrame);

function textNow(fd: number, frame: PackedFrame): Buffer {
  const packed = bytesAt(fd, frame.at, frame.packed);
  try {
    return whole(zstdDecompressSync(packed, unpackOptions(frame)), frame);
  } catch (error) {
    return holeFor(error, frame);
  }
}

/** All of the text, while nothing else is done. A piece is valid until the next one. */
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
 * Bytes of the plain text; 0 when there is none. Of a link the bytes of the link itself: none is followed, and one that
 * leads nowhere is noticed too, as is a packed file that cannot be read.
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

/** Bytes that a segment takes, in both forms where both are there. */
export function sizeOnDisk(path: string): number {
  return (sizeAt(path) ?? 0) + (sizeAt(`${path}${PACKED}`) ?? 0);
}

export const isPacked = (path: string) =>
  sizeAt(path) === undefined && sizeAt(`${path}${PACKED}`) !== undefined;

export const isThere = (path: string) => sizeOnDisk(path) > 0;
