/**
 * Events → messages: one per turn of the model, with the indexes of its calls. Pieces are joined; thinking is separate;
 * messages of a sub-agent name the call that started it. Only open messages are kept, within limits: a longer message
 * continues in the next one, and with too many sub-agents the one that has been silent longest is closed.
 */

import { isBlank, trimmed } from '../lib/white-space.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { TranscriptMessage } from '../model/transcript.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { knownTime } from './outcome.ts';

/** A message without its calls, which are passed on separately as they end; `calls` are their indexes. */
export type MessageHead = Omit<TranscriptMessage, 'index' | 'tool_calls'> & { calls: number[] };

/** Takes a message as it ends; `place` counts in the order in which messages begin. */
type OnMessage = (head: MessageHead, place: number) => void;

/** `id`: some agents give thinking a separate id. `draft`: pieces before the complete text has arrived. */
interface Part {
  id: string | null;
  draft: string;
}

interface Open {
  place: number;
  head: MessageHead;
  text: Part;
  thinking: Part;
}

/** One speaker: the run's agent, or one sub-agent. */
interface Thread {
  parent: string | null;
  open: Open | null;
  /** The last text of the last closed message. */
  said: { id: string; text: string } | null;
  /** Characters kept, as last counted. */
  chars: number;
}

/** Messages from place `from` on belong before the message at place `before`. */
export interface Moved {
  from: number;
  before: number;
}

const newThread = (parent: string | null): Thread => ({ parent, open: null, said: null, chars: 0 });
const messageChars = ({ head, text, thinking }: Open) =>
  head.content.length + (head.thinking ?? '').length + text.draft.length + thinking.draft.length;
const isFull = (open: Open) => messageChars(open) >= PROJECTION_LIMITS.transcript_message_chars_max;

function threadChars({ parent, open, said }: Thread): number {
  const texts = [parent, said?.id, said?.text, open?.text.id, open?.thinking.id];
  const chars = texts.reduce((sum, text) => sum + (text ?? '').length, 0);
  return chars + (open === null ? 0 : messageChars(open));
}

const joined = (earlier: string, text: string) => (earlier === '' ? text : `${earlier}\n${text}`);

type Spoken = DataOf<'message_delta'>;

