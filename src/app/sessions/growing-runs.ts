/**
 * The runs of sessions in use, open for growth, in memory: what is appended to their files costs only itself. Contract: a
 * cache. A run that is not in it is read from the journal once.
 */
import { APP_LIMITS } from '../limits.ts';
import type { OpenRun } from './import-resume.ts';

interface Kept<Target> {
  run: OpenRun;
  target: Target;
  /** When it last grew. */
  at_ms: number;
}

export class GrowingRuns<Target> {
  /** By run id, the most recently used last. */
  readonly #runs = new Map<string, Kept<Target>>();

  get size(): number {
    return this.#runs.size;
  }

  /** Removes and returns the run: if its growth fails, it must be read again. */
  take(run_id: string): OpenRun | null {
    const kept = this.#runs.get(run_id);
    this.#runs.delete(run_id);
    return kept?.run ?? null;
  }

  keep(run_id: string, run: OpenRun, target: Target): void {
    this.#runs.set(run_id, { run, target, at_ms: Date.now() });
  }

  /**
   * Drops runs that have not grown for a while, and the oldest of too many. Returns the sessions among them with a last
   * line that never ended: it is part of the run's end now.
   */
  dropOld(now_ms = Date.now()): Target[] {
    const runs = [...this.#runs];
    const dropped = runs.filter(([, { at_ms }], n) => {
      const many = runs.length - n > APP_LIMITS.open_runs_max;
      return many || now_ms - at_ms >= APP_LIMITS.open_run_ms;
    });
    for (const [run_id] of dropped) this.#runs.delete(run_id);
    return dropped.filter(([, { run }]) => run.torn).map(([, { target }]) => target);
  }

  /** Another command changed the store. */
  clear(): void {
    this.#runs.clear();
  }
}
