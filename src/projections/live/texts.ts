/**
 * Messages and thinking → message_start, content_block_start / delta / stop, message_stop.
 * Contract: well nested by message id, with or without deltas. The joined pieces of a block are its text; if an agent's
 * pieces do not add up to its final text, `text` of content_block_stop is the complete text.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { DataOf } from '../../model/event.ts';
import { Pieces, sameMessage } from '../../model/run-fold.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import type { LiveWriter } from './writer.ts';

type BlockType = 'text' | 'thinking';
type Role = DataOf<'message_finished'>['role'];

interface OpenText {
  id: string;
  native_id: string | null;
  /** Index of the open block, or of the next one. */
  index: number;
  open: BlockType | null;
  /** The pieces of each type since its last complete text. */
  given: Record<BlockType, Pieces>;
}

interface Said {
  message_id: string | null;
  parent_call_id: string | null;
  text: string;
}

const ROOT = '';
const noPieces = () => new Pieces(LIMITS.line_bytes_max);

/** Splits a text into pieces that each fit into a message. */
export function* partsOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PROJECTION_LIMITS.live_part_chars_max)
    yield text.slice(at, at + PROJECTION_LIMITS.live_part_chars_max);
}

export class LiveTexts {
  readonly #writer: LiveWriter;
  /** By the call that started the sub-agent. */
  readonly #open = new Map<string, OpenText>();
  #count = 0;
  model: string | null = null;

  constructor(writer: LiveWriter) {
    this.#writer = writer;
  }

  delta(type: BlockType, said: Said): void {
    if (said.text === '') return;
    const message = this.#messageOf(said, 'assistant');
    message.given[type].add(said.text);
    this.#write(message, type, said.text);
  }

  thought(said: Said): void {
    this.#settle(this.#messageOf(said, 'assistant'), 'thinking', said.text);
  }

  message(data: DataOf<'message_finished'>): void {
    const { role, partial, synthetic } = data;
    if (role === 'assistant') {
      const message = this.#messageOf(data, role);
      this.#settle(message, 'text', data.text);
      this.#open.delete(data.parent_call_id ?? ROOT);
      this.#stop(message, { partial, synthetic });
      return;
    }
    // A message of another role does not end the agent's open message.
    const message = this.#start(data, role);
    this.#settle(message, 'text', data.text);
    this.#stop(message, { partial, synthetic });
  }

  /** The agent does something else: its message ends if no block is open. */
  pause(parent_call_id: string | null): void {
    const key = parent_call_id ?? ROOT;
    const message = this.#open.get(key);
    if (message === undefined || message.open !== null) return;
    this.#open.delete(key);
    this.#stop(message, {});
  }

  /** Ends all open messages. */
  end(): void {
    for (const message of this.#open.values())
      this.#stop(message, { partial: message.open !== null });
    this.#open.clear();
  }

  #messageOf(said: Said, role: Role): OpenText {
    const key = said.parent_call_id ?? ROOT;
    const open = this.#open.get(key);
    if (open !== undefined) {
      if (sameMessage(open.native_id, said.message_id)) {
        open.native_id ??= said.message_id;
        return open;
      }
      this.#stop(open, { partial: open.open !== null });
      this.#open.delete(key);
    }
    for (const [oldest, message] of this.#open) {
      if (this.#open.size < LIMITS.live_open_texts_max) break;
      this.#open.delete(oldest);
      this.#stop(message, { partial: message.open !== null });
    }
    const message = this.#start(said, role);
    this.#open.set(key, message);
    return message;
  }

  #start(said: Omit<Said, 'text'>, role: Role): OpenText {
    this.#count += 1;
    const id = `m${this.#count}`;
    const { message_id: native_id, parent_call_id } = said;
    const model = role === 'assistant' ? this.model : null;
    const message = { id, role, model, native_id, parent_call_id };
    this.#writer.write('message_start', { message });
    return {
      id,
      native_id,
      index: 0,
      open: null,
      given: { text: noPieces(), thinking: noPieces() },
    };
  }

  #write(message: OpenText, type: BlockType, text: string): void {
    if (text === '') return;
    this.#block(message, type);
    const at = { message_id: message.id, index: message.index };
    for (const part of partsOf(text))
      this.#writer.write('content_block_delta', {
        ...at,
        delta: { type: `${type}_delta`, text: part },
      });
  }

  #block(message: OpenText, type: BlockType): void {
    if (message.open === type) return;
    this.#stopBlock(message, {});
    message.open = type;
    const { id: message_id, index } = message;
    this.#writer.write('content_block_start', { message_id, index, content_type: type });
  }

  #stopBlock(message: OpenText, more: Record<string, unknown>): void {
    if (message.open === null) return;
    const { id: message_id, index } = message;
    this.#writer.write('content_block_stop', { message_id, index, ...more });
    message.open = null;
    message.index += 1;
  }

  /** The complete text is known: writes the missing rest and ends the block. */
  #settle(message: OpenText, type: BlockType, text: string): void {
    const rest = message.given[type].rest(text);
    message.given[type] = noPieces();
    if (rest !== null) {
      this.#write(message, type, rest);
      if (message.open === type) this.#stopBlock(message, {});
      return;
    }
    if (text.length <= PROJECTION_LIMITS.live_part_chars_max) {
      this.#block(message, type);
      this.#stopBlock(message, { text });
      return;
    }
    // Too long for one message: sent again from the beginning in a separate block.
    this.#stopBlock(message, { replaced: true });
    this.#write(message, type, text);
    this.#stopBlock(message, {});
  }

  #stop(message: OpenText, more: Record<string, unknown>): void {
    this.#stopBlock(message, {});
    const { id: message_id, native_id } = message;
    this.#writer.write('message_stop', { message_id, native_id, ...more });
  }
}
