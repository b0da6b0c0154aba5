/**
 * An outcome with any number of calls, written in flat memory: each finished call is serialised into a spill (memory
 * first, a private temporary file beyond a bound) and read back in order at the end.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../lib/limits.ts';
import type { OutcomeCall, RunOutcome } from '../model/outcome.ts';
import type { CallPatch } from '../projections/outcome.ts';

export interface CallSpill {
  /** `call` holds byte text. */
  put(call: OutcomeCall, index: number): void;
  /**
   * The outcome as JSON text, with the spilled calls as its `tool_calls`. A piece is valid until the next is asked for;
   * nothing may be put after.
   */
  pieces(
    outcome: RunOutcome,
    patches: ReadonlyMap<number, CallPatch>,
  ): Generator<string | Buffer, void>;
  close(): void;
}

const SLAB_BYTES_MIN = 64 * 1024;
const PIECE_BYTES = 256 * 1024;

export function createCallSpill(): CallSpill {
  return new Spill();
}

class Spill implements CallSpill {
  #slab = Buffer.allocUnsafe(SLAB_BYTES_MIN);
  #fill = 0;
  #written = 0;
  #file: { fd: number; folder: string } | null = null;
  /** Offset and length of each call, by index; calls finish in another order than they begin. */
  #places = new Float64Array(1024);
  #count = 0;
  /** A part of the file, read ahead. */
  #window = Buffer.allocUnsafe(PIECE_BYTES);
  #window_at = 0;
  #window_fill = 0;
  readonly #piece = Buffer.allocUnsafe(PIECE_BYTES);

  put(call: OutcomeCall, index: number): void {
    const text = JSON.stringify(call);
    this.#makeRoom(text.length);
    const bytes = this.#slab.write(text, this.#fill, 'latin1');
    while (index * 2 + 1 >= this.#places.length) {
      const larger = new Float64Array(this.#places.length * 2);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#places[index * 2] = this.#written + this.#fill;
    this.#places[index * 2 + 1] = bytes;
    this.#count = Math.max(this.#count, index + 1);
    this.#fill += bytes;
  }

  /** Grows the slab up to its bound, then empties it into the file. */
  #makeRoom(bytes: number): void {
    if (this.#fill + bytes <= this.#slab.length) return;
    if (this.#fill + bytes > LIMITS.spill_memory_bytes) this.#toFile();
    const needed = this.#fill + bytes;
    if (needed <= this.#slab.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#slab.length * 2));
    this.#slab.copy(larger, 0, 0, this.#fill);
    this.#slab = larger;
  }

  #toFile(): void {
    if (this.#file === null) {
      const folder = mkdtempSync(join(tmpdir(), 'tacho-spill-'));
      this.#file = { folder, fd: openSync(join(folder, 'calls'), 'wx+', 0o600) };
    }
    for (let done = 0; done < this.#fill; ) {
      done += writeSync(this.#file.fd, this.#slab, done, this.#fill - done);
    }
    this.#written += this.#fill;
    this.#fill = 0;
  }

  *pieces(
    outcome: RunOutcome,
    patches: ReadonlyMap<number, CallPatch>,
  ): Generator<string | Buffer, void> {
    const [head, tail] = aroundCalls(outcome);
    yield head;
    let fill = 0;
    let separator = '';
    for (let index = 0; index < this.#count; index++) {
      const length = this.#places[index * 2 + 1] as number;
      if (length === 0) continue;
      const patch = patches.get(index);
      const bytes = this.#bytesAt(this.#places[index * 2] as number, length);
      const call = patch === undefined ? bytes : Buffer.from(patched(bytes, patch));
      if (fill + call.length + 1 > this.#piece.length) {
        yield this.#piece.subarray(0, fill);
        fill = 0;
      }
      fill += this.#piece.write(separator, fill);
      separator = ',';
      if (call.length + fill > this.#piece.length) yield* [this.#piece.subarray(0, fill), call];
      else fill += call.copy(this.#piece, fill);
      if (call.length > this.#piece.length) fill = 0;
    }
    yield this.#piece.subarray(0, fill);
    yield tail;
  }

  #bytesAt(offset: number, length: number): Buffer {
    const from = offset - this.#written;
    if (from >= 0) return this.#slab.subarray(from, from + length);
    let at = offset - this.#window_at;
    if (at < 0 || at + length > this.#window_fill) {
      if (length > this.#window.length) this.#window = Buffer.allocUnsafe(length);
      this.#window_fill = Math.min(this.#window.length, this.#written - offset);
      this.#readFile(this.#window.subarray(0, this.#window_fill), offset);
      this.#window_at = offset;
      at = 0;
    }
    return this.#window.subarray(at, at + length);
  }

  #readFile(into: Buffer, offset: number): void {
    const { fd } = this.#file as { fd: number };
    for (let done = 0; done < into.length; ) {
      const count = readSync(fd, into, done, into.length - done, offset + done);
      if (count === 0) throw new Error('the spilled calls are gone from the temporary folder');
      done += count;
    }
  }

  close(): void {
    if (this.#file === null) return;
    closeSync(this.#file.fd);
    rmSync(this.#file.folder, { recursive: true, force: true });
    this.#file = null;
  }
}

/** The outcome's JSON before and behind the calls. */
function aroundCalls(outcome: RunOutcome): [string, string] {
  const { tool_calls: _, ...rest } = outcome;
  const text = JSON.stringify(rest);
  return [`${text.slice(0, -1)},"tool_calls":[`, ']}'];
}

function patched(bytes: Buffer, patch: CallPatch): string {
  const call = JSON.parse(bytes.toString('utf8')) as OutcomeCall;
  const { status, exit_code } = patch;
  return JSON.stringify({
    ...call,
    status: status ?? call.status,
    exit_code: exit_code ?? call.exit_code,
  });
}
