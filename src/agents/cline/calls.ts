/** Tool calls and their results. Both channels have the same shapes; the session file has some of them as JSON texts. */
import { RecentMap } from '../../lib/bounded.ts';
import { jsonInside } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { CallStatus } from '../../model/words.ts';
import { Writer } from '../kit/drafts.ts';
import { isNative, listOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { contentText } from '../kit/text.ts';
import { EDITOR, mcpOf, READ, SEARCH, SHELL } from './tools.ts';

interface OpenCall {
  readonly tool: string;
  readonly input: Open | null;
}

export interface Answer {
  readonly call_id: string;
  readonly output: unknown;
  /** The channel marks the result as a failure. */
  readonly failed: boolean;
  readonly duration_ms?: number | null;
}

const REFUSAL = /requires approval in a TTY session|was (?:rejected|denied) by the user/;
const EXIT_CODE = /^Command exited with code (-?\d{1,10})$/;
const TIMED_OUT = /\btimed out after \d+ ?ms$/;
const ABORTED = /\bCommand was aborted$/;

/** The only item of a list; undefined if there are more, or none. */
const only = (list: unknown) => (Array.isArray(list) && list.length === 1 ? list[0] : undefined);

/** The input with canonical fields in addition, where one call has one file or command. */
function inputOf(tool: string, given: unknown): Open | null {
  const input = nativeOf(given);
  if (input === null) return null;
  if (tool === SHELL) {
    const commands = listOf(input.commands).filter((one) => typeof one === 'string');
    return commands.length === 0 ? input : { ...input, command: commands.join('\n') };
  }
  const query = tool === SEARCH ? textOf(only(input.queries)) : null;
  if (query !== null) return { ...input, pattern: query };
  const path = tool === READ ? textOf(nativeOf(only(input.files))?.path) : null;
  return path === null ? input : { ...input, file_path: path };
}

/** An edit without a text to replace writes a new file. */
const isWrite = (tool: string, input: Open | null) =>
  tool === EDITOR && input !== null && input.old_text == null && input.insert_line == null;

export class Calls extends Writer {
  readonly #open = new RecentMap<string, OpenCall>(LIMITS.open_calls_max);

  request(call_id: string, tool: string, given: unknown): void {
    const input = inputOf(tool, given);
    this.#open.set(call_id, { tool, input });
    const mcp = mcpOf(tool);
    if (mcp !== null) this.to.requested(call_id, tool, input, { mcp });
    else if (isWrite(tool, input)) {
      const content = { ...input, content: input?.new_text };
      this.to.requested(call_id, tool, content, { tool: 'Write' });
    } else this.to.requested(call_id, tool, input ?? given);
  }

  finish({ call_id, output: given, failed, duration_ms = null }: Answer): void {
    const output = typeof given === 'string' ? (jsonInside(given) ?? given) : given;
    const texts = [...errorsIn(output)];
    const status = statusOf(output, failed, texts);
    const [, code] = (texts.length === 1 && EXIT_CODE.exec(texts[0] ?? '')) || [];
    const exit_code = code === undefined ? null : Number(code);
    if (status === 'denied') this.to.decided(call_id, 'deny', texts[0] ?? null, null);
    this.to.finished({ call_id, status, exit_code, output: outputText(output), duration_ms });
    const call = this.#open.get(call_id);
    this.#open.delete(call_id);
    if (call?.tool === EDITOR && status === 'ok') this.#changed(call_id, call.input, output);
  }

  #changed(call_id: string, input: Open | null, output: unknown): void {
    const path = textOf(input?.path);
    if (path === null) return;
    const fresh = textOf(nativeOf(output)?.result)?.startsWith('File created') === true;
    const text = isWrite(EDITOR, input) ? textOf(input?.new_text) : null;
    const size = text === null ? null : asciiBytes(text);
    const operation = fresh ? 'created' : 'modified';
    this.to.put('file_changed', { path, operation, call_id, source: 'tool', diff: null, size });
  }
}

/** The failures in a result: one per file or command, or one for the whole call. */
function* errorsIn(output: unknown): Generator<string> {
  for (const item of Array.isArray(output) ? output : [output]) {
    const one = nativeOf(item);
    if (typeof one?.error === 'string') yield one.error;
    else if (one?.success === false || one?.isError === true || one?.finishReason === 'error')
      yield '';
  }
}

function statusOf(output: unknown, failed: boolean, texts: readonly string[]): CallStatus {
  if (!failed && texts.length === 0) return 'ok';
  const said = texts.length > 0 ? texts : [textOf(output) ?? ''];
  if (said.some((text) => REFUSAL.test(text))) return 'denied';
  if (said.some((text) => ABORTED.test(text))) return 'cancelled';
  return said.some((text) => TIMED_OUT.test(text)) ? 'timeout' : 'error';
}

function outputText(output: unknown): string | null {
  if (output === null || output === undefined) return null;
  if (typeof output === 'string') return output;
  if (!Array.isArray(output)) return itemText(output);
  return output.map((item) => itemText(item) ?? '').join('\n');
}

function itemText(item: unknown): string | null {
  if (!isNative(item)) return typeof item === 'string' ? item : null;
  const said = textOf(item.result) || textOf(item.error) || textOf(item.text);
  return said ?? contentText(item.content) ?? textOf(item.result) ?? JSON.stringify(item);
}
