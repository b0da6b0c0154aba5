/** The end of a call from its result. The CLI has one flag, `isError`; other fields and the text show the rest. */

import { charsIn } from '../../../lib/byte-text.ts';
import { trimmed } from '../../../lib/white-space.ts';
import type { CallStatus } from '../../../model/words.ts';
import type { CallEnd } from '../drafts.ts';
import { codeOf, durationOf, type Inside, idOf, nativeOf, type Open, textOf } from '../native.ts';
import { contentText } from '../text.ts';
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
  /** Duration of the tool; null for a call that never ran, and in versions that do not measure. */
  readonly duration_ms: number | null;
  readonly details: Open | null;
  /** `structuredContent`: on stdout only. */
  readonly structured: Open | null;
}

/** Facts about the call itself. */
export interface Asked {
  readonly tool: string;
  /** Whether this version measures durations. If so, a call without a duration never ran. */
  readonly measured: boolean;
  /** Whether the model's message was truncated by the output limit. Its calls are not run. */
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
/** The last lines that the shell tool adds. */
const EXITED = /^Command exited with code (\d{1,9})$/;
const TIMED_OUT = /^Command timed out after [\d.]+ seconds?$/;
const COMMAND_ABORTED = 'Command aborted';
/** Texts of calls that were interrupted, or skipped because of a new user message. */
const ABORTED: ReadonlySet<string> = new Set([
  'Operation aborted',
  'Request was aborted',
  'Skipped due to queued user message.',
  'This operation was aborted',
]);
/** Calls that could not run: an unknown tool, invalid arguments, or a patch of an outdated file. */
const IMPOSSIBLE = [
  /^Tool [^\n]+ not found$/,
  /^Validation failed for tool "/,
  /^Invalid arguments for tool "/,
  /^Edit rejected for /,
];
/** System errors: `ENOENT: no such file`, `spawn bash ENOENT`, the shell tool's own complaints. */
const SYSTEM_FAULT =
  /^(?:E[A-Z0-9]{2,}\b|spawn |Working directory does not exist|No bash shell found|Custom shell path not found)/;
/** Refusals in the CLI's own words. */
const REFUSED = [/^Tool "[^"\n]+" requires approval\b/, /^Tool call rejected by user\b/];
/** Words of refusal, for versions in which only the text shows it. */
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
  const reported = codeOf(result.structured?.exit_code) ?? codeOf(result.details?.exitCode);
  if (reported !== null) return reported;
  const match = result.failed ? EXITED.exec(last_line) : null;
  return match === null ? null : Number(match[1]);
}

/**
 * An extension's refusal has no mark, and its text is chosen by the extension. It is recognised by exclusion: the call
 * never ran, though it could have. Versions before 1.x do not show whether a call ran. There a shell call is known to
 * have run by its updates and its last line, and for other tools only the text decides.
 */
function isRefused(asked: Asked, result: Result, text: string): boolean {
  if (REFUSED.some((start) => start.test(text))) return true;
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
/** The CLI keeps only the beginning of such a call's failure. */
const NESTED_ERROR_CHARS = 500;

/**
 * The end of a call made by another call's script (`nestedCalls`). Its error is next to its status. Whether it ever ran
 * is not shown, as every such call has a duration.
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
