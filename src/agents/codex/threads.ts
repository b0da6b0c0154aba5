/** Who speaks in a message of the app-server: all threads share one stream, and only the root agent's make steps and the end. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Drafts } from '../kit/drafts.ts';
import { idOf, listOf } from '../kit/native.ts';
import type { Item } from './records.ts';

export class Threads {
  readonly #to: Drafts;
  readonly #roots = new RecentSet<string>(LIMITS.open_calls_max);
  /** Sub-agents and the calls that started them. */
  readonly #children = new RecentMap<string, string | null>(LIMITS.open_calls_max);
  /** A call that starts a sub-agent and does not name it yet. */
  #spawning: string | null = null;

  constructor(to: Drafts) {
    this.#to = to;
  }

  /** The thread of this id speaks; the first one is a root agent's. */
  speak(thread_id: unknown): void {
    const id = idOf(thread_id);
    if (id !== null && this.#roots.size === 0) this.root(id);
    const root = id === null || this.#roots.has(id);
    this.#to.speak(root ? null : (this.#children.get(id) ?? this.#spawning), root);
  }

  root(id: string): void {
    if (!this.#children.has(id)) this.#roots.add(id);
  }

  started(id: string, parent_id: string | null): void {
    if (parent_id === null) this.root(id);
    else if (!this.#children.has(id)) this.#children.set(id, this.#spawning);
  }

  /** Which call started which thread. */
  link(phase: 'started' | 'completed', call_id: string, item: Item): void {
    const activity = item.type === 'subAgentActivity' ? idOf(item.agentThreadId) : null;
    if (activity !== null) this.#children.set(activity, call_id);
    if (item.type !== 'collabAgentToolCall' || item.tool !== 'spawnAgent') return;
    this.#spawning = phase === 'started' ? call_id : null;
    for (const id of listOf(item.receiverThreadIds)) {
      if (typeof id === 'string') this.#children.set(id, call_id);
    }
  }
}
