/** Texts and thoughts, which arrive in pieces without an end: a piece of another kind, id or speaker ends them. */
import { LIMITS } from '../../lib/limits.ts';
import { type Drafts, type Time, Writer } from './drafts.ts';

export interface Said {
  readonly kind: 'message' | 'thinking';
  readonly message_id: string | null;
  readonly parent_call_id: string | null;
}

export class Talk extends Writer {
  #said: Said | null = null;
  #text = '';
  #at_ms: Time;
  readonly #deltas: boolean;

  /** `deltas`: whether each piece is also reported. */
  constructor(to: Drafts, deltas = true) {
    super(to);
    this.#deltas = deltas;
  }

  get open(): boolean {
    return this.#said !== null;
  }

  piece(said: Said, text: string): void {
    const { kind, message_id, parent_call_id } = said;
    const same =
      this.#said?.kind === kind &&
      this.#said.message_id === message_id &&
      this.#said.parent_call_id === parent_call_id;
    if (!same || this.#text.length + text.length > LIMITS.line_bytes_max) this.finish(false);
    this.#keep(said, this.#text + text);
    if (this.#deltas) this.to.put(`${kind}_delta`, { message_id, parent_call_id, text });
  }

  /** A complete message replaces the pieces before it. */
  whole(said: Said, text: string): void {
    if (this.#said?.message_id !== said.message_id) this.finish(false);
    this.#keep(said, text);
    this.finish(false);
  }

  #keep(said: Said, text: string): void {
    this.#said = said;
    this.#text = text;
    this.#at_ms = this.to.at_ms;
  }

  finish(partial: boolean): void {
    this.put(partial);
    this.#said = null;
    this.#text = '';
  }

  /** The text so far. More of it may follow. */
  put(partial: boolean): void {
    if (this.#said === null) return;
    const { kind, ...of } = this.#said;
    const data = { ...of, text: this.#text };
    if (kind === 'thinking') this.to.put('thinking_finished', data, this.#at_ms);
    else {
      const rest = { role: 'assistant' as const, synthetic: false, partial };
      this.to.put('message_finished', { ...data, ...rest }, this.#at_ms);
    }
  }
}
