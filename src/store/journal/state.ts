/** What a journal knows of a source's entries: the hash of each, so that a resend, a conflict and a gap are told apart. */
import { LIMITS } from '../../lib/limits.ts';

export type AppendResult = 'stored' | 'duplicate' | 'conflict' | 'gap';

const BLOCK = 64;

/** Checksums by number. In blocks: one number far from all others costs one block. */
export class Checksums {
  /** 0: none. So a checksum of 0 counts as 1. */
  readonly #blocks = new Map<number, Uint32Array>();
  /** The block used last: numbers come in order. */
  #key = -1;
  #block: Uint32Array | undefined;

  has(seq: number): boolean {
    return this.#get(seq) !== 0;
  }

  is(seq: number, crc: number): boolean {
    return this.#get(seq) === (crc || 1);
  }

  set(seq: number, crc: number): void {
    this.#put(seq, crc || 1);
  }

  delete(seq: number): void {
    this.#put(seq, 0);
  }

  #get(seq: number): number {
    return this.#blockOf(Math.floor(seq / BLOCK))?.[seq % BLOCK] ?? 0;
  }

  #put(seq: number, value: number): void {
    const key = Math.floor(seq / BLOCK);
    const known = this.#blockOf(key);
    const block = known ?? new Uint32Array(BLOCK);
    block[seq % BLOCK] = value;
    if (known !== undefined) return;
    this.#blocks.set(key, block);
    this.#block = block;
  }

  #blockOf(key: number): Uint32Array | undefined {
    if (key !== this.#key) {
      this.#key = key;
      this.#block = this.#blocks.get(key);
    }
    return this.#block;
  }
}

export class SourceState {
  /** One below `last` that is missing is not on disk: its line was damaged. */
  readonly #crcs = new Checksums();
  readonly #conflicts = new Set<string>();
  #last = 0;
  /** The last number that is with the disk, and the last one that is durable. */
  #sealed = 0;
  #committed = 0;
  /** Numbers below the last one, and conflicts, that are not durable; of these the first are with the disk. */
  #filled: number[] = [];
  #added: string[] = [];
  #sealed_filled = 0;
  #sealed_added = 0;

  /** The last number that is durable. */
  get committed(): number {
    return this.#committed;
  }

  /** Says what an entry is; a stored one is known from then on. */
  take(seq: number, crc: number): AppendResult {
    if (seq > this.#last + 1 || seq > LIMITS.session_events_max) return 'gap';
    if (seq === this.#last + 1) this.#last = seq;
    else if (this.#crcs.has(seq)) return this.#crcs.is(seq, crc) ? 'duplicate' : 'conflict';
    else this.#filled.push(seq);
    this.#crcs.set(seq, crc);
    return 'stored';
  }

  /** An entry found on disk, in any order. */
  know(seq: number, crc: number): void {
    if (seq > LIMITS.session_events_max) return;
    // Two writers, or a failed write that could not be taken back: the first one counts, as it does in reading.
    if (seq <= this.#last && this.#crcs.has(seq)) return;
    this.#crcs.set(seq, crc);
    this.#last = Math.max(this.#last, seq);
    this.#sealed = this.#last;
    this.#committed = this.#last;
  }

  /** Remembers a conflicting entry; false when the same one is stored already. */
  addConflict(seq: number, crc: number): boolean {
    const key = `${seq}:${crc}`;
    if (this.#conflicts.has(key)) return false;
    this.#conflicts.add(key);
    this.#added.push(key);
    return true;
  }

  /** Nothing of it waits for the disk. */
  get is_durable(): boolean {
    return this.#committed === this.#last && this.#filled.length + this.#added.length === 0;
  }

  /** What was taken is with the disk now; what is taken from here on belongs to the next group. */
  seal(): void {
    this.#sealed = this.#last;
    this.#sealed_filled = this.#filled.length;
    this.#sealed_added = this.#added.length;
  }

  /** What was sealed is durable. */
  commit(): void {
    this.#committed = this.#sealed;
    if (this.#sealed_filled > 0) this.#filled.splice(0, this.#sealed_filled);
    if (this.#sealed_added > 0) this.#added.splice(0, this.#sealed_added);
    this.#sealed_filled = 0;
    this.#sealed_added = 0;
  }

  /** What was taken and is not durable is forgotten. */
  rollback(): void {
    for (; this.#last > this.#committed; this.#last--) this.#crcs.delete(this.#last);
    for (const seq of this.#filled) this.#crcs.delete(seq);
    for (const key of this.#added) this.#conflicts.delete(key);
    this.seal();
    this.commit();
  }
}
