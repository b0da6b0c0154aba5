/**
 * Text and reasoning parts. On the bus a part starts empty, grows by deltas or snapshots, and ends as a whole. Its last
 * snapshot counts (RO-3). If a part changes after it was reported, its message is reported again under a marked id.
 */

import { RecentSet } from '../../../lib/bounded.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { isBlank } from '../../../lib/white-space.ts';
import { type Drafts, Writer } from '../drafts.ts';
import { idOf, momentOf, nativeOf, textOf, wordOf } from '../native.ts';
import { type Part, REMEMBERED_MAX } from './native.ts';

export interface Said {
  /** Null: no record has named the author yet. */
  role: 'assistant' | 'user' | null;
  /** Made by the CLI, or a summary for the model itself. Never the final text of the run. */
  synthetic: boolean;
}

/** A part with only its ids known. */
function begun({ parent, lost, at_ms }: Drafts, part: Part) {
  return {
    thinking: part.type === 'reasoning',
    session_id: idOf(part.sessionID),
    message_id: idOf(part.messageID),
    parent,
    /** The call of the sub-agent that wrote it is unknown. The text must not be mistaken for the root agent's. */
    lost,
    said: { role: null, synthetic: false } as Said,
    text: '',
    ended: false,
    at_ms,
    /** The reported text; null: none yet. */
    reported: null as string | null,
  };
}
type Held = ReturnType<typeof begun>;

export class Texts extends Writer {
  readonly #held = new Map<string, Held>();
  readonly #done = new RecentSet<string>(REMEMBERED_MAX);
  #repeated = 0;
  #chars = 0;

  /** `live`: updates of the part may follow. */
  part(part: Part, said: Said, live: boolean): void {
    const message_id = idOf(part.messageID);
    const id = idOf(part.id) ?? `${message_id}/${wordOf(part.type)}`;
    if (this.#done.has(id)) return;
    const text = textOf(part.text) ?? '';
    const end_ms = momentOf(nativeOf(part.time)?.end);
    const held = this.#held.get(id) ?? begun(this.to, part);
    this.#held.set(id, held);
    held.said = said;
    // Earlier versions stream by snapshots.
    if (live && text.startsWith(held.text)) this.#delta(held, text.slice(held.text.length));
    this.#set(held, text);
    held.ended ||= !live || end_ms !== undefined;
    held.at_ms = end_ms ?? this.to.at_ms;
    const whole = held.ended && said.role !== null;
    if (!live || whole || said.role === 'user') this.#report(held);
    this.#bound();
  }

  #set(held: Held, text: string): void {
    this.#chars += text.length - held.text.length;
    held.text = text;
  }

  /** Beyond the limits the oldest texts are reported as far as known. Further pieces become a separate text. */
  #bound(): void {
    const many = this.#held.size > LIMITS.waiting_drafts_max;
    if (!many && this.#chars <= LIMITS.line_bytes_max) return;
    for (const [id, held] of this.#held) {
      this.#report(held);
      this.#set(held, '');
      held.reported = null;
      if (many) this.#held.delete(id);
      if (this.#chars <= LIMITS.line_bytes_max) return;
    }
  }

  delta(part_id: string, text: string): void {
    const held = this.#held.get(part_id);
    if (held === undefined) {
      if (!this.#done.has(part_id)) this.to.bad('message.part.delta for an unknown part');
      return;
    }
    this.#set(held, held.text + text);
    held.at_ms = this.to.at_ms ?? held.at_ms;
    this.#delta(held, text);
    this.#bound();
  }

  #delta(held: Held, text: string): void {
    if (text === '' || held.said.role === 'user') return;
    const { message_id, parent: parent_call_id } = held;
    const kind = held.thinking ? 'thinking_delta' : 'message_delta';
    this.to.put(kind, { message_id, parent_call_id, text }, held.at_ms);
  }

  /** A record names the author of the message. */
  known(message_id: string, said: Said): void {
    for (const held of this.#held.values()) if (held.message_id === message_id) held.said = said;
  }

  #report(held: Held): void {
    if (held.reported === held.text) return;
    const again = held.reported !== null;
    held.reported = held.text;
    if (!again) this.#whole(held, held.message_id);
    else if (!held.thinking) {
      this.#repeated += 1;
      const marked = `${held.message_id}#${this.#repeated + 1}`;
      for (const other of this.#held.values()) {
        const same = other.message_id === held.message_id && other.reported !== null;
        if (same && !other.thinking) this.#whole(other, marked);
      }
    }
  }

  #whole(held: Held, message_id: string | null) {
    const { text, at_ms, said, parent: parent_call_id } = held;
    if (isBlank(text)) return;
    const whole = { message_id, parent_call_id, text };
    if (held.thinking) return this.to.put('thinking_finished', whole, at_ms);
    const role = said.role ?? 'assistant';
    const synthetic = said.synthetic || held.lost;
    const partial = role === 'assistant' && !held.ended;
    this.to.put('message_finished', { ...whole, role, synthetic, partial }, at_ms);
  }

  /** A step or message of a session ended: its texts are reported, and later records of them are repeats. */
  flush(session_id: string | null): void {
    for (const held of this.#held.values()) {
      // Other sessions speak at the same time. A text without an author waits until a record names one.
      if (held.session_id !== session_id || held.said.role === null) continue;
      held.ended = true;
      this.#report(held);
    }
    for (const [id, held] of this.#held) {
      if (held.reported === null || held.session_id !== session_id) continue;
      this.#set(held, '');
      this.#held.delete(id);
      this.#done.add(id);
    }
  }

  /** The stream ended: texts that are still held were never finished. */
  end(): void {
    for (const held of this.#held.values()) this.#report(held);
    this.#held.clear();
    this.#chars = 0;
  }
}
