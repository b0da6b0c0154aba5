/** Pieces of the model's message (`message_update`), held until the whole message arrives. */
import { LIMITS } from '../../../lib/limits.ts';
import { Writer } from '../drafts.ts';
import { AGENT_LIMITS } from '../limits.ts';
import { countOf, nativeOf, textOf } from '../native.ts';
import { wordSet } from '../text.ts';
import type { Stdout } from './generated/native.ts';
import type { Conversation } from './messages.ts';
import type { Block } from './results.ts';

/** `assistantMessageEvent` types that the finished message repeats. */
const IGNORED = wordSet(
  'done error start text_end text_start thinking_end thinking_start toolcall_delta toolcall_start',
);

export class Pieces extends Writer {
  /** A message has begun and not ended. */
  open = false;
  #message_id: string | null = null;
  /** The text so far, by content block. */
  readonly #texts = new Map<number, string>();
  /** The complete calls so far. */
  #calls: Block[] = [];
  #chars = 0;

  begin(message_id: string | null): void {
    this.open = true;
    this.#message_id = message_id;
  }

  /** The whole message has arrived. */
  drop(): void {
    this.open = false;
    this.#message_id = null;
    this.#texts.clear();
    this.#calls = [];
    this.#chars = 0;
  }

  update(record: Stdout['message_update']): void {
    const event = nativeOf(record.assistantMessageEvent);
    const type = textOf(event?.type);
    if (event === null || type === null) {
      this.to.bad('message_update without its event');
    } else if (type === 'text_delta' || type === 'thinking_delta') {
      this.#delta(type, textOf(event.delta), countOf(event.contentIndex) ?? 0);
    } else if (type === 'toolcall_end') {
      const call = nativeOf(event.toolCall);
      const room = this.open && this.#calls.length < AGENT_LIMITS.unclaimed_prompts_max;
      if (call && room) this.#calls.push(call as Block);
    } else if (!IGNORED.has(type)) this.to.problem('unknown_record', `message_update/${type}`);
  }

  #delta(type: 'text_delta' | 'thinking_delta', piece: string | null, index: number): void {
    const text = this.to.need(piece, `message_update/${type} without delta`);
    if (text === null) return;
    const kind = type === 'text_delta' ? 'message_delta' : 'thinking_delta';
    this.to.delta(kind, text, this.#message_id);
    if (type === 'thinking_delta' || !this.open) return;
    this.#chars += text.length;
    if (this.#chars > LIMITS.line_bytes_max) return;
    this.#texts.set(index, (this.#texts.get(index) ?? '') + text);
  }

  /** The message never ended: its pieces are all that is known. */
  abandon({ calls, measured }: Conversation): void {
    if (!this.open) return;
    for (const text of this.#texts.values())
      this.to.message('assistant', text, { message_id: this.#message_id, partial: true });
    for (const call of this.#calls) calls.request(call, { measured, cut: false });
    this.drop();
  }
}
