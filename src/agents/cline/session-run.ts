/** The state of one session while its messages are read. */
import { putBlock } from '../kit/blocks.ts';
import { type Drafts, type End, endFor, OK, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, nativeOf, textOf, wordOf } from '../kit/native.ts';
import { SubAgents } from '../kit/sub-agents.ts';
import { contentText } from '../kit/text.ts';
import { isEmpty } from '../kit/usage.ts';
import { Calls } from './calls.ts';
import type { Session } from './generated/native.ts';
import { SPAWN } from './tools.ts';
import { spentOf } from './usage.ts';

type Document = Session['session'];
type Message = Inside<Document['messages']>;
type Block = Inside<Message['content']>;

/** The pieces of a document, by the key of each. */
export interface Pieces {
  field: { field?: unknown };
  origin: { origin?: Document['origin'] };
  message: { message?: Document['messages'] };
}

const INPUT = /^<user_input[^<>]{0,100}>([\s\S]*)<\/user_input>$/;
const promptIn = (text: string) => INPUT.exec(text)?.[1] ?? text;

export class SessionRun extends Writer {
  readonly #cwd: string | null;
  readonly #calls: Calls;
  readonly #subs = new SubAgents();
  #session_id: string | null = null;
  #version: string | null = null;
  #model: string | null = null;
  #introduced = 0;
  /** The sub-agent's file that is read now; null: the main file. */
  #file: string | null = null;
  /** How the session ended, by its last message: an answer without calls, or a failure. */
  #end: End | null = null;

  constructor(to: Drafts, cwd: string | null) {
    super(to);
    this.#cwd = cwd;
    this.#calls = new Calls(to);
  }

  speak(file: string | null): void {
    this.#file = file;
    if (file !== null) this.to.speak(this.#subs.parentOf(file, null), false);
  }

  field(field: unknown): void {
    if (this.to.root) this.#session_id = idOf(nativeOf(field)?.sessionId);
  }

  origin(origin: Document['origin']): void {
    if (this.to.root) this.#version = idOf(nativeOf(origin)?.version);
  }

  #introduce(): void {
    const facts = this.#model === null ? 1 : 2;
    if (!this.to.root || this.#introduced >= facts) return;
    this.#introduced = facts;
    this.to.session({
      session_id: this.#session_id,
      model: this.#model,
      agent_version: this.#version,
      cwd: this.#cwd,
    });
  }

  message(given: Document['messages']): void {
    const message = nativeOf(given);
    const role = wordOf(message?.role);
    if (message === null) this.to.bad('message is not an object');
    else if (role === 'assistant') this.#assistant(message);
    else if (role === 'user') this.#user(message);
    else this.to.problem('unknown_record', `message/${role || 'no role'}`);
  }

  #user({ content }: Message): void {
    const text = contentText(content);
    if (text !== null) this.#prompt(promptIn(text));
    for (const item of listOf(content)) {
      const block = nativeOf(item);
      if (block?.type === 'tool_result') this.#result(block);
      else if (block?.type !== 'text') putBlock(this.to, block ?? {}, {});
    }
  }

  #prompt(prompt: string): void {
    if (this.#file !== null) {
      this.to.speak(this.#subs.parentOf(this.#file, prompt), false);
      return;
    }
    this.#introduce();
    this.#end = null;
    this.to.message('user', prompt);
  }

  #result({ tool_use_id, content, is_error }: Block): void {
    const call_id = this.to.need(idOf(tool_use_id), 'tool_result without id');
    if (call_id !== null)
      this.#calls.finish({ call_id, output: content, failed: is_error === true });
  }

  /** A failure that is shown to the user, in place of the model's answer. */
  #failed(message: string): void {
    if (!this.to.root) return;
    this.to.failed({ message });
    this.#end = endFor('provider_error', message);
  }

  #assistant({ content, id, modelInfo, metrics, metadata }: Message): void {
    if (nativeOf(metadata)?.displayRole === 'error') {
      this.#failed(contentText(content) ?? '');
      return;
    }
    if (this.to.root) {
      this.#model ??= idOf(nativeOf(modelInfo)?.id);
      this.#introduce();
      this.to.step(null);
      this.#end = OK;
    }
    const said = { message_id: idOf(id) };
    for (const item of listOf(content)) {
      const block = nativeOf(item);
      if (block?.type === 'tool_use') this.#call(block);
      else putBlock(this.to, block ?? {}, said);
    }
    const used = spentOf(nativeOf(metrics) ?? {});
    if (!isEmpty(used)) this.to.usage('add', used, idOf(nativeOf(modelInfo)?.id));
  }

  #call({ id, name, input }: Block): void {
    if (this.to.root) this.#end = null;
    const named = this.to.callIn(id, name, 'tool_use without id or name');
    if (named === null) return;
    this.#calls.request(named.call_id, named.native_tool, input);
    if (named.native_tool === SPAWN) this.#subs.ask(textOf(nativeOf(input)?.task), named.call_id);
  }

  end(): void {
    if (this.#end) this.to.ended(this.#end, 'inferred');
  }
}
