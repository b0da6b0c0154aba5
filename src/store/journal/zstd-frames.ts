/**
 * The positions of the frames in a zstd file. Node's decompressor drops data after the end of a frame in the same
 * chunk (nodejs/node#64741), so each frame gets its own decompressor.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const MAGIC = 0xfd2fb528;
/** The last four bits may have any value. */
const SKIPPABLE = 0x184d2a5;
const HEADER_BYTES_MAX = 18;
const BLOCK_HEADER_BYTES = 3;
/** Such a block contains one repeated byte. */
const RLE_BLOCK = 1;

export interface Frame {
  from: number;
  to: number;
}

/** A frame as its own header describes it. */
interface FoundFrame {
  /** Where it ends. Null if it is cut off or not a frame. */
  to: number | null;
  /** Its decompressed size. Null if the header does not state it. */
  plain: number | null;
  /** Whether it contains no text. */
  skippable: boolean;
}

const NO_FRAME: FoundFrame = { to: null, plain: null, skippable: false };

/**
 * The frames that contain text, in order. Anything else counts as a frame, even an empty file: the decompressor
 * reports what is wrong with it.
 */
export function* framesOf(path: string): Generator<Frame> {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    let from = 0;
    do {
      const found = frameAt(fd, from);
      const to = Math.min(size, found.to ?? size);
      if (!found.skippable) yield { from, to };
      from = to;
    } while (from < size);
  } finally {
    closeSync(fd);
  }
}

/** `blocks_max`: a frame with more blocks is rejected, for files that others may have written. */
export function frameAt(
  fd: number,
  from: number,
  blocks_max = Number.POSITIVE_INFINITY,
): FoundFrame {
  const head = bytesAt(fd, from, HEADER_BYTES_MAX);
  if (head.length < 8) return NO_FRAME;
  const magic = head.readUInt32LE(0);
  if (magic >>> 4 === SKIPPABLE)
    return { to: from + 8 + head.readUInt32LE(4), plain: 0, skippable: true };
  if (magic !== MAGIC) return NO_FRAME;
  const flags = head.readUInt8(4);
  const single = (flags >> 5) & 1;
  const size_bytes = [single, 2, 4, 8][flags >> 6] ?? 0;
  const dictionary_bytes = [0, 1, 2, 4][flags & 3] ?? 0;
  const size_at = 5 + (1 - single) + dictionary_bytes;
  const checksum_bytes = (flags & 4) === 0 ? 0 : 4;
  const blocks_end = blocksEnd(fd, from + size_at + size_bytes, blocks_max);
  return {
    to: blocks_end === null ? null : blocks_end + checksum_bytes,
    plain: plainBytes(head, size_at, size_bytes),
    skippable: false,
  };
}

function plainBytes(head: Buffer, at: number, size_bytes: number): number | null {
  if (size_bytes === 0 || head.length < at + size_bytes) return null;
  if (size_bytes === 8) return Number(head.readBigUInt64LE(at));
  return head.readUIntLE(at, size_bytes) + (size_bytes === 2 ? 256 : 0);
}

function blocksEnd(fd: number, from: number, blocks_max: number): number | null {
  let at = from;
  for (let blocks = 0; blocks < blocks_max; blocks++) {
    const bytes = bytesAt(fd, at, BLOCK_HEADER_BYTES);
    if (bytes.length < BLOCK_HEADER_BYTES) return null;
    const block = bytes.readUIntLE(0, BLOCK_HEADER_BYTES);
    const is_rle = ((block >> 1) & 3) === RLE_BLOCK;
    at += BLOCK_HEADER_BYTES + (is_rle ? 1 : block >> 3);
    if ((block & 1) === 1) return at;
  }
  return null;
}

export function bytesAt(fd: number, at: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count);
  return bytes.subarray(0, readSync(fd, bytes, 0, count, at));
}
