/** Tool calls, from request to result. Shared by stdout and session files; each is told once, however often records repeat it. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import { Files, type FileUse, fileUse } from './files.ts';
import {
  contentText,
  durationOf,
  idOf,
  isNative,
  listOf,
  type Native,
  nativeOf,
  problem,
  textOf,
} from './native.ts';
import { type Asked, ofNested, type Result, verdictOf } from './results.ts';

/** Of the message that made a call. */
export interface Origin {
  readonly parent: string | null;
  readonly at_ms: number | undefined;
  readonly measured: boolean;
  readonly cut: boolean;
}

export interface Call extends Asked {
  ran: boolean;
  open: boolean;
  readonly parent: string | null;
  readonly file: FileUse | null;
  /** Output shown so far: updates repeat it. */
  shown: string;
  /** Messages of its sub-agents taken so far, by sub-agent. */
  readonly taken: number[];
}

export class Calls {
  readonly #calls = new Map<string, Call>();
  readonly #files = new Files();

  get(call_id: string): Call | undefined {
    return this.#calls.get(call_id);
  }

  /** `block`: a `toolCall`, or what tells the same: id, name, arguments. */
  request(block: Native, origin: Origin, out: Draft[]): void {
    const call_id = idOf(block.id);
    const native_tool = idOf(block.name);
    if (call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'toolCall without id or name'));
      return;
    }
    const { parent, at_ms, measured, cut } = origin;
    if (this.#calls.get(call_id)?.open) return;
    this.#calls.delete(call_id);
    this.#calls.set(call_id, {
      tool: native_tool,
      parent,
      measured,
      cut,
      ran: false,
      open: true,
      file: fileUse(native_tool, block.arguments),
      shown: '',
      taken: [],
    });
    this.#trim();
    const input = inputOf(native_tool, block.arguments);
    out.push({
      kind: 'call_requested',
      at_ms,
      data: { call_id, native_tool, input, parent_call_id: parent },
    });
  }

  /** `tool_execution_start`: comes before the CLI looks whether the call may run, so it is no start yet. */
  announce(record: Native, measured: boolean, out: Draft[]): void {
    const id = idOf(record.toolCallId);
    if (id !== null && this.#calls.get(id)?.open) return;
    const parent = idOf(record.parentToolCallId);
    const maker = parent === null ? undefined : this.#calls.get(parent);
    const block = { id, name: record.toolName, arguments: record.args };
    const origin = { parent, at_ms: undefined, measured: maker?.measured ?? measured, cut: false };
    this.request(block, origin, out);
  }

  /** A tool that reports progress is at work. Its output is repeated whole each time; only what is new is shown. */
  progress(record: Native, out: Draft[]): void {
    const call_id = idOf(record.toolCallId);
    const call = call_id === null ? undefined : this.#calls.get(call_id);
    if (call_id === null || !call?.open) return;
    if (!call.ran) out.push({ kind: 'call_started', data: { call_id } });
    call.ran = true;
    const text = contentText(nativeOf(record.partialResult)?.content);
    if (text === null || text === '' || text === call.shown) return;
    // A window that has moved on over long output shows nothing that can be told apart as new.
    const news = text.startsWith(call.shown) ? text.slice(call.shown.length) : null;
    call.shown = text;
    const data = { call_id, text: news, elapsed_ms: null, stream: null };
    out.push({ kind: 'call_progress', data });
  }

  finish(result: Result, out: Draft[]): void {
    const { call_id, tool, output, duration_ms, at_ms } = result;
    const call = call_id === null ? undefined : this.#calls.get(call_id);
    if (call_id === null || (call === undefined && tool === null)) {
      out.push(problem('bad_record', 'result without a call'));
      return;
    }
    const unknown = { tool: tool ?? '', measured: false, cut: false, ran: true };
    const { status, exit_code } = verdictOf(call ?? unknown, result);
    if (status === 'denied') out.push(refused(call_id, output, at_ms));
    const named = tool === null ? {} : { native_tool: tool };
    const data = { call_id, status, exit_code, output, duration_ms, ...named };
    out.push({ kind: 'call_finished', at_ms, data });
    if (call === undefined) return;
    call.open = false;
    call.shown = '';
    const changed =
      status === 'ok' && call.file ? this.#files.succeeded(call.file, result.details) : null;
    if (changed) out.push({ kind: 'file_changed', at_ms, data: { ...changed, call_id } });
  }

  /** A call of a message that failed or was aborted is never run. */
  drop(call_id: string, at_ms: number | undefined, out: Draft[]): void {
    const call = this.#calls.get(call_id);
    if (!call?.open) return;
    call.open = false;
    const data = { call_id, status: 'cancelled' as const, exit_code: null, output: null };
    out.push({ kind: 'call_finished', at_ms, data });
  }

  /** `nestedCalls` of a result: calls that the call's script made. On stdout they were told when they happened. */
  nested(record: Native, parent: string, at_ms: number | undefined, out: Draft[]): void {
    const measured = this.#calls.get(parent)?.measured ?? false;
    for (const item of listOf(record.calls)) {
      const id = isNative(item) ? idOf(item.id) : null;
      if (!isNative(item) || id === null) {
        out.push(problem('bad_record', 'nested call without id'));
        continue;
      }
      if (this.#calls.has(id)) continue;
      this.request(item, { parent, at_ms, measured, cut: false }, out);
      this.#nestedEnd(id, item, at_ms, out);
    }
    if (record.complete === false) {
      out.push(problem('truncated_value', `not all calls made by ${parent} are told`));
    }
  }

  #nestedEnd(call_id: string, item: Native, at_ms: number | undefined, out: Draft[]): void {
    const call = this.#calls.get(call_id);
    if (call === undefined) return;
    call.open = false;
    const ended = ofNested(call.tool, item);
    if (ended.status === 'denied') out.push(refused(call_id, ended.output, at_ms));
    const data = { call_id, ...ended, duration_ms: durationOf(item.durationMs) };
    out.push({ kind: 'call_finished', at_ms, data });
    const changed =
      ended.status === 'ok' && call.file ? this.#files.succeeded(call.file, null) : null;
    if (changed) out.push({ kind: 'file_changed', at_ms, data: { ...changed, call_id } });
  }

  /** The older half goes when there are too many. */
  #trim(): void {
    if (this.#calls.size <= LIMITS.open_calls_max) return;
    for (const key of this.#calls.keys()) {
      if (this.#calls.size <= LIMITS.open_calls_max / 2) return;
      this.#calls.delete(key);
    }
  }
}

function refused(call_id: string, reason: string | null, at_ms: number | undefined): Draft {
  const data = { call_id, decision: 'deny' as const, reason, source: 'extension' };
  return { kind: 'call_decided', at_ms, data };
}

/** An edit with a single pair says it as canonical fields too; the table maps whole fields only. */
function inputOf(tool: string, input: unknown): unknown {
  const fields = tool === 'edit' ? nativeOf(input) : null;
  if (fields === null) return input ?? {};
  const edits = Array.isArray(fields.edits) ? fields.edits : null;
  const pair = edits === null ? fields : edits.length === 1 ? nativeOf(edits[0]) : null;
  const [old_string, new_string] = [textOf(pair?.oldText), textOf(pair?.newText)];
  if (old_string === null || new_string === null) return input;
  return { ...fields, old_string, new_string };
}
