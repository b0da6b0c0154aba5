/**
 * Text and reasoning parts. On the bus a part comes empty, grows by deltas or snapshots, and comes whole at last; its
 * last snapshot counts (RO-3). A part that changes after it was told makes its message be told again under a marked id.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Heard } from './calls.ts';
import {
  idOf,
  momentOf,
  type Native,
  nativeOf,
  problem,
  Recent,
  textOf,
  wordOf,
} from './native.ts';

const UNKNOWN_PART = 'message.part.delta of a part that is not known';

export type Role = 'assistant' | 'user';

export interface Said {
  /** Null: nobody has said yet whose message this is. */
  role: Role | null;
  /** Made by the CLI, or a summary for the model itself: never the run's last word. */
  synthetic: boolean;
}

interface Held {
  thinking: boolean;
  session_id: string | null;
  message_id: string | null;
  heard: Heard;
  said: Said;
  text: string;
  ended: boolean;
  at_ms: number | undefined;
  /** What was told of it; null: nothing yet. */
  told: string | null;
}

export class Texts {
  readonly #held = new Map<string, Held>();
  readonly #done = new Recent(LIMITS.calls_remembered_max);
  #told_again = 0;
  #chars = 0;

  part(part: Native, said: Said, heard: Heard, out: Draft[]): void {
    const message_id = idOf(part.messageID);
    const id = idOf(part.id) ?? `${message_id}/${wordOf(part.type)}`;
    if (this.#done.has(id)) return;
    const text = textOf(part.text) ?? '';
    const end_ms = momentOf(nativeOf(part.time)?.end);
    const held = this.#held.get(id) ?? this.#hold(id, part, message_id, heard);
    held.said = said;
    if (heard.live) grown(held, text, out);
    this.#set(held, text);
    held.ended ||= end_ms !== undefined;
    held.at_ms = end_ms ?? heard.at_ms;
    if (!heard.live || (held.ended && said.role !== null) || said.role === 'user') {
      this.#tell(held, out);
    }
    this.#bound(out);
  }

  #set(held: Held, text: string): void {
    this.#chars += text.length - held.text.length;
    held.text = text;
  }

  #drop(id: string, held: Held): void {
    this.#set(held, '');
    this.#held.delete(id);
  }

  /** Beyond the limits the oldest texts are reported as far as they came. Further pieces of a text are a text of their own. */
  #bound(out: Draft[]): void {
    const many = this.#held.size > LIMITS.waiting_drafts_max;
    if (!many && this.#chars <= LIMITS.line_bytes_max) return;
    for (const [id, held] of this.#held) {
      this.#tell(held, out);
      this.#set(held, '');
      held.told = null;
      if (many) this.#held.delete(id);
      if (this.#chars <= LIMITS.line_bytes_max) return;
    }
  }

  #hold(id: string, part: Native, message_id: string | null, heard: Heard): Held {
    const held: Held = {
      thinking: part.type === 'reasoning',
      session_id: idOf(part.sessionID),
      message_id,
      heard,
      said: { role: null, synthetic: false },
      text: '',
      ended: !heard.live,
      at_ms: heard.at_ms,
      told: null,
    };
    this.#held.set(id, held);
    return held;
  }

  delta(part_id: string, text: string, at_ms: number | undefined, out: Draft[]): void {
    const held = this.#held.get(part_id);
    if (held === undefined) {
      if (!this.#done.has(part_id)) out.push(problem('bad_record', UNKNOWN_PART));
      return;
    }
    this.#set(held, held.text + text);
    held.at_ms = at_ms ?? held.at_ms;
    pushDelta(held, text, out);
    this.#bound(out);
  }

  /** Somebody says whose message it is. */
  known(message_id: string, said: Said): void {
    for (const held of this.#held.values()) if (held.message_id === message_id) held.said = said;
  }

  #tell(held: Held, out: Draft[]): void {
    if (held.told === held.text) return;
    const again = held.told !== null;
    held.told = held.text;
    if (!again) pushWhole(held, held.message_id, out);
    else if (!held.thinking) {
      this.#told_again += 1;
      const marked = `${held.message_id}#${this.#told_again + 1}`;
      for (const other of this.#held.values()) {
        if (other.message_id !== held.message_id || other.told === null || other.thinking) continue;
        pushWhole(other, marked, out);
      }
    }
  }

  /** A step or message of a session is over: what was said in it is told, and is not heard of again. */
  flush(session_id: string | null, out: Draft[]): void {
    for (const held of this.#held.values()) {
      // Other sessions speak at the same time; text of nobody waits until somebody claims it.
      if (held.session_id !== session_id || held.said.role === null) continue;
      held.ended = true;
      this.#tell(held, out);
    }
    for (const [id, held] of this.#held) {
      if (held.told === null || held.session_id !== session_id) continue;
      this.#drop(id, held);
      this.#done.add(id);
    }
  }

  /** The stream is over: what is still held was never finished. */
  end(out: Draft[]): void {
    for (const held of this.#held.values()) this.#tell(held, out);
    this.#held.clear();
    this.#chars = 0;
  }
}

/** Earlier versions stream by snapshots. */
function grown(held: Held, text: string, out: Draft[]): void {
  if (held.said.role === 'user' || text.length <= held.text.length) return;
  if (text.startsWith(held.text)) pushDelta(held, text.slice(held.text.length), out);
}

function pushDelta(held: Held, text: string, out: Draft[]): void {
  if (text === '' || held.said.role === 'user') return;
  const data = { message_id: held.message_id, parent_call_id: held.heard.speaker.parent, text };
  out.push({ kind: held.thinking ? 'thinking_delta' : 'message_delta', at_ms: held.at_ms, data });
}

function pushWhole(held: Held, message_id: string | null, out: Draft[]): void {
  const { text, at_ms, said, heard } = held;
  if (!/\S/.test(text)) return;
  const { root, parent: parent_call_id } = heard.speaker;
  const whole = { message_id, parent_call_id, text };
  if (held.thinking) {
    out.push({ kind: 'thinking_finished', at_ms, data: whole });
    return;
  }
  const role = said.role ?? 'assistant';
  // A sub-agent whose call is not known must not speak for the root agent.
  const synthetic = said.synthetic || (!root && parent_call_id === null);
  const partial = role === 'assistant' && !held.ended;
  out.push({ kind: 'message_finished', at_ms, data: { ...whole, role, synthetic, partial } });
}
