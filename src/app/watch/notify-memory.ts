/**
 * The reports of a watcher, in a file of the store, so that the next one does not repeat them: the state of each
 * unfinished run, and the runs that cost more than the limit of a rule. Contract: a cache. Without it, states that exist
 * when the watcher starts are not news.
 */
import { join } from 'node:path';
import { readTextFile } from '../../lib/text-file.ts';
import type { UnfinishedState } from '../../model/unfinished.ts';
import { writeAtomic } from '../../store/files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import type { States } from '../runs/unfinished.ts';

const STAGE = 'watch';

interface Reported {
  states: Record<string, string>;
  /** `rule run_id`. */
  over: string[];
}

export class NotifyMemory {
  readonly #path: string | null;
  #states: Map<string, string>;
  readonly #over: Set<string>;
  #first = true;

  /** `state` null: it is not stored. */
  constructor(state: StateDir | null) {
    this.#path = state && join(state.path, 'watch-notify.json');
    const { states, over } = this.#read();
    this.#states = new Map(Object.entries(states));
    this.#over = new Set(over);
  }

  /** Takes the states of all unfinished runs now. Returns those that changed; null: the run is finished. */
  changes(now: States): Map<string, UnfinishedState | null> {
    const before = this.#states;
    const changed = new Map<string, UnfinishedState | null>();
    // At the start, nothing is known about when a run got into its state.
    for (const [run_id, one] of now)
      if (before.get(run_id) !== one.state && (before.has(run_id) || !this.#first))
        changed.set(run_id, one);
    for (const run_id of before.keys()) if (!now.has(run_id)) changed.set(run_id, null);
    const same = changed.size === 0 && now.size === before.size;
    this.#first = false;
    this.#states = new Map([...now].map(([run_id, { state }]) => [run_id, state]));
    if (!same) this.#save();
    return changed;
  }

  isOver(rule: string, run_id: string): boolean {
    return this.#over.has(`${rule} ${run_id}`);
  }

  over(rule: string, run_id: string): void {
    this.#over.add(`${rule} ${run_id}`);
    const [oldest] = this.#over;
    if (this.#over.size > APP_LIMITS.notify_runs_max && oldest !== undefined)
      this.#over.delete(oldest);
    this.#save();
  }

  #read(): Reported {
    const none = { states: {}, over: [] };
    if (this.#path === null) return none;
    try {
      const limits = { bytes_max: APP_LIMITS.notify_memory_bytes_max, stage: STAGE };
      return { ...none, ...(JSON.parse(readTextFile(this.#path, limits).text) as Reported) };
    } catch {
      return none;
    }
  }

  #save(): void {
    if (this.#path === null) return;
    const reported: Reported = { states: Object.fromEntries(this.#states), over: [...this.#over] };
    try {
      writeAtomic(this.#path, `${JSON.stringify(reported)}\n`, STAGE, false);
    } catch {
      // A full disk: the next watcher may repeat a report.
    }
  }
}
