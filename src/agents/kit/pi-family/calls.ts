/** Tool calls, from request to result. Shared by stdout and session files. Each call is reported once. */
import { RecentMap, RecentSet } from '../../../lib/bounded.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { asciiBytes } from '../../../lib/utf8.ts';
import type { CallFinishedDraft } from '../../../model/draft.ts';
import { Writer } from '../drafts.ts';
import { durationOf, idOf, listOf, nativeOf, type Open, textOf } from '../native.ts';
import { contentText } from '../text.ts';
import type { Stdout } from './generated/native.ts';
import { type Asked, type Nested, ofNested, type Result, verdictOf } from './results.ts';

interface FileUse {
  readonly tool: string;
  readonly path: string;
  /** File size after a write, if the text alone decides it. */
  readonly size: number | null;
}

export interface Call extends Asked {
  ran: boolean;
  open: boolean;
  readonly parent: string | null;
  readonly file: FileUse | null;
  /** Output shown so far. Updates repeat it. */
  shown: string;
  /** Number of messages read so far, per sub-agent. */
  readonly taken: number[];
}

const FILE_TOOLS: ReadonlySet<string> = new Set(['read', 'write', 'edit']);

export class Calls extends Writer {
  readonly #calls = new RecentMap<string, Call>(LIMITS.open_calls_max);
  /** Files that are known to exist: the CLI does not report whether a write created its file. */
  readonly #existing = new RecentSet<string>(LIMITS.artifacts_max);

  get(call_id: string): Call | undefined {
    return this.#calls.get(call_id);
  }

