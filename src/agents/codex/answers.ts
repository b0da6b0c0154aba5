/**
 * How a call ended, by the text the model was given: the session file has no flag for it. Only beginnings count, as what
 * follows is a command's own output.
 */
import { jsonInside } from '../../lib/byte-text.ts';
import type { CallFinishedDraft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { codeOf, listOf, nativeOf, textOf } from '../kit/native.ts';
import { SHELLS } from './shell-line.ts';

/** Tools whose answer tells the exit code of a command. */
const COMMANDS: ReadonlySet<string> = new Set([...SHELLS, 'write_stdin']);
/** Tools that answer with JSON when they work, and with a sentence when they do not. */
const ANSWER_JSON: ReadonlySet<string> = new Set([
  'spawn_agent',
  'wait_agent',
  'send_input',
  'close_agent',
  'resume_agent',
]);

const ABORTED = /^(?:Wall time: [\d.]+ seconds\n)?aborted(?: by user)?/;
const RUNNING = /^(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?Process running with session ID /;
const SCRIPT_RUNNING = /^Script running/;
const EXITED =
  /^(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?Process exited with code (-?\d{1,10})(?:\n|$)/;
const EXIT_CODE = /^Exit code: (-?\d{1,10})(?:\n|$)/;
/** A command that the sandbox refused: its code stands in the description of the error. */
const REFUSED = /^\w+ failed(?: for `[\s\S]*?`)?: SandboxDenied \{/;
const REFUSED_CODE = /exit_code: (-?\d{1,10})/;
const TIMED_OUT = /^(?:Exit code: 124\n(?:Wall time: .*\n)?Output:\n)?command timed out after /;

const DENIED: readonly RegExp[] = [
  /^approval policy is \w+; reject command/,
  /^\w+ failed(?: for `[\s\S]*?`)?: (?:CreateProcess \{ message: "(?:Rejected\((?!\\"Failed to create )|Codex\(Sandbox\(Denied)|SandboxDenied \{|Rejected\()/,
  /^patch rejected(?!: empty patch)/,
  /^(?:exec command |command )?rejected by user/,
  /^approval required by policy/,
  /^`[\s\S]*` rejected: /,
  /^This action was rejected/,
  /^user (?:rejected|cancelled) MCP tool call/,
  /^(?:Command|Tool call|Tool) blocked by (?:\w+ )?hook/,
];
const FAILED: readonly RegExp[] = [
  /^unsupported (?:custom tool )?call: /,
  /^failed to parse /,
  /^[\w.]+ failed(?: for `|: )/,
  /^\w+ verification failed/,
  /^patch rejected: empty patch/,
  /^Script (?:failed|error)/,
  /^unable to (?:locate|read|open|process) /,
  /^image path `/,
  /^(?:\w+ ){1,20}is (?:unavailable|not available|not allowed|not supported) /,
  /^(?:tool call |execution |Fatal )?error: /i,
  /^(?:Unknown|Invalid|Missing|unknown|invalid|missing) \w+/,
];

/** A text, or the texts of a list and of its blocks, of any type, joined by newlines; null where there is none. */
export function textIn(content: unknown): string | null {
  if (typeof content === 'string') return content;
  const texts = listOf(content).map((block) => textOf(block) ?? textOf(nativeOf(block)?.text));
  const said = texts.filter((text) => text !== null);
  return said.length === 0 ? null : said.join('\n');
}

const any = (patterns: readonly RegExp[], text: string) => patterns.some((one) => one.test(text));

/** Why a call did not do its work; null when nothing says so. */
export function refusal(text: string): CallStatus | null {
  if (any(DENIED, text)) return 'denied';
  return any(FAILED, text) ? 'error' : null;
}

export function isAborted(text: string): boolean {
  return ABORTED.test(text);
}

/** Whether a command, or a script in code mode, goes on after its call was answered. */
export function goesOn(text: string): boolean {
  return RUNNING.test(text) || SCRIPT_RUNNING.test(text);
}

/** `output` of the earlier versions: the text and the code as JSON. */
function unpacked(text: string): { text: string; exit_code: number | null } {
  if (!text.startsWith('{"')) return { text, exit_code: null };
  const body = nativeOf(jsonInside(text));
  const output = textOf(body?.output);
  if (output === null) return { text, exit_code: null };
  const exit_code = codeOf(nativeOf(body?.metadata)?.exit_code);
  return { text: exit_code === null ? text : output, exit_code };
}

function codeIn(text: string): number | null {
  const found = EXITED.exec(text) ?? EXIT_CODE.exec(text) ?? refusedCode(text);
  return found === null ? null : Number(found[1]);
}

/** Two searches, one after the other: as one pattern they would be one inside the other. */
function refusedCode(text: string): RegExpExecArray | null {
  const refused = REFUSED.exec(text);
  return refused === null ? null : REFUSED_CODE.exec(text.slice(refused[0].length));
}

export function endedBy(
  call_id: string,
  native_tool: string,
  answer: string | null,
): CallFinishedDraft {
  const whole = answer ?? '';
  const packed = unpacked(whole);
  const code = packed.exit_code ?? codeIn(whole);
  const exit_code = COMMANDS.has(native_tool) ? code : null;
  const output = answer === null ? null : packed.text;
  // Beside a code of its own the text is nothing but the command's output.
  const own = packed.exit_code === null;
  const status = own ? statusOf(native_tool, whole, code) : statusOfCode(packed.text, code);
  return { call_id, status, exit_code, output };
}

function statusOfCode(text: string, code: number | null): CallStatus {
  if (code === 124 && TIMED_OUT.test(text)) return 'timeout';
  return code === 0 ? 'ok' : 'error';
}

function statusOf(native_tool: string, text: string, code: number | null): CallStatus {
  if (isAborted(text)) return 'cancelled';
  if (TIMED_OUT.test(text)) return 'timeout';
  const refused = refusal(text);
  if (refused === 'denied') return 'denied';
  if (code !== null) return code === 0 ? 'ok' : 'error';
  if (refused !== null) return refused;
  if (/^Script terminated/.test(text)) return 'cancelled';
  return ANSWER_JSON.has(native_tool) && nativeOf(jsonInside(text)) === null ? 'error' : 'ok';
}
