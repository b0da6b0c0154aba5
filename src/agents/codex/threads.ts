/** Whose a message of the app-server is: all threads share one stream, and only the root agent's makes steps and the end. */
import { LIMITS } from '../../lib/limits.ts';

export interface ThreadPlace {
  readonly root: boolean;
  /** The call that started a sub-agent; null for the root agent, and where it is not known. */
  readonly parent: string | null;
  /** False for a sub-agent whose call was not seen. */
  readonly known: boolean;
}

const ROOT: ThreadPlace = { root: true, parent: null, known: true };
const STRAY: ThreadPlace = { root: false, parent: null, known: false };

export class Threads {
  readonly #roots = new Set<string>();
  /** Sub-agents and the calls that started them. */
  readonly #children = new Map<string, string | null>();
  /** A call that starts a sub-agent and has not told yet which. */
  #spawning: string | null = null;

  of(id: string | null): ThreadPlace {
    if (id === null || this.#roots.has(id)) return ROOT;
    if (this.#roots.size === 0 && !this.#children.has(id)) {
      this.#roots.add(id);
      return ROOT;
    }
    const parent = this.#children.get(id) ?? this.#spawning;
    return parent === null ? STRAY : { root: false, parent, known: true };
  }

  started(id: string, parent_thread: string | null): void {
    if (parent_thread === null) this.#addRoot(id);
    else if (!this.#children.has(id)) this.link(id, this.#spawning);
  }

  /** `own`: the turn was asked for by a client, not by another agent. */
  turn(id: string | null, own: boolean): ThreadPlace {
    if (id !== null && own) this.#addRoot(id);
    return this.of(id);
  }

  #addRoot(id: string): void {
    if (!this.#children.has(id) && this.#roots.size < LIMITS.open_calls_max) this.#roots.add(id);
  }

  spawning(call_id: string | null): void {
    this.#spawning = call_id;
  }

  link(id: string, call_id: string | null): void {
    if (this.#children.size < LIMITS.open_calls_max) this.#children.set(id, call_id);
  }
}
