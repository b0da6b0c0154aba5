/** The last messages of a session by number, as hashes: enough to know one that comes again, in bounded memory. */
import { LIMITS } from '../lib/limits.ts';
import { fnv1a } from './hash.ts';

export interface Seen {
  add(seq: number, text: string): void;
  /** Of a number that is not above the last one. `late`: it had been jumped over. */
  compare(seq: number, text: string): 'duplicate' | 'conflict' | 'late';
}

const FIRST_SIZE = 64;

export function createSeen(): Seen {
  let seqs = new Uint32Array(FIRST_SIZE);
  let hashes = new Uint32Array(FIRST_SIZE);
  let last = 0;
  let count = 0;

  function grow(): void {
    const [old_seqs, old_hashes] = [seqs, hashes];
    seqs = new Uint32Array(old_seqs.length * 4);
    hashes = new Uint32Array(seqs.length);
    for (const [at, seq] of old_seqs.entries()) {
      seqs[seq % seqs.length] = seq;
      hashes[seq % seqs.length] = old_hashes[at] as number;
    }
  }

  return {
    add(seq, text) {
      count += 1;
      if (count > seqs.length && seqs.length < LIMITS.conformance_seen_max) grow();
      last = Math.max(last, seq);
      // A late one, older than what stands in its place, is not worth forgetting a newer one.
      if ((seqs[seq % seqs.length] as number) > seq) return;
      seqs[seq % seqs.length] = seq;
      hashes[seq % seqs.length] = fnv1a(text);
    },
    compare(seq, text) {
      const at = seq % seqs.length;
      if (seqs[at] === seq) return hashes[at] === fnv1a(text) ? 'duplicate' : 'conflict';
      // Older than what is remembered: it was resent, and cannot be compared any more.
      return seq <= last - seqs.length ? 'duplicate' : 'late';
    },
  };
}
