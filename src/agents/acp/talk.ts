/** Texts and thoughts, which come in pieces without an end: a piece of another kind, id or speaker ends them. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';

type Kind = 'message' | 'thinking';

interface Said {
  readonly kind: Kind;
  readonly message_id: string | null;
  readonly parent_call_id: string | null;
}

export class Talk {
  #said: Said | null = null;
  #text = '';
  #at_ms: number | undefined;

  /** Whether something is being said. */
  get open(): boolean {
    return this.#said !== null;
  }

  piece(said: Said, text: string, at_ms: number | undefined, out: Draft[]): void {
    const before = this.#said;
    const same =
      before !== null &&
      before.kind === said.kind &&
      before.message_id === said.message_id &&
      before.parent_call_id === said.parent_call_id;
    if (!same || this.#text.length + text.length > LIMITS.line_bytes_max) this.finish(false, out);
    this.#said = said;
    this.#text += text;
    this.#at_ms = at_ms;
    const { message_id, parent_call_id } = said;
    const data = { message_id, parent_call_id, text };
    out.push({ kind: said.kind === 'message' ? 'message_delta' : 'thinking_delta', at_ms, data });
  }

  /** A message given whole: what was said of it in pieces counts no more. */
  whole(said: Said, text: string, at_ms: number | undefined, out: Draft[]): void {
    if (this.#said?.message_id !== said.message_id) this.finish(false, out);
    this.#said = said;
    this.#text = text;
    this.#at_ms = at_ms;
    this.finish(false, out);
  }

  finish(partial: boolean, out: Draft[]): void {
    const said = this.#said;
    if (said === null) return;
    const { message_id, parent_call_id } = said;
    const data = { message_id, parent_call_id, text: this.#text };
    const at_ms = this.#at_ms;
    this.#said = null;
    this.#text = '';
    if (said.kind === 'thinking') out.push({ kind: 'thinking_finished', at_ms, data });
    else {
      const rest = { role: 'assistant' as const, synthetic: false, partial };
      out.push({ kind: 'message_finished', at_ms, data: { ...data, ...rest } });
    }
  }
}
