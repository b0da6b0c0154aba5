/** Input for the running CLI: `--input-format stream-json`, one record per line. Pure. */
import type { InputTalk } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';

export function userLine(text: string, uuid?: string): string {
  const message = { role: 'user', content: [{ type: 'text', text }] };
  return `${JSON.stringify({ type: 'user', message, ...(uuid === undefined ? {} : { uuid }) })}\n`;
}

/** A text that arrives during a turn becomes part of it. So repeated ids are counted, not results. */
export class Talk implements InputTalk {
  resting = false;
  #interrupts = 0;
  readonly #said = new Map<string, string>();

  get waiting(): string[] {
    return [...this.#said.values()];
  }

  say(text: string, id: string): string {
    this.#said.set(id, text);
    return userLine(text, id);
  }

  interrupt(): string {
    this.#interrupts += 1;
    const request_id = `interrupt-${this.#interrupts}`;
    const request = { subtype: 'interrupt' };
    return `${JSON.stringify({ type: 'control_request', request_id, request })}\n`;
  }

  event(event: Event): void {
    if (event.kind === 'agent_ended') this.resting = true;
    else if (event.kind === 'step_started') this.resting = false;
    else if (event.kind === 'message_finished' && event.data.role === 'user') {
      const { message_id } = event.data;
      if (message_id !== null && this.#said.delete(message_id)) this.resting = false;
    }
  }
}
