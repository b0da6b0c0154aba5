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
}

const LF = 10;
const CR = 13;

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

export function createLines(sink: LineSink, line_bytes_max: number = LIMITS.line_bytes_max): Lines {
  const place: LinePlace = { line: 0, offset: 0, terminated: true };
  let parts: Buffer[] = [];
  let held = 0;
  let over: Oversize | null = null;
  let next_offset = 0;

  function emit(bytes: Buffer, from: number, to: number): void {
    let start = from;
    let end = to;
    if (
      place.line === 1 &&
      bytes[start] === 0xef &&
      bytes[start + 1] === 0xbb &&
      bytes[start + 2] === 0xbf
    )
      start += 3;
    if (end > start && bytes[end - 1] === CR) end -= 1;
    if (end > start) sink.line(bytes, start, end, place);
  }

  function spill(bytes: Buffer): void {
    if (over === null) {
      over = { hash: createHash('sha256'), head: Buffer.alloc(0), bytes: 0 };
      for (const part of parts) pour(over, part);
      parts = [];
      held = 0;
    }
    pour(over, bytes);
  }

  /** Ends the current line with these last bytes of it. */
  function close(chunk: Buffer, from: number, to: number): void {
    place.line += 1;
    place.offset = next_offset;
    const bytes = (over === null ? held : (over as Oversize).bytes) + (to - from);
    next_offset += bytes + (place.terminated ? 1 : 0);
    if (over !== null || bytes > line_bytes_max) {
      spill(chunk.subarray(from, to));
      const { hash, head, bytes: total } = over as unknown as Oversize;
      over = null;
      sink.oversize({ ...place, bytes: total, sha256: hash.digest('hex'), head });
    } else if (held === 0) {
      emit(chunk, from, to);
    } else {
      parts.push(chunk.subarray(from, to));
      const joined = Buffer.concat(parts);
      parts = [];
      held = 0;
      emit(joined, 0, joined.length);
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
      if (over !== null || held + rest.length > line_bytes_max) {
        spill(rest);
      } else {
        // The caller may reuse its buffer.
        parts.push(Buffer.from(rest));
        held += rest.length;
      }
    },
    end() {
      if (held === 0 && over === null) return;
      place.terminated = false;
      close(Buffer.alloc(0), 0, 0);
    },
  };
}