  /** `block`: a `toolCall`, or a record with the same fields. */
  request(
    block: { id?: unknown; name?: unknown; arguments?: unknown },
    of: { measured: boolean; cut: boolean },
  ): void {
    const call = this.to.callIn(block.id, block.name, 'toolCall without id or name');
    if (call === null) return;
    const { call_id, native_tool: tool } = call;
    if (this.#calls.get(call_id)?.open) return;
    this.#calls.delete(call_id);
    const file = fileUse(tool, block.arguments);
    const state = { ran: false, open: true, shown: '', taken: [] };
    this.#calls.set(call_id, { tool, parent: this.to.parent, ...of, file, ...state });
    this.to.requested(call_id, tool, inputOf(tool, block.arguments));
  }

  /** `tool_execution_start` comes before the CLI decides whether the call may run, so it does not start the call. */
  announce(record: Stdout['tool_execution_start'], measured: boolean): void {
    const id = idOf(record.toolCallId);
    if (id !== null && this.#calls.get(id)?.open) return;
    const parent = idOf(record.parentToolCallId);
    const maker = parent === null ? undefined : this.#calls.get(parent);
    this.to.speak(parent);
    const block = { id, name: record.toolName, arguments: record.args };
    this.request(block, { measured: maker?.measured ?? measured, cut: false });
  }

  /** A tool that reports progress runs. Each update repeats the whole output; only the new part is shown. */
  progress(record: Stdout['tool_execution_update']): void {
    const call_id = idOf(record.toolCallId);
    const call = call_id === null ? undefined : this.#calls.get(call_id);
    if (call_id === null || !call?.open) return;
    if (!call.ran) this.to.put('call_started', { call_id });
    call.ran = true;
    const text = contentText(nativeOf(record.partialResult)?.content);
    if (text === null || text === '' || text === call.shown) return;
    // If the window has moved over long output, nothing is known to be new.
    const news = text.startsWith(call.shown) ? text.slice(call.shown.length) : null;
    call.shown = text;
    this.to.progress(call_id, news);
  }

  finish(result: Result): void {
    const { call_id, tool, output, duration_ms } = result;
    const call = call_id === null ? undefined : this.#calls.get(call_id);
    if (call_id === null || (call === undefined && tool === null)) {
      this.to.bad('result without a call');
      return;
    }
    const unknown = { tool: tool ?? '', measured: false, cut: false, ran: true };
    const { status, exit_code } = verdictOf(call ?? unknown, result);
    const named = tool === null ? {} : { native_tool: tool };
    this.#end(call, { call_id, status, exit_code, output, duration_ms, ...named }, result.details);
  }

  /** A call of a failed or aborted message is never run. */
  drop(call_id: string): void {
    const call = this.#calls.get(call_id);
    if (!call?.open) return;
    call.open = false;
    this.to.finished({ call_id, status: 'cancelled', exit_code: null, output: null });
  }

  /** `nestedCalls` of a result: calls made by the call's script. On stdout they were already reported. */
  nested(record: Nested, parent: string): void {
    const measured = this.#calls.get(parent)?.measured ?? false;
    const { parent: speaker } = this.to;
    this.to.speak(parent);
    for (const value of listOf(record.calls)) {
      const item = nativeOf(value);
      const call_id = idOf(item?.id);
      if (item === null || call_id === null) {
        this.to.bad('nested call without id');
        continue;
      }
      if (this.#calls.has(call_id)) continue;
      this.request(item, { measured, cut: false });
      const call = this.#calls.get(call_id);
      if (call === undefined) continue;
      const duration_ms = durationOf(item.durationMs);
      this.#end(call, { call_id, ...ofNested(call.tool, item), duration_ms }, null);
    }
    this.to.speak(speaker);
    if (record.complete === false) {
      this.to.problem('truncated_value', `not all calls made by ${parent} are reported`);
    }
  }

  #end(call: Call | undefined, end: CallFinishedDraft, details: Open | null): void {
    const { call_id, status, output } = end;
    if (status === 'denied') this.to.decided(call_id, 'deny', output, 'extension');
    this.to.finished(end);
    if (call === undefined) return;
    call.open = false;
    call.shown = '';
    if (status === 'ok' && call.file) this.#used(call_id, call.file, details);
  }

  #used(call_id: string, { tool, path: given, size }: FileUse, details: Open | null): void {
    const path = textOf(details?.path) ?? given;
    const known = this.#existing.has(path);
    this.#existing.add(path);
    if (tool === 'read') return;
    const operation = tool === 'edit' || known ? 'modified' : 'created';
    const diff = tool === 'edit' ? textOf(details?.patch) : null;
    this.to.put('file_changed', { path, operation, source: 'tool', diff, size, call_id });
  }
}

/** The file a file tool works on; null for other tools. */
function fileUse(tool: string, input: unknown): FileUse | null {
  const fields = FILE_TOOLS.has(tool) ? nativeOf(input) : null;
  const path = textOf(fields?.path) ?? textOf(fields?.file_path) ?? patchedFile(fields);
  if (path === null || path === '') return null;
  const content = tool === 'write' ? textOf(fields?.content) : null;
  return { tool, path, size: content === null ? null : asciiBytes(content) };
}

/** A section of a patch: the file's name and a hash of its content. */
const SECTION = /^\[([^\]\n#]+)#[0-9A-F]{4}\]\r?$/gm;

/** The file of an edit with a patch as its only field; null if there are several. */
function patchedFile(fields: Open | null): string | null {
  const [first, ...others] = (textOf(fields?.input) ?? '').matchAll(SECTION);
  return others.length > 0 ? null : (first?.[1] ?? null);
}

/** An edit of one file, or with a single pair, also gets canonical fields; the table maps whole fields only. */
function inputOf(tool: string, input: unknown): unknown {
  const fields = tool === 'edit' ? nativeOf(input) : null;
  if (fields === null) return input ?? {};
  const file_path = patchedFile(fields);
  if (file_path !== null) return { ...fields, file_path };
  const edits = Array.isArray(fields.edits) ? fields.edits : null;
  const pair = edits === null ? fields : edits.length === 1 ? nativeOf(edits[0]) : null;
  const [old_string, new_string] = [textOf(pair?.oldText), textOf(pair?.newText)];
  if (old_string === null || new_string === null) return input;
  return { ...fields, old_string, new_string };
}
