/** What a journal knows of a source's entries: the hash of each, so that a resend, a conflict and a gap are told apart. */
import { LIMITS } from '../lib/limits.ts';

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

export function createSource(): SourceState {
  let crcs = new Uint32Array(16);
  let last = 0;
  let committed = 0;
  /** Numbers below `last` that are not on disk: their lines were damaged. */
  const holes = new Set<number>();
  const conflicts = new Set<string>();
  let filled: number[] = [];
  let added: string[] = [];

  function put(seq: number, crc: number): void {
    if (seq >= crcs.length) {
      const larger = new Uint32Array(Math.max(seq + 1, crcs.length * 2));
      larger.set(crcs);
      crcs = larger;
    }
    crcs[seq] = crc;
  }

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
        put(seq, crc);
        last = seq;
        return 'stored';
      }
      if (holes.delete(seq)) {
        filled.push(seq);
        put(seq, crc);
        return 'stored';
      }
      return crcs[seq] === crc ? 'duplicate' : 'conflict';
    },
    know(seq, crc) {
      if (seq > LIMITS.session_events_max) return;
      // Two writers, or a failed write that could not be taken back: the first one counts, as it does in reading.
      if (seq <= last && !holes.delete(seq)) return;
      for (let hole = last + 1; hole < seq; hole++) holes.add(hole);
      put(seq, crc);
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
      last = committed;
      for (const seq of filled) holes.add(seq);
      for (const key of added) conflicts.delete(key);
      filled = [];
      added = [];
    },
  };
}
