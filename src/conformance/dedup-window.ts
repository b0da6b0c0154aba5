/** The last messages of a session by number, as checksums: enough to know one that comes again, in bounded memory. */
import { CONFORMANCE_LIMITS } from './limits.ts';

const FIRST_SIZE = 64;

export class DedupWindow {
  #seqs = new Uint32Array(FIRST_SIZE);
  #sums = new Uint32Array(FIRST_SIZE);
  #last = 0;
  #count = 0;

  add(seq: number, sum: number): void {
    this.#count += 1;
    const { length } = this.#seqs;
    if (this.#count > length && length < CONFORMANCE_LIMITS.seen_max) this.#grow();
    this.#last = Math.max(this.#last, seq);
    const at = seq % this.#seqs.length;
    // A late one, older than what is in its place, is not worth forgetting a newer one.
    if ((this.#seqs[at] as number) > seq) return;
    this.#seqs[at] = seq;
    this.#sums[at] = sum;
  }

  /** Of a number that is not above the last one. `late`: it had been jumped over. */
  compare(seq: number, sum: number): 'duplicate' | 'conflict' | 'late' {
    const { length } = this.#seqs;
    const at = seq % length;
    if (this.#seqs[at] === seq) return this.#sums[at] === sum ? 'duplicate' : 'conflict';
    // Older than what is remembered: it was resent, and cannot be compared any more.
    return seq <= this.#last - length ? 'duplicate' : 'late';
  }

  #grow(): void {
    const [seqs, sums] = [this.#seqs, this.#sums];
    this.#seqs = new Uint32Array(seqs.length * 4);
    this.#sums = new Uint32Array(this.#seqs.length);
    for (const [from, seq] of seqs.entries()) {
      const at = seq % this.#seqs.length;
      this.#seqs[at] = seq;
      this.#sums[at] = sums[from] as number;
    }
  }
}
