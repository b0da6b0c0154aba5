/**
 * Packs a segment that no process writes any more. Contract: after a kill at any moment, all of its text exists in
 * one form or both. Uses memory for one frame and never blocks the event loop.
 */
import { type BigIntStats, closeSync, fstatSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { constants, crc32, zstdCompress } from 'node:zlib';
import { lazy } from '../../lib/lazy.ts';
import { dieHere, failsAt } from '../failpoint.ts';
import { openRead, type PrivateFile, startPrivate } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { FRAME_BYTES, FRAMES_MAX, tableBytes } from './frame-table.ts';
import { PACKED } from './segment-file.ts';

const readAt = promisify(read);
/** Created on first use, like the options: reading from `node:zlib` at load time would load it at every start. */
const compress = lazy(() => promisify(zstdCompress));
const LF = 10;
/** The first line is its own frame: the writer of a segment is looked up more often than its content. */
const FIRST_LINE_BYTES_MAX = 2048;
/** The fastest level: the next levels take a third longer and save a tenth. */
const options = lazy(() => ({
  chunkSize: 64 * 1024,
  params: { [constants.ZSTD_c_compressionLevel]: 1 },
}));

const BYTES_MAX = (FRAMES_MAX - 2) * FRAME_BYTES;

/**
 * Writes the packed form next to the plain one, durably, and returns its file; the caller removes the plain one. Null if
 * the plain one must stay: it is too small, or `isOurs` is false after it was read, based on its file and the checksum of
 * its text.
 */
export async function packBeside(
  path: string,
  isOurs: (file: BigIntStats, sum: number) => boolean = () => true,
): Promise<BigIntStats | null> {
  const fd = openRead(path);
  try {
    const { size } = fstatSync(fd);
    if (size < STORE_LIMITS.pack_bytes_min || size > BYTES_MAX) return null;
    using file = startPrivate(`${path}${PACKED}`, 'journal');
    const { bytes, sum } = await packInto(file, fd);
    if (bytes !== size || !isOurs(fstatSync(fd, { bigint: true }), sum)) return null;
    if (failsAt('before_packed')) dieHere();
    const made = await file.commitLater();
    if (failsAt('after_packed')) dieHere();
    return made;
  } finally {
    closeSync(fd);
  }
}

async function packInto(file: PrivateFile, fd: number): Promise<{ bytes: number; sum: number }> {
  const text = Buffer.allocUnsafe(FRAME_BYTES);
  const frames: { packed: number; plain: number }[] = [];
  let bytes = 0;
  let sum = 0;
  const put = async (plain: Buffer) => {
    const packed = await compress()(plain, { ...options(), pledgedSrcSize: plain.length });
    file.write(packed);
    frames.push({ packed: packed.length, plain: plain.length });
    bytes += plain.length;
    sum = crc32(plain, sum);
    if (failsAt('mid_pack')) dieHere();
  };
  const first = await fill(fd, text.subarray(0, FIRST_LINE_BYTES_MAX), 0);
  const line_end = first.indexOf(LF) + 1;
  if (line_end > 0) await put(first.subarray(0, line_end));
  for (;;) {
    const plain = await fill(fd, text, bytes);
    if (plain.length === 0) break;
    await put(plain);
  }
  file.write(tableBytes(frames));
  return { bytes, sum };
}

/** Reads until the buffer is full or the file ends. */
async function fill(fd: number, room: Buffer, from: number): Promise<Buffer> {
  let done = 0;
  for (let count = -1; count !== 0 && done < room.length; done += count)
    count = (await readAt(fd, room, done, room.length - done, from + done)).bytesRead;
  return room.subarray(0, done);
}
