/**
 * Framing: bytes in any chunking → lines, split at LF only, with a byte limit.
 * Contract: the chunking does not affect the lines; memory is bounded by the limit; a line over the limit is not buffered
 * but hashed and reported, and reading continues with the next line.
 */
import { createHash, type Hash } from 'node:crypto';
import { LIMITS } from './limits.ts';

/** The position of a line. The object is reused: copy the values that you keep. */
export interface LinePlace {
  /** 1-based; blank lines count. */
  line: number;
  /** Byte offset of the line's first byte. */
  offset: number;
  /** Whether the line ended with LF; false only for the last line. */
  terminated: boolean;
}

export interface OversizeLine extends LinePlace {
  bytes: number;
  sha256: string;
  /** The beginning, up to `excerpt_read_bytes`. */
  head: Buffer;
}

export interface LineSink {
  /** One line without its LF and at most one CR. The bytes are valid only during the call. */
  line(bytes: Buffer, start: number, end: number, place: LinePlace): void;
  oversize(line: OversizeLine): void;
}

export type Lines = ReturnType<typeof createLines>;

const LF = 10;
const CR = 13;
const BOM = [0xef, 0xbb, 0xbf];
const START = { line: 0, offset: 0 };
const NOTHING = Buffer.alloc(0);
/** Initial buffer size for an unfinished line; doubled as needed. */
const ROOM_BYTES_MIN = 512;

interface Oversize {
  hash: Hash;
  head: Buffer;
  bytes: number;
}

const behindMark = (bytes: Buffer, from: number) =>
  BOM.every((byte, at) => bytes[from + at] === byte) ? from + BOM.length : from;

function poured(bytes: Buffer): Oversize {
  const over = { hash: createHash('sha256'), head: NOTHING, bytes: 0 };
  pour(over, bytes);
  return over;
}

/** The excerpt does not depend on the chunking. */
function pour(over: Oversize, bytes: Buffer): void {
  const missing = LIMITS.excerpt_read_bytes - over.head.length;
  if (missing > 0) over.head = Buffer.concat([over.head, bytes.subarray(0, missing)]);
  over.hash.update(bytes);
  over.bytes += bytes.length;
}

/** The unfinished line, in one buffer: if input arrives byte by byte, a list would need an object per byte. */
class Held {
  length = 0;
  readonly #bytes_max: number;
  #room: Buffer = NOTHING;

  constructor(bytes_max: number) {
    this.#bytes_max = bytes_max;
  }

  get room(): number {
    return this.#room.length;
  }

  add(bytes: Buffer): void {
    const needed = this.length + bytes.length;
    if (needed > this.#room.length) {
      // Doubling costs at most one more copy in total.
      const size = Math.max(needed, Math.min(2 * this.length, this.#bytes_max), ROOM_BYTES_MIN);
      const room = Buffer.allocUnsafe(size);
      this.#room.copy(room, 0, 0, this.length);
      this.#room = room;
    }
    this.length += bytes.copy(this.#room, this.length);
  }

  take(): Buffer {
    const bytes = this.#room.subarray(0, this.length);
    this.#room = NOTHING;
    this.length = 0;
    return bytes;
  }
}

/** Completes each line that ends in the chunk. Returns the offset of the remaining bytes. */
function closeEach(
  chunk: Buffer,
  close: (chunk: Buffer, from: number, to: number) => void,
): number {
  let start = 0;
  for (let lf = chunk.indexOf(LF); lf >= 0; lf = chunk.indexOf(LF, start)) {
    close(chunk, start, lf);
    start = lf + 1;
  }
  return start;
}

/** `most`: maximum bytes of a line. */
export function createLines(sink: LineSink, most: number = LIMITS.line_bytes_max, from = START) {
  const place: LinePlace = { line: from.line, offset: from.offset, terminated: true };
  const held = new Held(most);
  let over: Oversize | null = null;
  let next_offset = from.offset;

  function emit(bytes: Buffer, from: number, to: number): void {
    const start = place.line === 1 ? behindMark(bytes, from) : from;
    const end = to > start && bytes[to - 1] === CR ? to - 1 : to;
    if (end > start) sink.line(bytes, start, end, place);
  }

  function spill(bytes: Buffer): void {
    over ??= poured(held.take());
    pour(over, bytes);
  }

  function takeOversize(last: Buffer): OversizeLine {
    spill(last);
    const { hash, head, bytes } = over as unknown as Oversize;
    over = null;
    return { ...place, bytes, sha256: hash.digest('hex'), head };
  }

  /** Completes the current line with its last bytes. */
  function close(chunk: Buffer, from: number, to: number): void {
    place.line += 1;
    place.offset = next_offset;
    const bytes = (over?.bytes ?? held.length) + (to - from);
    next_offset += bytes + (place.terminated ? 1 : 0);
    if (over !== null || bytes > most) sink.oversize(takeOversize(chunk.subarray(from, to)));
    else if (held.length === 0) emit(chunk, from, to);
    else {
      held.add(chunk.subarray(from, to));
      emit(held.take(), 0, bytes);
    }
  }

  return {
    push(chunk: Buffer): void {
      const start = closeEach(chunk, close);
      if (start === chunk.length) return;
      const rest = chunk.subarray(start);
      if (over !== null || held.length + rest.length > most) spill(rest);
      // A copy: the caller may reuse its buffer.
      else held.add(rest);
    },
    /** The place after the last complete line. */
    get position() {
      return { line: place.line, offset: next_offset };
    },
    /** Whether there is an unfinished line. */
    get begun(): boolean {
      return held.length > 0 || over !== null;
    },
    /** Memory of the unfinished line in bytes. */
    get held(): number {
      return held.room;
    },
    /** Stops buffering the unfinished line. Its remaining bytes are still read, and it is reported as over the limit. */
    giveUp(): void {
      if (held.length > 0) spill(NOTHING);
    },
    end(): void {
      if (held.length === 0 && over === null) return;
      place.terminated = false;
      close(NOTHING, 0, 0);
    },
    /** The rest of the current line will never arrive: emits the part that exists, and starts a new line. */
    restart(): OversizeLine {
      place.line += 1;
      place.offset = next_offset;
      const rest = takeOversize(NOTHING);
      next_offset += rest.bytes + 1;
      return { ...rest, terminated: false };
    },
  };
}

/** Yields the values that the sink emits for the lines of these chunks, one array per chunk. */
export async function* linesIn<T>(
  chunks: AsyncIterable<Uint8Array>,
  sinkOf: (put: (item: T) => void) => LineSink,
  bytes_max?: number,
): AsyncGenerator<T[]> {
  let held: T[] = [];
  const sink = sinkOf((item) => void held.push(item));
  const lines = createLines(sink, bytes_max);
  for await (const { buffer, byteOffset, byteLength } of chunks) {
    lines.push(Buffer.from(buffer, byteOffset, byteLength));
    yield held;
    held = [];
  }
  lines.end();
  yield held;
}
