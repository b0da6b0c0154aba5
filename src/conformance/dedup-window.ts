/** Checksums of the latest messages of a session by number: recognises resent messages in bounded memory. */
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
    // A late message does not replace a newer one in the same slot.
    if ((this.#seqs[at] as number) > seq) return;
    this.#seqs[at] = seq;
    this.#sums[at] = sum;
  }

  /** For a number that is not above the last one. `late`: the number had been skipped. */
  compare(seq: number, sum: number): 'duplicate' | 'conflict' | 'late' {
    const { length } = this.#seqs;
    const at = seq % length;
    if (this.#seqs[at] === seq) return this.#sums[at] === sum ? 'duplicate' : 'conflict';
    // Older than the window: treated as a resend, since it can no longer be compared.
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
