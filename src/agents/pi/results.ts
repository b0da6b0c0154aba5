/** What a result says about how its call ended. The CLI has one flag, `isError`; the rest is told by what stands beside it. */

import { charsIn } from '../../lib/byte-text.ts';
import { trimmed } from '../../lib/white-space.ts';
import type { CallStatus } from '../../model/words.ts';
import type { CallEnd } from '../kit/drafts.ts';
import {
  codeOf,
  durationOf,
  type Inside,
  idOf,
  nativeOf,
  type Open,
  textOf,
} from '../kit/native.ts';
import { contentText } from '../kit/text.ts';
import type { Stdout } from './generated/native.ts';

/** A message of any role. */
export type Message = Inside<Stdout['message_end']['message']>;
export type Block = Inside<Message['content']>;

export type Nested = Inside<Message['nestedCalls']>;

/** A call's end, from `tool_execution_end` or a `toolResult` message. */
export interface Result {
  readonly call_id: string | null;
  readonly tool: string | null;
  readonly failed: boolean;
  readonly output: string | null;
  /** How long the tool ran; null for a call that never ran, and in versions that do not measure. */
  readonly duration_ms: number | null;
  readonly details: Open | null;
  /** `structuredContent`: on stdout only. */
  readonly structured: Open | null;
}

/** What is known of the call itself. */
export interface Asked {
  readonly tool: string;
  /** Whether this version tells how long calls ran: then a call without a duration never ran. */
  readonly measured: boolean;
  /** Whether the model's message was cut by the output limit: its calls are not run. */
  readonly cut: boolean;
  /** Whether the tool was seen at work. */
  readonly ran: boolean;
}

export function ofExecution(record: Stdout['tool_execution_end']): Result {
  const { content, details, structuredContent } = nativeOf(record.result) ?? {};
  const said = ofMessage({ ...record, content, details } as Message);
  return { ...said, structured: nativeOf(structuredContent) };
}

export function ofMessage(message: Message): Result {
  return {
    call_id: idOf(message.toolCallId),
    tool: idOf(message.toolName),
    failed: message.isError === true,
    output: contentText(message.content),
    duration_ms: durationOf(message.durationMs),
    details: nativeOf(message.details),
    structured: null,
  };
}

const SHELLS: ReadonlySet<string> = new Set(['bash', 'powershell']);
/** The shell tool's own last lines. */
const EXITED = /^Command exited with code (\d{1,9})$/;
const TIMED_OUT = /^Command timed out after [\d.]+ seconds?$/;
const COMMAND_ABORTED = 'Command aborted';
/** What ended a call that was interrupted, or that was left out because the user had said something else. */
const ABORTED: ReadonlySet<string> = new Set([
  'Operation aborted',
  'Request was aborted',
  'Skipped due to queued user message.',
  'This operation was aborted',
]);
/** Calls that were not run because they could not be: an unknown tool, arguments that do not fit. */
const IMPOSSIBLE = [
  /^Tool [^\n]+ not found$/,
  /^Validation failed for tool "/,
  /^Invalid arguments for tool "/,
];
/** Failures of the system: `ENOENT: no such file`, `spawn bash ENOENT`, the shell tool's own complaints. */
const SYSTEM_FAULT =
  /^(?:E[A-Z0-9]{2,}\b|spawn |Working directory does not exist|No bash shell found|Custom shell path not found)/;
/** Words of refusal, for versions in which only the words tell. */
const REFUSAL =
  /\b(?:blocked|denied|declined|disallowed|forbidden|refused|rejected|protected|not (?:allowed|permitted|approved))\b/i;

export function verdictOf(asked: Asked, result: Result): CallEnd {
  const shell = SHELLS.has(asked.tool);
  const text = result.output ?? '';
  const last_line = shell ? text.slice(text.lastIndexOf('\n') + 1) : '';
  const exit_code = shell ? exitCodeOf(result, last_line) : null;
  if (!result.failed) {
    return { status: exit_code !== null && exit_code !== 0 ? 'error' : 'ok', exit_code };
  }
  if (shell && TIMED_OUT.test(last_line)) return { status: 'timeout', exit_code: null };
  if (last_line === COMMAND_ABORTED || ABORTED.has(trimmed(text))) {
    return { status: 'cancelled', exit_code: null };
  }
  const status = exit_code === null && isRefused(asked, result, text) ? 'denied' : 'error';
  return { status, exit_code };
}

function exitCodeOf(result: Result, last_line: string): number | null {
  const told = codeOf(result.structured?.exit_code);
  if (told !== null) return told;
  const match = result.failed ? EXITED.exec(last_line) : null;
  return match === null ? null : Number(match[1]);
}

/**
 * An extension's refusal has no mark of its own: its text is whatever the extension says. It is known by what it is
 * not: the call never ran, though it could have. Versions before 1.x do not tell whether a call ran; there a shell
 * call is known to have run by its updates and its last line, and for other tools only the words are left.
 */
function isRefused(asked: Asked, result: Result, text: string): boolean {
  if (asked.cut || IMPOSSIBLE.some((start) => start.test(text))) return false;
  if (asked.measured) return result.duration_ms === null;
  if (asked.ran || result.duration_ms !== null || SYSTEM_FAULT.test(text)) return false;
  return SHELLS.has(asked.tool) || REFUSAL.test(text);
}

const NESTED: ReadonlyMap<unknown, CallStatus> = new Map([
  ['ok', 'ok'],
  ['error', 'error'],
  ['blocked', 'denied'],
  ['denied', 'denied'],
  ['aborted', 'cancelled'],
  ['cancelled', 'cancelled'],
  ['running', 'cancelled'],
  ['timeout', 'timeout'],
  ['unfinished', 'cancelled'],
]);
/** What the CLI keeps of such a call's failure: its beginning. */
const NESTED_ERROR_CHARS = 500;

/**
 * How a call made by another call's script ended (`nestedCalls`). What it failed with stands beside its status; that it
 * never ran does not show, as every such call has a duration.
 */
export function ofNested(
  tool: string,
  item: Inside<Nested['calls']>,
): CallEnd & { output: string | null } {
  const output = textOf(item.error);
  const whole = output !== null && charsIn(output) < NESTED_ERROR_CHARS;
  if (item.status !== 'error' || !whole) {
    return { status: NESTED.get(item.status) ?? 'unknown', exit_code: null, output };
  }
  const asked = { tool, measured: false, cut: false, ran: false };
  const nothing = { call_id: null, tool, details: null, structured: null };
  const result = { ...nothing, failed: true, output, duration_ms: null };
  return { ...verdictOf(asked, result), output };
}
