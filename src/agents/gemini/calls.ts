/** Tool calls and their results. Shared by stdout and session files. */

import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { headOf, tailOf } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { asciiBytes } from '../../lib/utf8.ts';
import type { FileOperation } from '../../model/words.ts';
import { type CallEnd, Writer } from '../kit/drafts.ts';
import { nativeOf, type Open, textOf } from '../kit/native.ts';
import { EDIT, mcpOf, READ, SHELL, WRITE } from './tools.ts';

export interface Result extends CallEnd {
  readonly call_id: string;
  readonly at_ms: number | undefined;
  readonly output: string | null;
  /** The tool's structured result (`resultDisplay`); null if the channel has none. */
  readonly detail: Open | null;
}

interface OpenCall {
  readonly tool: string;
  /** The file a file tool works on; null for other tools. */
  readonly path: string | null;
  /** File size in bytes after a write. */
  readonly size: number | null;
  /** An edit that replaces nothing creates a new file. */
  readonly makes: boolean;
}

const FILE_TOOLS: ReadonlySet<string> = new Set([READ, WRITE, EDIT]);

/** Beginnings of refusals by a policy, a hook or a person. The session file has no type for them. */
const REFUSALS = [
  'Tool execution denied by policy',
  'Tool execution blocked: ',
  '[Operation Cancelled] Reason: User did not allow tool call',
];
const REFUSAL_ENDS = [
  '" was canceled by the user.',
  '" was cancelled by the user.',
  ' requires user confirmation, which is not supported in non-interactive mode.',
];

export class Calls extends Writer {
  readonly open = new RecentMap<string, OpenCall>(LIMITS.open_calls_max);
  /** Finished calls, and calls of an earlier run. */
  readonly done = new RecentSet<string>(LIMITS.settled_calls_max);
  /** Files that are known to exist, because a call read or changed them. */
  readonly #existing = new RecentSet<string>(LIMITS.artifacts_max);

  /** Whether the call has been seen, open or finished. */
  knows(call_id: string): boolean {
    return this.open.has(call_id) || this.done.has(call_id);
  }

  /** `shown`: the display name; null if the channel has none. */
  request(call_id: string, native_tool: string, input: unknown, shown: string | null = null): void {
    const fields = FILE_TOOLS.has(native_tool) ? nativeOf(input) : null;
    const path = textOf(fields?.file_path);
    const content = native_tool === WRITE ? textOf(fields?.content) : null;
    const size = content === null ? null : asciiBytes(content);
    const makes = native_tool === EDIT && fields?.old_string === '';
    this.open.set(call_id, { tool: native_tool, path, size, makes });
    const mcp = mcpOf(native_tool, shown);
    this.to.requested(call_id, native_tool, input, mcp && { mcp });
  }

  /** The end of a call as it is known so far. Its next record may say more. */
  assume(result: Result): void {
    const { call_id } = result;
    const call = this.open.get(call_id);
    if (call === undefined) return;
    const exists = call.path !== null && this.#existing.has(call.path);
    this.finish(result);
    this.open.set(call_id, call);
    this.done.delete(call_id);
    if (call.path !== null && !exists) this.#existing.delete(call.path);
  }

  finish(result: Result): void {
    const { call_id, at_ms, status, exit_code, output } = result;
    this.to.put('call_finished', { call_id, status, exit_code, output }, at_ms);
    const call = this.open.get(call_id);
    this.open.delete(call_id);
    this.done.add(call_id);
    if (call === undefined || call.path === null || status !== 'ok') return;
    if (call.tool !== READ) this.#changed(call, call.path, result);
    this.#existing.add(call.path);
  }

  #changed(call: OpenCall, path: string, { call_id, at_ms, detail }: Result): void {
    const content = textOf(detail?.newContent);
    const size = content === null ? call.size : asciiBytes(content);
    const operation = this.#operationOf(call, path, detail);
    const diff = textOf(detail?.fileDiff);
    this.to.put('file_changed', { path, operation, call_id, source: 'tool', diff, size }, at_ms);
  }

  /** stdout does not show whether a written file existed. It did if an earlier call used it. */
  #operationOf(call: OpenCall, path: string, detail: Open | null): FileOperation {
    if (typeof detail?.isNewFile === 'boolean') return detail.isNewFile ? 'created' : 'modified';
    const fresh = call.makes || (call.tool === WRITE && !this.#existing.has(path));
    return fresh ? 'created' : 'modified';
  }
}

