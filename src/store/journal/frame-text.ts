/**
 * The text of one frame of a packed segment. Contract: a damaged frame is replaced with a damaged line of its size. Any
 * other error, such as a lack of memory, is thrown, so that an intact frame is never mistaken for a damaged one.
 */
import { read } from 'node:fs';
import { promisify } from 'node:util';
import { constants, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { errnoOf } from '../../lib/errors.ts';
import { lazy } from '../../lib/lazy.ts';
import type { PackedFrame } from './frame-table.ts';
import { bytesAt } from './zstd-frames.ts';

const readAt = promisify(read);
/** Created on first use: reading `zstdDecompress` at load time would load the Node module at every start. */
const unpack = lazy(() => promisify(zstdDecompress));
const LF = 10;

export async function textOf(fd: number, frame: PackedFrame): Promise<Buffer> {
  const packed = Buffer.allocUnsafe(frame.packed);
  const { bytesRead } = await readAt(fd, packed, 0, packed.length, frame.at);
  const text = await unpack()(packed.subarray(0, bytesRead), unpackOptions(frame)).catch(damaged);
  return inPlace(text, frame) ?? holeOf(frame);
}

/** A frame never expands to more than the table states, and never needs more memory than a frame of ours. */
const unpackOptions = ({ plain }: PackedFrame) => ({
  maxOutputLength: Math.max(1, plain),
  // A buffer filled exactly to its end would make Node allocate a second one.
  chunkSize: plain + 64,
  params: { [constants.ZSTD_d_windowLogMax]: 20 },
});

/** Null for a text with a size that differs from the table. */
const inPlace = (text: Buffer | null, { plain }: PackedFrame) =>
  text?.length === plain ? text : null;

/**
 * The decompressor's codes for damaged data: format errors, a truncated frame and a text that is too
 * large.
 */
const DAMAGE: ReadonlySet<string> = new Set([
  ...[
    ...['prefix_unknown', 'version_unsupported', 'corruption_detected', 'checksum_wrong'],
    ...['frameParameter_unsupported', 'frameParameter_windowTooLarge', 'literals_headerWrong'],
    ...['dictionary_corrupted', 'dictionary_wrong', 'dstSize_tooSmall', 'srcSize_wrong'],
    ...['tableLog_tooLarge', 'maxSymbolValue_tooLarge', 'maxSymbolValue_tooSmall'],
  ].map((name) => `ZSTD_error_${name}`),
  ...['Z_BUF_ERROR', 'ERR_BUFFER_TOO_LARGE'],
]);

/** Null, the text of a damaged frame. Rethrows any other error: it does not mean that the file is bad. */
export function damaged(error: unknown): null {
  if (!DAMAGE.has(errnoOf(error))) throw error;
  return null;
}

/** Lines interrupted by the damage end before it and begin after it. */
function holeOf({ plain }: PackedFrame): Buffer {
  const hole = Buffer.alloc(plain);
  if (plain > 0) {
    hole[0] = LF;
    hole[plain - 1] = LF;
  }
  return hole;
}

export const textNow = (fd: number, frame: PackedFrame) => unpackNow(fd, frame) ?? holeOf(frame);

/** Null if it is damaged. */
export function unpackNow(fd: number, frame: PackedFrame): Buffer | null {
  const packed = bytesAt(fd, frame.at, frame.packed);
  try {
    return inPlace(zstdDecompressSync(packed, unpackOptions(frame)), frame);
  } catch (error) {
    return damaged(error);
  }
}
