/** The state of one transcript while its records are read. */
import { trimmed } from '../../lib/white-space.ts';
import type { SessionPart } from '../../model/agent.ts';
import { putUnknown } from '../kit/blocks.ts';
import { type Drafts, type End, endFor, OK, type Time, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, nativeOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { SubAgents } from '../kit/sub-agents.ts';
import { between, contentText } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import { promptTime } from './prompt-time.ts';
import { TASK_TOOLS } from './tools.ts';

interface Place {
  session_id: string | null;
  created_ms: Time;
}
type Message = Inside<Session['assistant']['message']>;

/** The prompt without the elements around it. */
function promptIn(text: string): string {
  return trimmed(between(text, '<user_query>', '</user_query>') ?? text);
}

export class SessionRun extends Writer {
  readonly #place: Place;
  readonly #subs = new SubAgents();
  #calls = 0;
  #introduced = false;
  /** How the last turn ended; null while one is open. */
  #end: End | null = null;
  /** The latest time that a prompt states. */
  #stated_ms: Time;

  constructor(to: Drafts, place: Place) {
    super(to);
    this.#place = place;
  }

  /** Records have no times. Some prompts state the time at which they were written, to the minute. */
  timeOf({ role, message }: Open): Time {
    const text = role === 'user' ? contentText(nativeOf(message)?.content) : null;
    const said = text === null ? undefined : promptTime(text);
    if (said !== undefined) this.#stated_ms = Math.max(said, this.#stated_ms ?? 0);
    return this.#stated_ms ?? this.#place.created_ms;
  }

  speak(part: SessionPart | undefined, main: string | undefined): void {
    if (part === undefined || part.path === main || main === undefined) return;
    this.to.speak(this.#subs.parentOf(part.path, null), false);
  }

  #introduce(): void {
    if (this.#introduced || !this.to.root) return;
    this.#introduced = true;
    this.to.session({ session_id: this.#place.session_id });
  }

  user({ message }: Session['user'], part: SessionPart | undefined): void {
    const text = contentText(nativeOf(message)?.content);
    if (text === null) {
      this.to.bad('user message without text');
      return;
    }
    const prompt = promptIn(text);
    if (!this.to.root) {
      // The prompt of a sub-agent is the only link to the call that started it.
      if (part) this.to.speak(this.#subs.parentOf(part.path, prompt), false);
      return;
    }
    this.#introduce();
    this.#end = null;
    this.to.message('user', prompt);
  }

  assistant({ message }: Session['assistant']): void {
    const content = nativeOf(message)?.content;
    if (typeof content !== 'string' && !Array.isArray(content)) {
      this.to.bad('assistant message without content');
      return;
    }
    this.#introduce();
    if (this.to.root) this.to.step(null);
    const blocks =
      typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
    for (const block of blocks) this.#block(nativeOf(block) as Inside<Message['content']> | null);
  }

  #block(block: Inside<Message['content']> | null): void {
    if (block === null) this.to.bad('assistant block is not an object');
    else if (block.type === 'text' && typeof block.text === 'string')
      this.to.message('assistant', block.text);
    else if (block.type === 'tool_use') this.#call(block);
    else putUnknown(this.to, 'assistant', block.type);
  }

  /** A call is written after it ran, without its result. Most have no id. */
  #call({ id, name, input }: Inside<Message['content']>): void {
    this.#calls += 1;
    const native_tool = this.to.need(idOf(name), 'tool_use without name');
    if (native_tool === null) return;
    const call_id = idOf(id) ?? `call_${this.#calls}`;
    this.to.requested(call_id, native_tool, input ?? null);
    this.to.finished({ call_id, status: 'unknown', exit_code: null, output: null });
    if (TASK_TOOLS.has(native_tool))
      this.#subs.ask(trimmed(wordOf(nativeOf(input)?.prompt)) || null, call_id);
  }

  turnEnded({ status, error }: Session['turn_ended']): void {
    if (!this.to.root) return;
    this.#introduce();
    const word = wordOf(status);
    if (word === 'success' || word === 'completed') this.#end = OK;
    else if (word === 'aborted') this.#end = endFor('cancelled', textOf(error));
    else this.#end = endFor('agent_error', textOf(error) ?? word);
  }

  end(): void {
    if (this.#end) this.to.ended(this.#end);
  }
}
