/**
 * Framing: bytes in any chunking → lines, split at LF only, with a byte limit.
 * Contract: the same bytes give the same lines however they are cut; memory is bounded by the limit; a line over it is
 * not buffered but hashed and reported, and the next line is read as if nothing had happened.
 */
import { createHash, type Hash } from 'node:crypto';
import { LIMITS } from './limits.ts';

/** Where a line stands. The object is reused: copy what you keep. */
export interface LinePlace {
  /** 1-based; blank lines count. */
  line: number;
  /** Byte offset of the line's first byte. */
  offset: number;
  /** Whether the line ended with LF; false only for the last one. */
  terminated: boolean;
}

export interface OversizeLine extends LinePlace {
  bytes: number;
  sha256: string;
  /** The beginning, up to `excerpt_read_bytes`. */
  head: Buffer;
}

export interface LineSink {
  /** One line without its LF and at most one CR; the bytes are valid during the call only. */
  line(bytes: Buffer, start: number, end: number, place: LinePlace): void;
  oversize(line: OversizeLine): void;
}

export interface Lines {
  push(chunk: Buffer): void;
  end(): void;
  /** The rest of the current line will never come: gives what there is of it, and begins a new line behind it. */
  restart(): OversizeLine;
  /** Bytes of memory that the unfinished line takes. */
  readonly held: number;
  /** The unfinished line is not wanted any more: it is read on, and reported as one over the limit. */
  giveUp(): void;
}

const LF = 10;
const CR = 13;
const BOM = [0xef, 0xbb, 0xbf];
const NOTHING = Buffer.alloc(0);
/** The first room for an unfinished line; it is doubled as needed. */
const ROOM_BYTES_MIN = 512;

interface Oversize {
  hash: Hash;
  head: Buffer;
  bytes: number;
}

/** The head is the same however the bytes are cut. */
function pour(over: Oversize, bytes: Buffer): void {
  const missing = LIMITS.excerpt_read_bytes - over.head.length;
  if (missing > 0) over.head = Buffer.concat([over.head, bytes.subarray(0, missing)]);
  over.hash.update(bytes);
  over.bytes += bytes.length;
}

/** The unfinished line, in one buffer: byte by byte, a list would cost an object for each. */
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
      // Doubled, so that growing costs one more copy at most.
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

export function createLines(
  sink: LineSink,
  line_bytes_max: number = LIMITS.line_bytes_max,
  from: { line: number; offset: number } = { line: 0, offset: 0 },
): Lines {
  const place: LinePlace = { line: from.line, offset: from.offset, terminated: true };
  const held = new Held(line_bytes_max);
  let over: Oversize | null = null;
  let next_offset = from.offset;

  function emit(bytes: Buffer, from: number, to: number): void {
    let start = from;
    let end = to;
    if (place.line === 1 && BOM.every((byte, at) => bytes[start + at] === byte)) start += 3;
    if (end > start && bytes[end - 1] === CR) end -= 1;
    if (end > start) sink.line(bytes, start, end, place);
  }

  function spill(bytes: Buffer): void {
    if (over === null) {
      over = { hash: createHash('sha256'), head: NOTHING, bytes: 0 };
      pour(over, held.take());
    }
    pour(over, bytes);
  }

  function takeOversize(last: Buffer): OversizeLine {
    spill(last);
    const { hash, head, bytes } = over as unknown as Oversize;
    over = null;
    return { ...place, bytes, sha256: hash.digest('hex'), head };
  }

  /** Ends the current line with these last bytes of it. */
  function close(chunk: Buffer, from: number, to: number): void {
    place.line += 1;
    place.offset = next_offset;
    const bytes = (over?.bytes ?? held.length) + (to - from);
    next_offset += bytes + (place.terminated ? 1 : 0);
    if (over !== null || bytes > line_bytes_max)
      sink.oversize(takeOversize(chunk.subarray(from, to)));
    else if (held.length === 0) emit(chunk, from, to);
    else {
      held.add(chunk.subarray(from, to));
      emit(held.take(), 0, bytes);
    }
  }

  return {
    push(chunk) {
      let start = 0;
      for (let lf = chunk.indexOf(LF); lf >= 0; lf = chunk.indexOf(LF, start)) {
        close(chunk, start, lf);
        start = lf + 1;
      }
      if (start === chunk.length) return;
      const rest = chunk.subarray(start);
      if (over !== null || held.length + rest.length > line_bytes_max) spill(rest);
      // A copy: the caller may reuse its buffer.
      else held.add(rest);
    },
    get held() {
      return held.room;
    },
    giveUp() {
      if (held.length > 0) spill(NOTHING);
    },
    end() {
      if (held.length === 0 && over === null) return;
      place.terminated = false;
      close(NOTHING, 0, 0);
    },
    restart() {
      place.line += 1;
      place.offset = next_offset;
      const rest = takeOversize(NOTHING);
      next_offset += rest.bytes + 1;
      return { ...rest, terminated: false };
    },
  };
}
