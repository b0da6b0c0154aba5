/** What the model gave back, response item by response item: texts, thoughts, calls, and the answers to them. */
import type { Draft } from '../../model/draft.ts';
import type { JsonReader } from './answers.ts';
import {
  contentText,
  idOf,
  listOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  textOf,
  unknown,
  wordOf,
} from './native.ts';
import { RESPONSES_IGNORED } from './records.ts';
import { argumentsOf, type Place, SessionCalls } from './session-calls.ts';
import { commandOfWords } from './shell-line.ts';

/** One conversation with a model. */
export interface Thread {
  readonly file: string;
  id: string | null;
  readonly root: boolean;
  parent: string | null;
  /** What the model says next answers a new request. */
  fresh: boolean;
  /** A fork's file begins with a copy of the turns before it: true while the copy lasts. */
  copied: boolean;
}

/** Where and when a record stands; `earlier`: before the run that is read. */
export interface Moment {
  readonly thread: Thread;
  readonly at_ms: number | undefined;
  readonly earlier: boolean;
}

/** A skill that the user named: its text is put before the model. */
const SKILL = /^<skill>\s*<name>([^<\n]{1,200})<\/name>/;
/** Not `trim`: in byte text a part of a character may look like a space. */
const AROUND = /^[ \t\r]+|[ \t\r]+$/g;
const MCP = 'mcp__';

export class ModelOutput {
  readonly calls: SessionCalls;
  readonly #json: JsonReader;
  #searches = 0;

  constructor(json: JsonReader) {
    this.#json = json;
    this.calls = new SessionCalls(json);
  }

  startStep({ thread, at_ms }: Moment, out: Draft[]): void {
    if (!thread.fresh) return;
    thread.fresh = false;
    if (!thread.root) return;
    const data = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  response(item: Native, at: Moment, out: Draft[]): void {
    const { file, parent } = at.thread;
    const place: Place = { file, parent, at_ms: at.at_ms };
    switch (item.type) {
      case 'message':
        this.#message(item, at, out);
        break;
      case 'reasoning':
        this.startStep(at, out);
        thought(item, at, out);
        break;
      case 'function_call':
      case 'custom_tool_call':
      case 'local_shell_call':
      case 'tool_search_call':
        this.startStep(at, out);
        this.#call(item, place, out);
        break;
      case 'web_search_call':
      case 'image_generation_call':
        this.startStep(at, out);
        this.#served(item, place, out);
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'mcp_tool_call_output':
      case 'tool_search_output':
        at.thread.fresh = true;
        this.#answer(item, place, out);
        break;
      default:
        if (!RESPONSES_IGNORED.has(wordOf(item.type))) {
          out.push(unknown(item.type, `response_item/${nameOf(item.type)}`));
        }
    }
  }

  #message(item: Native, at: Moment, out: Draft[]): void {
    const text = contentText(item.content);
    const { parent, root } = at.thread;
    if (item.role === 'assistant') {
      this.startStep(at, out);
      // Text of a sub-agent whose call is not known must not pass for the root agent's.
      if (text === null || (!root && parent === null)) return;
      const said = { role: 'assistant', text, synthetic: false, partial: false } as const;
      const data = { message_id: idOf(item.id), parent_call_id: parent, ...said };
      out.push({ kind: 'message_finished', at_ms: at.at_ms, data });
    } else if (item.role === 'user' && text !== null) {
      const skill = text.startsWith('<skill>') ? SKILL.exec(text)?.[1] : undefined;
      if (skill === undefined) return;
      const data = { skill: skill.replaceAll(AROUND, ''), call_id: null };
      out.push({ kind: 'skill_used', at_ms: at.at_ms, data });
    }
  }

