/** The known entries of a source: their checksums, which distinguish a resend, a conflict and a gap. */
import { LIMITS } from '../../lib/limits.ts';

export type AppendResult = 'stored' | 'duplicate' | 'conflict' | 'gap';

const BLOCK = 64;

/** Checksums by number, in blocks: an outlier costs one block. */
export class Checksums {
  /** 0 means none, so a checksum of 0 counts as 1. */
  readonly #blocks = new Map<number, Uint32Array>();
  /** The most recently used block: numbers arrive in order. */
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
  /** A missing number below `last` is not on disk: its line was damaged. */
  readonly #crcs = new Checksums();
  readonly #conflicts = new Set<string>();
  #last = 0;
  /** The last number handed to the disk, and the last durable one. */
  #sealed = 0;
  #committed = 0;
  /**
   * Numbers below the last one, and conflicts, that are not durable. The first of these have been handed to the disk.
   */
  #filled: number[] = [];
  #added: string[] = [];
  #sealed_filled = 0;
  #sealed_added = 0;

  /** The last durable number. */
  get committed(): number {
    return this.#committed;
  }

  /** Classifies an entry. A stored entry is known from then on. */
  take(seq: number, crc: number): AppendResult {
    if (seq > this.#last + 1 || seq > LIMITS.session_events_max) return 'gap';
    if (seq === this.#last + 1) this.#last = seq;
    else if (this.#crcs.has(seq)) return this.#crcs.is(seq, crc) ? 'duplicate' : 'conflict';
    else this.#filled.push(seq);
    this.#crcs.set(seq, crc);
    return 'stored';
  }

  /** Adds an entry found on disk, in any order. */
  know(seq: number, crc: number): void {
    if (seq > LIMITS.session_events_max) return;
    // Two writers, or a failed write that could not be undone: the first one counts, as when reading.
    if (seq <= this.#last && this.#crcs.has(seq)) return;
    this.#crcs.set(seq, crc);
    this.#last = Math.max(this.#last, seq);
    this.#sealed = this.#last;
    this.#committed = this.#last;
  }

  /** Remembers a conflicting entry. False if the same one is already stored. */
  addConflict(seq: number, crc: number): boolean {
    const key = `${seq}:${crc}`;
    if (this.#conflicts.has(key)) return false;
    this.#conflicts.add(key);
    this.#added.push(key);
    return true;
  }

  /** Whether none of its entries wait for the disk. */
  get is_durable(): boolean {
    return this.#committed === this.#last && this.#filled.length + this.#added.length === 0;
  }

  /** Passes all accepted entries to the disk. Later entries belong to the next group. */
  seal(): void {
    this.#sealed = this.#last;
    this.#sealed_filled = this.#filled.length;
    this.#sealed_added = this.#added.length;
  }

  /** Marks sealed entries as durable. */
  commit(): void {
    this.#committed = this.#sealed;
    if (this.#sealed_filled > 0) this.#filled.splice(0, this.#sealed_filled);
    if (this.#sealed_added > 0) this.#added.splice(0, this.#sealed_added);
    this.#sealed_filled = 0;
    this.#sealed_added = 0;
  }

  /** Forgets accepted entries that are not durable. */
  rollback(): void {
    for (; this.#last > this.#committed; this.#last--) this.#crcs.delete(this.#last);
    for (const seq of this.#filled) this.#crcs.delete(seq);
    for (const key of this.#added) this.#conflicts.delete(key);
    this.seal();
    this.commit();
  }
}
