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
  put(call: OutcomeCall, index: number): void;
  /** The outcome as JSON text in pieces, with the spilled calls as its `tool_calls`; nothing may be put after. */
  pieces(
    outcome: RunOutcome,
    patches: ReadonlyMap<number, CallPatch>,
  ): Generator<string | Buffer, void>;
  close(): void;
}

const SLAB_BYTES_MIN = 64 * 1024;
const WINDOW_BYTES = 256 * 1024;
const COMMA = Buffer.from(',');

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
  #window = Buffer.alloc(0);
  #window_at = 0;

  put(call: OutcomeCall, index: number): void {
    const text = JSON.stringify(call);
    this.#makeRoom(text.length * 3);
    const bytes = this.#slab.write(text, this.#fill, 'utf8');
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
    let first = true;
    for (let index = 0; index < this.#count; index++) {
      const length = this.#places[index * 2 + 1] as number;
      if (length === 0) continue;
      const bytes = this.#bytesAt(this.#places[index * 2] as number, length);
      const patch = patches.get(index);
      if (!first) yield COMMA;
      first = false;
      yield patch === undefined ? bytes : patched(bytes, patch);
    }
    yield tail;
  }

  #bytesAt(offset: number, length: number): Buffer {
    const from = offset - this.#written;
    if (from >= 0) return this.#slab.subarray(from, from + length);
    let at = offset - this.#window_at;
    if (at < 0 || at + length > this.#window.length) {
      const size = Math.max(length, Math.min(WINDOW_BYTES, this.#written - offset));
      // A new one each time: the pieces given before still lie in the old.
      this.#window = Buffer.allocUnsafe(size);
      const { fd } = this.#file as { fd: number };
      for (let done = 0; done < size; ) {
        const count = readSync(fd, this.#window, done, size - done, offset + done);
        if (count === 0) throw new Error('the spilled calls are gone from the temporary folder');
        done += count;
      }
      this.#window_at = offset;
      at = 0;
    }
    return this.#window.subarray(at, at + length);
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
