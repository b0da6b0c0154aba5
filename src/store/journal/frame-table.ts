/**
 * The Zstandard Seekable Format: a text in independently compressed frames, then their sizes in a frame that
 * decompressors skip. Nothing in such a file is trusted: sizes are checked before they are used for reading.
 */
import { fstatSync } from 'node:fs';
import { bytesAt, frameAt } from './zstd-frames.ts';

/** Maximum bytes of text per frame. Smaller frames compress worse; larger ones make reading one entry expensive. */
export const FRAME_BYTES = 1024 * 1024;
/** Twice as many as a segment of ours has: it ends at 64 MiB, or is one entry of at most 64 MiB. More are refused. */
export const FRAMES_MAX = 130;
/** Maximum bytes of a compressed frame: the size that zstd needs for incompressible input. */
const PACKED_BYTES_MAX = FRAME_BYTES + FRAME_BYTES / 256 + 64;
/** Maximum number of blocks in a frame that is not in a table. Ours have 8. */
const BLOCKS_MAX = 64;

const SKIPPABLE_MAGIC = 0x184d2a5e;
const FOOTER_MAGIC = 0x8f92eab1;
const HEAD_BYTES = 8;
const FOOTER_BYTES = 9;
const CHECKSUM_FLAG = 0x80;
const RESERVED_FLAGS = 0x7c;
/** Enough for the table of most segments. */
const TAIL_BYTES = 1024;

/** The position of a frame in the file, and of its text in the complete text. */
export interface PackedFrame {
  at: number;
  packed: number;
  plain_at: number;
  plain: number;
}

export interface FrameTable {
  frames: readonly PackedFrame[];
  /** Bytes of the complete text. */
  bytes: number;
  /** The file is truncated or its table is damaged: these are the frames found from its beginning. */
  damaged: boolean;
}

type Sizes = Pick<PackedFrame, 'packed' | 'plain'>;

export function tableBytes(frames: readonly Sizes[]): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + frames.length * 8 + FOOTER_BYTES);
  bytes.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  bytes.writeUInt32LE(bytes.length - HEAD_BYTES, 4);
  let at = HEAD_BYTES;
  for (const { packed, plain } of frames) {
    at = bytes.writeUInt32LE(packed, at);
    at = bytes.writeUInt32LE(plain, at);
  }
  at = bytes.writeUInt32LE(frames.length, at);
  at = bytes.writeUInt8(0, at);
  bytes.writeUInt32LE(FOOTER_MAGIC, at);
  return bytes;
}

/** Null if no frame is found in the file. */
export function readTable(fd: number): FrameTable | null {
  const { size } = fstatSync(fd);
  const table = tableOf(tableSizes(fd, size), false);
  if (table !== null) return table;
  return tableOf(foundSizes(fd), true);
}

/** The sizes in the table at the end. Null unless they account for the whole file. */
function tableSizes(fd: number, size: number): Sizes[] | null {
  let tail = bytesAt(fd, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
  if (tail.length < HEAD_BYTES + FOOTER_BYTES) return null;
  if (tail.readUInt32LE(tail.length - 4) !== FOOTER_MAGIC) return null;
  const flags = tail.readUInt8(tail.length - 5);
  const count = tail.readUInt32LE(tail.length - FOOTER_BYTES);
  if (count > FRAMES_MAX || (flags & RESERVED_FLAGS) !== 0) return null;
  const step = (flags & CHECKSUM_FLAG) === 0 ? 8 : 12;
  const bytes = HEAD_BYTES + count * step + FOOTER_BYTES;
  if (bytes > size) return null;
  if (bytes > tail.length) tail = bytesAt(fd, size - bytes, bytes);
  const start = tail.length - bytes;
  if (start < 0 || tail.readUInt32LE(start) !== SKIPPABLE_MAGIC) return null;
  if (tail.readUInt32LE(start + 4) !== bytes - HEAD_BYTES) return null;
  const sizes = Array.from({ length: count }, (_, i) => {
    const at = start + HEAD_BYTES + i * step;
    return { packed: tail.readUInt32LE(at), plain: tail.readUInt32LE(at + 4) };
  });
  const packed = sizes.reduce((sum, one) => sum + one.packed, 0);
  return packed + bytes === size ? sizes : null;
}

/** The sizes in the frames themselves, up to the first incomplete one. */
function foundSizes(fd: number): Sizes[] {
  const sizes: Sizes[] = [];
  for (let at = 0; sizes.length < FRAMES_MAX; ) {
    const { to, plain, skippable } = frameAt(fd, at, BLOCKS_MAX);
    if (to === null || plain === null || skippable || !isAllowed({ packed: to - at, plain })) break;
    sizes.push({ packed: to - at, plain });
    at = to;
  }
  return sizes;
}

const isAllowed = ({ packed, plain }: Sizes) => packed <= PACKED_BYTES_MAX && plain <= FRAME_BYTES;

function tableOf(sizes: readonly Sizes[] | null, damaged: boolean): FrameTable | null {
  if (sizes === null || sizes.length === 0 || !sizes.every(isAllowed)) return null;
  const frames: PackedFrame[] = [];
  let at = 0;
  let plain_at = 0;
  for (const { packed, plain } of sizes) {
    frames.push({ at, packed, plain_at, plain });
    at += packed;
    plain_at += plain;
  }
  return { frames, bytes: plain_at, damaged };
}

/** The frame that contains this byte of the text. Undefined beyond the end. */
export function frameWith({ frames }: FrameTable, position: number): PackedFrame | undefined {
  let low = 0;
  let high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { plain_at, plain } = frames[middle] as PackedFrame;
    if (plain_at + plain <= position) low = middle + 1;
    else high = middle;
  }
  return frames[low];
}
