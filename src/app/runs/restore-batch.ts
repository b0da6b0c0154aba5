/** Restored entries on their way to the journal, and the runs that become visible after them. */
import type { MeasuredRun } from '../../model/usage.ts';
import { dieHere, failsAt } from '../../store/failpoint.ts';
import type { Index } from '../../store/index/index-db.ts';
import { refused } from '../../store/journal/archive.ts';
import type { Journal, JournalEntry } from '../../store/journal/journal.ts';
import { bury } from '../../store/journal/tombstones.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { priced } from '../prices/priced.ts';

export class RestoreBatch {
  readonly #to: { state: StateDir; index: Index; journal: Journal };
  #entries: JournalEntry[] = [];
  #bytes = 0;
  #runs: MeasuredRun[] = [];
  readonly #grown = new Map<string, number>();

  constructor(to: { state: StateDir; index: Index; journal: Journal }) {
    this.#to = to;
  }

  async add(entry: JournalEntry): Promise<void> {
    this.#entries.push(entry);
    this.#bytes += entry.body.length;
    const { restore_flush_bytes, restore_flush_entries } = APP_LIMITS;
    if (this.#bytes >= restore_flush_bytes || this.#entries.length >= restore_flush_entries)
      await this.#write();
  }

  /** `grew_to`: as in `Rebuilt`. */
  async end(run: MeasuredRun, grew_to: number | null): Promise<void> {
    this.#runs.push(run);
    if (grew_to !== null) this.#grown.set(run.outcome.run_id, grew_to);
    if (this.#runs.length >= APP_LIMITS.restore_flush_runs) await this.flush();
  }

  async flush(): Promise<void> {
    await this.#write();
    const { state, index } = this.#to;
    const ids = this.#runs.map(({ outcome }) => outcome.run_id);
    if (failsAt('before_visible')) dieHere();
    bury(state, ids, 'restored');
    index.saveRuns(await Promise.all(this.#runs.map(priced)), [], this.#grown);
    this.#runs = [];
    this.#grown.clear();
  }

  async #write(): Promise<void> {
    const entries = this.#entries;
    this.#entries = [];
    this.#bytes = 0;
    const results = await this.#to.journal.append(entries);
    const at = results.indexOf('gap');
    if (at < 0) return;
    const { session, seq } = entries[at] as JournalEntry;
    throw refused(
      `${session}: entry ${seq} does not continue the entries of the run in the journal`,
    );
  }
}
