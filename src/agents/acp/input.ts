/** Input for a running agent: lines for the stdin of the client program, which forwards them. Pure. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Confirmation, InputTalk } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';

/** `request`: the key of the JSON-RPC request that asked. */
export type InputLine =
  | { say: string }
  | { interrupt: true }
  | { confirm: { request: string; confirmed: boolean } };

export const lineOf = (line: InputLine) => `${JSON.stringify(line)}\n`;

export const input = (): InputTalk => new Talk();

/** The client sends one prompt at a time: each is recorded when it is sent, and ends before the next. */
class Talk implements InputTalk {
  resting = false;
  /** Texts in the order in which the client sends them. */
  readonly #said: string[] = [];
  /** Requests that wait for an answer, by the call in question. */
  readonly #asked = new RecentMap<string, string>(LIMITS.open_calls_max);
  #ended_once = false;

  get waiting(): readonly string[] {
    return this.#said;
  }

  say(text: string): string {
    this.#said.push(text);
    return lineOf({ say: text });
  }

  interrupt(): string {
    return lineOf({ interrupt: true });
  }

  confirm({ call_id, confirmed }: Confirmation): string | null {
    const request = this.#asked.get(call_id);
    if (request === undefined) return null;
    this.#asked.delete(call_id);
    return lineOf({ confirm: { request, confirmed } });
  }

  event(event: Event): void {
    if (event.kind === 'agent_ended') {
      this.resting = true;
      this.#ended_once = true;
      this.#asked.clear();
    } else if (event.kind === 'message_finished') {
      if (event.data.role !== 'user' || event.data.parent_call_id !== null) return;
      this.resting = false;
      // The first prompt is the run's own. The next ones follow its end.
      if (this.#ended_once) this.#said.shift();
    } else if (event.kind === 'permission_asked') {
      const { call_id, request_id } = event.data;
      if (call_id !== null && request_id !== null) this.#asked.set(call_id, request_id);
    } else if (event.kind === 'permission_answered') this.#asked.delete(event.data.call_id ?? '');
  }
}
