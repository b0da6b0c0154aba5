/** The files that look like sessions and are not imported, as far as the watcher knows: for its health. */
import type { Agent } from '../../model/agent.ts';
import { APP_LIMITS } from '../limits.ts';
import { findStrays } from '../sessions/strays.ts';
import type { Health } from './health.ts';

const SHOWN = 10;
const LIKE = /\.(?:jsonl|json|db|pb)(?:\.\w+)?$/;

export class StrayNotes {
  /** Whether there may be others than before. */
  due = true;
  readonly #agents: readonly Agent[];
  readonly #env: NodeJS.ProcessEnv;
  #looked_ms = Number.NEGATIVE_INFINITY;
  #paths: readonly string[] = [];

  constructor(agents: readonly Agent[], env: NodeJS.ProcessEnv) {
    this.#agents = agents;
    this.#env = env;
  }

  /** A file that changed. */
  note(path: string): void {
    this.due ||= LIKE.test(path);
  }

  async current(): Promise<Pick<Health, 'strays' | 'strays_count'>> {
    const now_ms = performance.now();
    if (this.due && now_ms - this.#looked_ms >= APP_LIMITS.watch_strays_ms) {
      this.due = false;
      this.#looked_ms = now_ms;
      this.#paths = (await findStrays(this.#agents, this.#env)).map(({ path }) => path);
    }
    return { strays: this.#paths.slice(0, SHOWN), strays_count: this.#paths.length };
  }
}
