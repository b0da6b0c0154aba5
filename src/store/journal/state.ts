/** What a journal knows of a source's entries: the hash of each, so that a resend, a conflict and a gap are told apart. */
import { LIMITS } from '../../lib/limits.ts';

export type AppendResult = 'stored' | 'duplicate' | 'conflict' | 'gap';

export interface SourceState {
  readonly last: number;
  /** The last number that is durable. */
  readonly committed: number;
  /** Says what an entry is; a stored one is known from then on. */
  take(seq: number, crc: number): AppendResult;
  /** An entry found on disk, in any order. */
  know(seq: number, crc: number): void;
  /** Remembers a conflicting entry; false when the same one is stored already. */
  addConflict(seq: number, crc: number): boolean;
  /** What was taken since the last call is durable. */
  commit(): void;
  /** What was taken since the last commit is forgotten. */
  rollback(): void;
}

const BLOCK = 64;

/** Checksums by number. In blocks: one number far from all others costs one block. */
export class Checksums {
  /** 0: none. So a checksum of 0 counts as 1. */
  readonly #blocks = new Map<number, Uint32Array>();

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
    return this.#blocks.get(Math.floor(seq / BLOCK))?.[seq % BLOCK] ?? 0;
  }

  #put(seq: number, value: number): void {
    const key = Math.floor(seq / BLOCK);
    const block = this.#blocks.get(key) ?? new Uint32Array(BLOCK);
    block[seq % BLOCK] = value;
    this.#blocks.set(key, block);
  }
}

export function createSource(): SourceState {
  /** One below `last` that is missing is not on disk: its line was damaged. */
  const crcs = new Checksums();
  let last = 0;
  let committed = 0;
  const conflicts = new Set<string>();
  let filled: number[] = [];
  let added: string[] = [];

  return {
    get last() {
      return last;
    },
    get committed() {
      return committed;
    },
    take(seq, crc) {
      if (seq > last + 1 || seq > LIMITS.session_events_max) return 'gap';
      if (seq === last + 1) {
        crcs.set(seq, crc);
        last = seq;
        return 'stored';
      }
      if (!crcs.has(seq)) {
        filled.push(seq);
        crcs.set(seq, crc);
        return 'stored';
      }
      return crcs.is(seq, crc) ? 'duplicate' : 'conflict';
    },
    know(seq, crc) {
      if (seq > LIMITS.session_events_max) return;
      // Two writers, or a failed write that could not be taken back: the first one counts, as it does in reading.
      if (seq <= last && crcs.has(seq)) return;
      crcs.set(seq, crc);
      last = Math.max(last, seq);
      committed = last;
    },
    addConflict(seq, crc) {
      const key = `${seq}:${crc}`;
      if (conflicts.has(key)) return false;
      conflicts.add(key);
      added.push(key);
      return true;
    },
    commit() {
      committed = last;
      filled = [];
      added = [];
    },
    rollback() {
      for (; last > committed; last--) crcs.delete(last);
      for (const seq of filled) crcs.delete(seq);
      for (const key of added) conflicts.delete(key);
      filled = [];
      added = [];
    },
  };
}
