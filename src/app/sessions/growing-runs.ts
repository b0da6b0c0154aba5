/**
 * The runs of sessions in use, open for growth, in memory: what is appended to their files costs only itself. Contract: a
 * cache. A run that is not in it is read from the journal once.
 */
import { APP_LIMITS } from '../limits.ts';
import type { ImportTarget } from './import.ts';
import type { OpenRun } from './import-resume.ts';

interface Kept {
  run: OpenRun;
  target: ImportTarget;
  /** When it last grew. */
  at_ms: number;
}

export class GrowingRuns {
  /** By run id, the most recently used last. */
  readonly #runs = new Map<string, Kept>();

  get size(): number {
    return this.#runs.size;
  }

  /** Removes and returns the run: if its growth fails, it must be read again. */
  take(run_id: string): OpenRun | null {
    const kept = this.#runs.get(run_id);
    this.#runs.delete(run_id);
    return kept?.run ?? null;
  }

  keep(run_id: string, run: OpenRun, target: ImportTarget): void {
    this.#runs.set(run_id, { run, target, at_ms: Date.now() });
  }

  /**
   * Drops runs that have not grown for a while, and the oldest of too many. Returns the sessions among them whose last
   * line never ended: it is part of the run's end now.
   */
  dropOld(now_ms = Date.now()): ImportTarget[] {
    const torn: ImportTarget[] = [];
    for (const [run_id, { run, target, at_ms }] of this.#runs) {
      if (now_ms - at_ms < APP_LIMITS.open_run_ms && this.#runs.size <= APP_LIMITS.open_runs_max)
        break;
      this.#runs.delete(run_id);
      if (run.torn) torn.push(target);
    }
    return torn;
  }

  /** Another command changed the store. */
  clear(): void {
    this.#runs.clear();
  }
}
