/** Matches sub-agents without a named parent to the call that asked for their prompt. */

import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { AGENT_LIMITS } from './limits.ts';

export class SubAgents {
  /** Requested sub-agents that have not been seen to start yet. */
  readonly #asked: { readonly prompt: string; readonly call_id: string }[] = [];
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);

  ask(prompt: string | null, call_id: string): void {
    if (prompt === null) return;
    this.#asked.push({ prompt, call_id });
    if (this.#asked.length > AGENT_LIMITS.unclaimed_prompts_max) this.#asked.shift();
  }

  /** The call that started this sub-agent. `prompt`: the sub-agent's first text, if the current record has it. */
  parentOf(agent: string, prompt: string | null): string | null {
    const at = prompt === null ? -1 : this.#asked.findIndex((asked) => asked.prompt === prompt);
    const claimed = at < 0 ? undefined : this.#asked.splice(at, 1)[0]?.call_id;
    if (claimed !== undefined) this.#parents.set(agent, claimed);
    return this.#parents.get(agent) ?? null;
  }
}