export class MessageFold {
  /** Messages begun. */
  count = 0;
  moved: Moved | null = null;
  readonly #onMessage: OnMessage;
  readonly #root = newThread(null);
  /** Sub-agents by the call that started them, ordered by longest silence. */
  readonly #subs = new Map<string, Thread>();
  /** Characters kept for sub-agents. */
  #sub_chars = 0;
  #prompt: string | null = null;
  /** The channel of the run's stream: that of the first line seen. */
  #channel: string | null = null;
  #filling = false;
  /** The root agent's last message, while it may be the run's answer. */
  #answer: number | null = null;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  push(event: Event): void {
    this.#channel ??= event.raw?.channel ?? null;
    switch (event.kind) {
      case 'run_started':
        this.#begin(event.data.prompt, event);
        break;
      case 'step_started':
        this.#close(this.#root);
        break;
      case 'message_delta':
        this.#message(event, event.data, 'text').text.draft += event.data.text;
        break;
      case 'thinking_delta':
        this.#message(event, event.data, 'thinking').thinking.draft += event.data.text;
        break;
      case 'message_finished':
        this.#said(event, event.data);
        break;
      case 'thinking_finished':
        this.#thought(event, event.data);
        break;
      case 'run_finished':
        this.finish();
        break;
    }
    if ('parent_call_id' in event.data) this.#bound(event.data.parent_call_id);
  }

  /** A call was requested: it belongs to the last message of its speaker. */
  call(event: Event, parent: string | null, index: number): void {
    const thread = this.#thread(parent);
    this.#beforeFill(event);
    const open = thread.open ?? this.#open(thread, event);
    open.head.calls.push(index);
    if (thread === this.#root) this.#answer = null;
    this.#bound(parent);
  }

  /** The call that started a sub-agent has ended, so the sub-agent has ended. */
  endSub(call_id: string): void {
    const thread = this.#subs.get(call_id);
    if (thread === undefined) return;
    this.#close(thread);
    this.#subs.delete(call_id);
    this.#sub_chars -= thread.chars;
  }

  /** Counts the characters of a sub-agent, and closes others while the total is over the limit. */
  #bound(parent: string | null): void {
    const thread = parent === null ? undefined : this.#subs.get(parent);
    if (thread === undefined) return;
    const chars = threadChars(thread);
    this.#sub_chars += chars - thread.chars;
    thread.chars = chars;
    for (const call_id of this.#subs.keys()) {
      const many = this.#subs.size > PROJECTION_LIMITS.open_speakers_max;
      if (!many && this.#sub_chars <= PROJECTION_LIMITS.open_speakers_chars_max) return;
      this.endSub(call_id);
    }
  }

  finish(): void {
    this.#close(this.#root);
    for (const call_id of [...this.#subs.keys()]) this.endSub(call_id);
  }

  #begin(prompt: string | null, event: Event): void {
    if (prompt === null || isBlank(prompt)) return;
    this.#prompt = prompt;
    this.#whole('user', prompt, null, event);
  }

  #said(event: Event, data: DataOf<'message_finished'>): void {
    const { role, text, parent_call_id: parent, synthetic } = data;
    if (role === 'assistant' && !synthetic) {
      this.#spoke(event, data);
      return;
    }
    if (isBlank(text)) return;
    // The prompt of a sub-agent is always made by the agent. Other synthetic messages come from the CLI.
    if (role === 'user' && (parent !== null || !synthetic)) {
      // Agents may repeat the prompt of the run.
      const repeated = parent === null && trimmed(this.#prompt ?? '') === trimmed(text);
      if (parent === null) this.#prompt = null;
      if (repeated) return;
      this.#close(this.#thread(parent));
      this.#whole('user', text, parent, event);
    } else this.#whole('system', text, parent, event);
  }

  #spoke(event: Event, data: DataOf<'message_finished'>): void {
    const { message_id: id, text } = data;
    const thread = this.#thread(data.parent_call_id);
    // An interrupted agent may repeat its last complete message.
    if (thread.said !== null && thread.said.id === id && thread.said.text === text) return;
    if (isBlank(text) && !this.#continues(thread.open, id, 'text')) return;
    const open = this.#message(event, data, 'text', true);
    if (!isBlank(text)) open.head.content = joined(open.head.content, text);
    if (thread === this.#root) this.#answer = open.head.calls.length === 0 ? open.place : null;
  }

  #thought(event: Event, data: Spoken): void {
    if (
      isBlank(data.text) &&
      !this.#continues(this.#thread(data.parent_call_id).open, null, 'thinking')
    )
      return;
    const open = this.#message(event, data, 'thinking', true);
    if (!isBlank(data.text)) open.head.thinking = joined(open.head.thinking ?? '', data.text);
  }

  /** The open message that this piece belongs to, or a new one. A complete text replaces its pieces. */
  #message(event: Event, data: Spoken, kind: 'text' | 'thinking', whole = false): Open {
    const thread = this.#thread(data.parent_call_id);
    this.#beforeFill(event);
    const { message_id: id } = data;
    const before = this.#continues(thread.open, id, kind) ? thread.open : null;
    if (before !== null && whole) before[kind].draft = '';
    if (before === null || isFull(before)) this.#close(thread);
    const open = thread.open ?? this.#open(thread, event);
    open[kind].id = id ?? open[kind].id;
    return open;
  }

  /** A message has text first and then calls: text after a call, or with another id, is another message. */
  #continues(open: Open | null, id: string | null, kind: 'text' | 'thinking'): boolean {
    if (open === null) return false;
    if (id !== null && (id === open.text.id || id === open.thinking.id)) return true;
    if (open.head.calls.length > 0 || open.head.content !== '') return false;
    // Pieces without an id continue the text, pieces with another id do not.
    return kind === 'thinking' || open.text.id === null || id === null;
  }

  #thread(parent: string | null): Thread {
    if (parent === null) return this.#root;
    const thread = this.#subs.get(parent) ?? newThread(parent);
    this.#subs.delete(parent);
    this.#subs.set(parent, thread);
    return thread;
  }

  #open(thread: Thread, event: Event): Open {
    const head = headOf('assistant', '', thread.parent, event);
    const parts = { text: { id: null, draft: '' }, thinking: { id: null, draft: '' } };
    thread.open = { place: this.count, head, ...parts };
    this.count += 1;
    return thread.open;
  }

  #close(thread: Thread): void {
    const { open } = thread;
    if (open === null) return;
    thread.open = null;
    const { head, text, thinking } = open;
    if (text.id !== null) thread.said = { id: text.id, text: head.content };
    if (!isBlank(text.draft)) head.content = joined(head.content, text.draft);
    if (!isBlank(thinking.draft)) head.thinking = joined(head.thinking ?? '', thinking.draft);
    this.#onMessage(head, open.place);
  }

  #whole(role: 'user' | 'system', text: string, parent: string | null, event: Event): void {
    this.#onMessage(headOf(role, text, parent, event), this.count);
    this.count += 1;
  }

  /**
   * Events from the session file arrive after the stream has ended. The answer of a run follows all of its calls, so
   * these messages are placed before it.
   */
  #beforeFill({ raw }: Event): void {
    if (this.#filling || raw?.channel !== 'session' || this.#channel === 'session') return;
    this.#filling = true;
    this.#close(this.#root);
    if (this.#answer !== null) this.moved = { from: this.count, before: this.#answer };
  }
}

function headOf(
  role: MessageHead['role'],
  content: string,
  parent_tool_call_id: string | null,
  event: Event,
): MessageHead {
  const step = role === 'assistant' && event.step > 0 ? event.step : null;
  const time_ms = knownTime(event.at_ms);
  return { role, content, thinking: null, step, time_ms, parent_tool_call_id, calls: [] };
}
