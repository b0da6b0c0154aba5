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
  /** The outcome as JSON text in pieces, with the spilled calls as its `tool_calls`. */
  pieces(
    outcome: RunOutcome,
    patches: ReadonlyMap<number, CallPatch>,
  ): Generator<string | Buffer, void>;
  close(): void;
}

export function createCallSpill(): CallSpill {
  return new Spill();
}

class Spill implements CallSpill {
  #chunks: Buffer[] = [];
  #held = 0;
  #written = 0;
  #file: { fd: number; folder: string } | null = null;
  /** Offset and length of each call, by index; calls finish in another order than they begin. */
  #places = new Float64Array(1024);
  #count = 0;

  put(call: OutcomeCall, index: number): void {
    const bytes = Buffer.from(JSON.stringify(call));
    while (index * 2 + 1 >= this.#places.length) {
      const larger = new Float64Array(this.#places.length * 2);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#places[index * 2] = this.#written + this.#held;
    this.#places[index * 2 + 1] = bytes.length;
    this.#count = Math.max(this.#count, index + 1);
    this.#chunks.push(bytes);
    this.#held += bytes.length;
    if (this.#held > LIMITS.spill_memory_bytes) this.#toFile();
  }

  #toFile(): void {
    if (this.#file === null) {
      const folder = mkdtempSync(join(tmpdir(), 'tacho-spill-'));
      this.#file = { folder, fd: openSync(join(folder, 'calls'), 'wx+', 0o600) };
    }
    const all = Buffer.concat(this.#chunks);
    for (let done = 0; done < all.length; ) done += writeSync(this.#file.fd, all, done);
    this.#written += all.length;
    this.#chunks = [];
    this.#held = 0;
  }

  *pieces(
    outcome: RunOutcome,
    patches: ReadonlyMap<number, CallPatch>,
  ): Generator<string | Buffer, void> {
    const [head, tail] = aroundCalls(outcome);
    const held = Buffer.concat(this.#chunks);
    yield head;
    let first = true;
    for (let index = 0; index < this.#count; index++) {
      const length = this.#places[index * 2 + 1] as number;
      if (length === 0) continue;
      const bytes = this.#bytesAt(this.#places[index * 2] as number, length, held);
      const patch = patches.get(index);
      if (!first) yield ',';
      first = false;
      yield patch === undefined ? bytes : patched(bytes, patch);
    }
    yield tail;
  }

  #bytesAt(offset: number, length: number, held: Buffer): Buffer {
    const from = offset - this.#written;
    if (from >= 0) return held.subarray(from, from + length);
    const bytes = Buffer.alloc(length);
    readSync((this.#file as { fd: number }).fd, bytes, 0, length, offset);
    return bytes;
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