  #call(item: Native, place: Place, out: Draft[]): void {
    const call_id = idOf(item.call_id) ?? idOf(item.id);
    if (call_id === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without call_id`));
    } else if (item.type === 'tool_search_call') {
      const input = item.arguments ?? {};
      this.calls.request({ call_id, native_tool: 'tool_search', input }, place, out);
    } else if (item.type === 'local_shell_call') {
      const action = nativeOf(item.action);
      const input = { ...action, command: commandOfWords(action?.command) ?? '' };
      this.calls.request({ call_id, native_tool: 'local_shell', input }, place, out);
    } else {
      this.#named(call_id, item, place, out);
    }
  }

  #named(call_id: string, item: Native, place: Place, out: Draft[]): void {
    const native_tool = idOf(item.name);
    const text = textOf(item.input);
    if (native_tool === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without name`));
    } else if (item.type === 'custom_tool_call' && native_tool === 'exec') {
      this.calls.script(call_id, text ?? '', place);
    } else if (native_tool === 'apply_patch') {
      const given = nativeOf(this.#json(textOf(item.arguments) ?? ''));
      this.calls.patch(call_id, text ?? textOf(given?.input) ?? '', place, out);
    } else if (item.type === 'custom_tool_call') {
      this.calls.request({ call_id, native_tool, input: { input: text ?? '' } }, place, out);
    } else {
      this.#function(call_id, native_tool, item, { place, out });
    }
  }

  #function(
    call_id: string,
    native_tool: string,
    item: Native,
    to: { place: Place; out: Draft[] },
  ) {
    const parsed = this.#json(textOf(item.arguments) ?? '');
    let input = argumentsOf(item.arguments, parsed);
    const words = nativeOf(input)?.command;
    // `shell` of the earlier versions takes a list of words.
    if (Array.isArray(words)) input = { ...nativeOf(input), command: commandOfWords(words) ?? '' };
    const space = textOf(item.namespace);
    const mcp = space?.startsWith(MCP)
      ? { mcp: { server: space.slice(MCP.length), tool: native_tool } }
      : null;
    this.calls.request({ call_id, native_tool, input, ...mcp }, to.place, to.out);
  }

  /** Tools that the provider runs: asked for and done in one record, with an id of their own or none. */
  #served(item: Native, place: Place, out: Draft[]): void {
    const search = item.type === 'web_search_call';
    this.#searches += 1;
    const call_id =
      idOf(item.id) ?? `${search ? 'web_search' : 'image_generation'}_${this.#searches}`;
    const native_tool = search ? 'web_search' : 'image_generation';
    const { action } = item;
    const query = textOf(nativeOf(action)?.query);
    const input = search
      ? { ...(query !== null && { query }), ...(action != null && { action }) }
      : { prompt: textOf(item.revised_prompt) ?? '' };
    if (this.calls.tool(call_id) === null) {
      this.calls.request({ call_id, native_tool, input }, place, out);
    }
    const status = item.status === 'failed' ? 'error' : 'ok';
    this.calls.finish(call_id, { status, exit_code: null, output: null }, place.at_ms, out);
  }

  #answer(item: Native, place: Place, out: Draft[]): void {
    const call_id = idOf(item.call_id);
    if (call_id === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without call_id`));
    } else if (item.type === 'tool_search_output') {
      const ok = item.status === undefined || item.status === 'completed';
      const names = listOf(item.tools).map((tool) => textOf(nativeOf(tool)?.name) ?? '');
      const output = names.filter((name) => name !== '').join('\n');
      const ended = { status: ok ? 'ok' : 'error', exit_code: null, output } as const;
      this.calls.finish(call_id, ended, place.at_ms, out);
    } else {
      const body = nativeOf(item.output);
      const text = contentText(body === null ? item.output : body.content);
      this.calls.answer(call_id, text, place, out);
    }
  }
}

function thought(item: Native, at: Moment, out: Draft[]): void {
  const { parent, root } = at.thread;
  if (!root && parent === null) return;
  const text = contentText(item.summary) || contentText(item.content);
  if (!text) return;
  const data = { message_id: idOf(item.id), parent_call_id: parent, text };
  out.push({ kind: 'thinking_finished', at_ms: at.at_ms, data });
}
