/** Response items of the model: texts, reasoning, calls, and the answers to them. */

import { isLonger, jsonInside } from '../../lib/byte-text.ts';
import { trimmed } from '../../lib/white-space.ts';
import { Writer } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, nativeOf, textOf, wordOf } from '../kit/native.ts';
import { Calls } from './calls.ts';
import type { Session } from './generated/native.ts';
import { type Request, textIn } from './native.ts';
import { changesOfPatch, fieldsOf, toolOf } from './patch.ts';
import { commandOfWords, shellCall } from './shell-line.ts';

export type Response = Inside<Session['response_item']['payload']>;

/** One conversation with a model. */
export interface Thread {
  id: string | null;
  readonly file: string;
  readonly root: boolean;
  parent: string | null;
  /** The model's next output answers a new request. */
  fresh: boolean;
  /** A fork's file begins with a copy of the turns before it. True while the copy lasts. */
  copied: boolean;
}

/** A skill named by the user: its text is added to the model's input. */
const SKILL = /^<skill>[\t-\r ]*<name>([^<\n]+)<\/name>/;
const SKILL_CHARS_MAX = 200;
const MCP = 'mcp__';

export class Conversations extends Writer {
  readonly calls = new Calls(this.to);
  /** The thread of the current record. */
  thread: Thread = { id: null, file: '', root: true, parent: null, fresh: true, copied: false };
  #served = 0;

  startStep(): void {
    if (this.thread.fresh && this.thread.root) this.to.step(null);
    this.thread.fresh = false;
  }

  message({ id, role, content }: Response): void {
    const text = textIn(content);
    if (role === 'assistant') {
      this.startStep();
      if (text !== null) this.to.message('assistant', text, { message_id: idOf(id) });
    } else if (role === 'user' && text?.startsWith('<skill>')) {
      const name = SKILL.exec(text)?.[1];
      if (name !== undefined && !isLonger(name, SKILL_CHARS_MAX))
        this.to.put('skill_used', { skill: trimmed(name), call_id: null });
    }
  }

  reasoning({ id, summary, content }: Response): void {
    this.startStep();
    const text = textIn(summary) || textIn(content);
    if (text) this.to.thinking(text, idOf(id));
  }

  call(item: Response): void {
    this.startStep();
    const call_id = idOf(item.call_id) ?? idOf(item.id);
    const request = requestOf(item);
    const script = item.type === 'custom_tool_call' && request?.native_tool === 'exec';
    if (call_id === null) this.to.bad(`${wordOf(item.type)} without call_id`);
    else if (request === null) this.to.bad(`${wordOf(item.type)} without name`);
    else if (script) this.calls.script(call_id, textOf(item.input) ?? '');
    else this.calls.request(call_id, request);
  }

  /** Tools that the provider runs: requested and done in one record, with an id or without. */
  served({ type, id, action, revised_prompt, status: native }: Response): void {
    this.startStep();
    this.#served += 1;
    const search = type === 'web_search_call';
    const native_tool = search ? 'web_search' : 'image_generation';
    const call_id = idOf(id) ?? `${native_tool}_${this.#served}`;
    const query = textOf(nativeOf(action)?.query);
    const input = search
      ? { ...(query !== null && { query }), ...(action != null && { action }) }
      : { prompt: textOf(revised_prompt) ?? '' };
    if (!this.calls.has(call_id)) this.calls.request(call_id, { native_tool, input });
    const status = native === 'failed' ? 'error' : 'ok';
    this.calls.finish({ call_id, status, exit_code: null, output: null });
  }

  answer(item: Response): void {
    this.thread.fresh = true;
    const call_id = idOf(item.call_id);
    if (call_id === null) {
      this.to.bad(`${wordOf(item.type)} without call_id`);
    } else if (item.type === 'tool_search_output') {
      const ok = item.status === undefined || item.status === 'completed';
      const names = listOf(item.tools).map((tool) => textOf(nativeOf(tool)?.name) ?? '');
      const output = names.filter((name) => name !== '').join('\n');
      this.calls.finish({ call_id, status: ok ? 'ok' : 'error', exit_code: null, output });
    } else {
      const body = nativeOf(item.output);
      this.calls.answer(call_id, textIn(body === null ? item.output : body.content));
    }
  }
}

/** Null: the item does not name a tool. */
function requestOf(item: Response): Request | null {
  if (item.type === 'tool_search_call') {
    return { native_tool: 'tool_search', input: item.arguments ?? {} };
  }
  if (item.type === 'local_shell_call') {
    const action = nativeOf(item.action);
    return shellCall('local_shell', { ...action, command: commandOfWords(action?.command) ?? '' });
  }
  const native_tool = idOf(item.name);
  const text = textOf(item.input);
  if (native_tool === null) return null;
  if (native_tool === 'apply_patch') {
    const given = nativeOf(jsonInside(textOf(item.arguments) ?? ''));
    const patch = text ?? textOf(given?.input) ?? '';
    const changes = changesOfPatch(patch);
    const input = { input: patch, ...fieldsOf(changes) };
    return { native_tool, input, more: toolOf(changes) };
  }
  if (item.type === 'custom_tool_call') return { native_tool, input: { input: text ?? '' } };
  const input = argumentsOf(item);
  const space = textOf(item.namespace) ?? '';
  if (!space.startsWith(MCP)) return shellCall(native_tool, input);
  const mcp = { server: space.slice(MCP.length), tool: native_tool };
  return { native_tool, input, more: { mcp } };
}

/** Arguments of a function: JSON in a text, which the model may have got wrong. */
function argumentsOf({ arguments: given }: Response): unknown {
  const parsed = typeof given === 'string' ? jsonInside(given) : (given ?? {});
  const input = parsed === undefined ? (given === '' ? {} : { arguments: given }) : parsed;
  const fields = nativeOf(input);
  // `shell` of older versions takes a list of words.
  if (!Array.isArray(fields?.command)) return input;
  return { ...fields, command: commandOfWords(fields.command) ?? '' };
}
