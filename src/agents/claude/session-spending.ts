/** What a session file says the last run cost: the CLI's cumulative figures where they are, else the messages' own. */
import type { Native } from './native.ts';
import { costOf, nativeOf } from './native.ts';
import { add, isEmpty, minus, nothing, ofApi, ofModels, type Spent } from './usage.ts';

interface Message {
  readonly key: string;
  readonly usage: Native;
  readonly stop_reason: unknown;
}

/** Stands for the root agent among the speakers. */
export const ROOT = '';

export class SessionSpending {
  /** Cumulative over the session's runs. */
  #latest: Spent | null = null;
  #before: Spent | null = null;
  /** `#before` is what stood when this run began, whatever comes after. */
  #before_is_sure = false;
  /** Of messages since the latest cumulative figure. */
  #sum = nothing();
  /** The message of each file that may still get its final usage: every block repeats it, the last one counts. */
  readonly #pending = new Map<string, Message>();
  /** A run has begun after the latest cumulative figure, which therefore is not its own. */
  #unpaid = false;
  /** The session began as a copy of another, whose figures were not copied. */
  #forked = false;

  costState(record: Native, earlier: boolean): void {
    const models = nativeOf(record.modelUsage);
    if (!models) return;
    const state = ofModels(models);
    const total = costOf(record.totalCostUSD);
    if (total !== null) state.cost_usd = total;
    if (earlier) {
      this.#before = state;
      this.#before_is_sure = true;
      return;
    }
    const shared = this.#forked && this.#latest === null && !this.#before_is_sure;
    if (!this.#before_is_sure) this.#before = this.#latest;
    this.#latest = state;
    if (shared) {
      // It holds the runs of the session that was copied: only the messages tell this run's.
      this.#unpaid = true;
      return;
    }
    this.#sum = nothing();
    this.#pending.clear();
    this.#unpaid = false;
  }

  /** A message that was copied from the session that this one forks. */
  inherited(): void {
    this.#forked = true;
  }

  prompted(): void {
    this.#unpaid = true;
  }

  /** `file`: whose messages these are; one speaker's blocks follow each other. */
  message(file: string, key: string, usage: Native, stop_reason: unknown): void {
    const held = this.#pending.get(file);
    if (held && held.key !== key) add(this.#sum, ofApi(held.usage));
    this.#pending.set(file, { key, usage, stop_reason });
  }

  /** The aborted message's figures are those of its beginning; the CLI leaves them out too. */
  interrupted(): void {
    if (this.#pending.get(ROOT)?.stop_reason === null) this.#pending.delete(ROOT);
  }

  total(): Spent | null {
    if (this.#latest && !this.#unpaid) return minus(this.#latest, this.#before);
    for (const message of this.#pending.values()) add(this.#sum, ofApi(message.usage));
    this.#pending.clear();
    return isEmpty(this.#sum) ? null : this.#sum;
  }
}
