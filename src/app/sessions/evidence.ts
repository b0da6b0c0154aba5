/** The evidence in a session's events for its state: a fold over them, without their provisional end. */
import type { Event } from '../../model/event.ts';
import { OpenCalls } from '../../model/run-fold.ts';
import type { Evidence } from '../../model/unfinished.ts';

/** After an end, these begin another turn. */
const OF_A_TURN = new Set<Event['kind']>(['message_finished', 'step_started', 'call_requested']);

export class EvidenceFold {
  readonly #open = new OpenCalls(({ data, at_ms }) => ({ tool: data.tool, since_ms: at_ms }));
  #asked: (Evidence['asked'] & { call_id: string | null }) | null = null;
  /** An agent that records the end of every turn has it between the events of two turns. */
  #ended = false;
  #last_ms = 0;
  #cwd: string | null = null;

  push(event: Event): void {
    this.#last_ms = Math.max(this.#last_ms, event.at_ms);
    this.#open.push(event);
    if (event.kind === 'agent_ended') this.#ended = true;
    else if (OF_A_TURN.has(event.kind)) this.#ended = false;
    if (event.kind === 'run_started' || event.kind === 'session_started')
      this.#cwd ??= event.data.cwd;
    else if (event.kind === 'permission_asked') {
      const { tool, call_id } = event.data;
      this.#asked = { tool, call_id, since_ms: event.at_ms };
    } else if (event.kind === 'permission_answered') this.#asked = null;
    else if (event.kind === 'call_finished' && event.data.call_id === this.#asked?.call_id)
      this.#asked = null;
  }

  /** `end`: the events of the provisional end. `seen_ms`: when its files were last written. */
  evidence(end: readonly Event[], seen_ms: number): Evidence {
    const [call = null] = this.#open.values();
    const asked = this.#asked && { tool: this.#asked.tool, since_ms: this.#asked.since_ms };
    const ended = this.#ended || end.some(({ kind }) => kind === 'agent_ended');
    return { last_ms: Math.max(this.#last_ms, seen_ms), ended, call, asked, cwd: this.#cwd };
  }
}
