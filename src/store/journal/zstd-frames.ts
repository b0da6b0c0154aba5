/**
 * Where the frames of a zstd file lie. Node's decompressor drops what follows the end of a frame in the same piece
 * (nodejs/node#64741), so each frame is given to one of its own.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const MAGIC = 0xfd2fb528;
const HEADER_BYTES_MAX = 18;
const BLOCK_HEADER_BYTES = 3;
/** One byte, repeated: all that such a block holds. */
const RLE_BLOCK = 1;

export interface Frame {
  from: number;
  to: number;
}

/** The frames, one behind the other. What is no frame counts as one, an empty file too: the decompressor says what is wrong with it. */
export function* framesOf(path: string): Generator<Frame> {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    let from = 0;
    do {
      const to = Math.min(size, frameEnd(fd, from) ?? size);
      yield { from, to };
      from = to;
    } while (from < size);
  } finally {
    closeSync(fd);
  }
}

/** Null when the frame is cut or is none. */
function frameEnd(fd: number, from: number): number | null {
  const head = bytesAt(fd, from, HEADER_BYTES_MAX);
  if (head.length < 6 || head.readUInt32LE(0) !== MAGIC) return null;
  const flags = head.readUInt8(4);
  const single = (flags >> 5) & 1;
  const size_bytes = [single, 2, 4, 8][flags >> 6] ?? 0;
  const dictionary_bytes = [0, 1, 2, 4][flags & 3] ?? 0;
  let at = from + 5 + (1 - single) + dictionary_bytes + size_bytes;
  for (;;) {
    const bytes = bytesAt(fd, at, BLOCK_HEADER_BYTES);
    if (bytes.length < BLOCK_HEADER_BYTES) return null;
    const block = bytes.readUIntLE(0, BLOCK_HEADER_BYTES);
    const is_rle = ((block >> 1) & 3) === RLE_BLOCK;
    at += BLOCK_HEADER_BYTES + (is_rle ? 1 : block >> 3);
    const has_checksum = (flags & 4) !== 0;
    if ((block & 1) === 1) return at + (has_checksum ? 4 : 0);
  }
}

function bytesAt(fd: number, at: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count);
  return bytes.subarray(0, readSync(fd, bytes, 0, count, at));
}