export function isRefusal(text: string | null): boolean {
  if (text === null) return false;
  if (REFUSALS.some((start) => text.startsWith(start))) return true;
  return REFUSAL_ENDS.some((end) => text.endsWith(end));
}

const OK: CallEnd = { status: 'ok', exit_code: null };
const CANCELLED = 'Command cancelled by user.';
/** A command that the tool itself refuses to run. Its status is success. */
const BLOCKED = 'Blocked: command substitution detected in shell command.';
const BLOCKED_FOR_MODEL = 'Command injection detected: command substitution syntax ';
const TIMED_OUT = 'Command was automatically cancelled because it exceeded the timeout';
const SHOWN_CODE = /^Command exited with code: (\d{1,9})$/;
const SHOWN_SIGNAL = /^Command terminated by signal: [^\t-\r ]+$/;

/** The end of a command from the text shown to people. The exit code is shown only if the command printed nothing. */
export function shownEnd(tool: string | null, shown: string | null): CallEnd {
  if (tool !== SHELL || shown === null) return OK;
  if (shown === BLOCKED) return { status: 'denied', exit_code: null };
  const [first = '', , kept] = headOf(shown, 512).split('\n', 3);
  // The command's earlier output follows this line. Without the line the text is the command's own output.
  if (first === shown || kept === 'Output before cancellation:') {
    if (first === CANCELLED) return { status: 'cancelled', exit_code: null };
    if (first.startsWith(TIMED_OUT)) return { status: 'timeout', exit_code: null };
  }
  if (SHOWN_SIGNAL.test(shown)) return { status: 'error', exit_code: null };
  const code = SHOWN_CODE.exec(shown)?.[1];
  return code === undefined ? OK : coded(Number(code));
}

/** The lines that the CLI appends to a command's output for the model. Each counts as a whole. */
const TAIL =
  /\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*(?![^\n])(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*(?![^\n]))*(?:\n<\/untrusted_context>)?[\t-\r ]*$/;
const TAIL_CHARS = 4096;
const CODE_LINE = /(?:^|[\r\n])Exit Code: (\d{1,9})(?![^\r\n])/;
const SIGNAL_LINE = /(?:^|[\r\n])Signal: (?!\(none\)|0(?![^\r\n]))[^\t-\r ]+(?![^\r\n])/;
const WRAPPER = '<untrusted_context>\n';
const WRAPPER_END = '\n</untrusted_context>';

/** Removes text added by hooks after the tool's own text. */
function withoutHooks(text: string): string {
  const end = text.startsWith(WRAPPER) ? text.lastIndexOf(WRAPPER_END) : -1;
  return end < 0 ? text : text.slice(0, end + WRAPPER_END.length);
}

/** The end of a command from the text sent to the model, which has the exit code unless it is 0. */
export function reportedEnd(tool: string | null, text: string | null): CallEnd {
  if (tool !== SHELL || text === null) return OK;
  if (text.startsWith(BLOCKED_FOR_MODEL)) return { status: 'denied', exit_code: null };
  const body = text.startsWith(WRAPPER) ? text.slice(WRAPPER.length) : text;
  if (body.startsWith(TIMED_OUT)) return { status: 'timeout', exit_code: null };
  if (body.startsWith('Command was cancelled by user before it could complete')) {
    return { status: 'cancelled', exit_code: null };
  }
  const tail = TAIL.exec(tailOf(withoutHooks(text), TAIL_CHARS))?.[0] ?? '';
  const code = CODE_LINE.exec(tail)?.[1];
  if (code !== undefined) return coded(Number(code));
  return SIGNAL_LINE.test(tail) ? { status: 'error', exit_code: null } : OK;
}

function coded(exit_code: number): CallEnd {
  return { status: exit_code === 0 ? 'ok' : 'error', exit_code };
}
