/** The end of a call, from the beginning of the text that the model received. Session files have no flag for it. */
import { jsonInside } from '../../lib/byte-text.ts';
import type { CallFinishedDraft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { codeOf, nativeOf, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { SHELLS } from './shell-line.ts';

/** Tools that answer with the exit code of a command. */
const COMMANDS: ReadonlySet<string> = new Set([...SHELLS, 'write_stdin']);
/** Tools that answer with JSON on success, and with a sentence on failure. */
const ANSWER_JSON: ReadonlySet<string> = new Set(
  words('spawn_agent wait_agent send_input close_agent resume_agent'),
);

const ABORTED = /^(?:Wall time: [\d.]+ seconds\n)?aborted(?: by user)?/;
const RUNNING =
  /^(?:Chunk ID: [^\r\n]*\n)?(?:Wall time: [^\r\n]*\n)?Process running with session ID /;
const SCRIPT_RUNNING = /^Script running/;
const EXITED =
  /^(?:Chunk ID: [^\r\n]*\n)?(?:Wall time: [^\r\n]*\n)?Process exited with code (-?\d{1,10})(?:\n|$)/;
const EXIT_CODE = /^Exit code: (-?\d{1,10})(?:\n|$)/;
/** A command refused by the sandbox. Its exit code is in the error description. */
const REFUSED = /^\w+ failed(?: for `[\s\S]*?`)?: SandboxDenied \{/;
const REFUSED_CODE = /exit_code: (-?\d{1,10})/;
const TIMED_OUT =
  /^(?:Exit code: 124\n(?:Wall time: [^\r\n]*\n)?Output:\n)?command timed out after /;

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

const any = (patterns: readonly RegExp[], text: string) => patterns.some((one) => one.test(text));

/** Status of a call that did not do its work; null if the text does not show that. */
export function refusal(text: string): CallStatus | null {
  if (any(DENIED, text)) return 'denied';
  return any(FAILED, text) ? 'error' : null;
}

export function isAborted(text: string): boolean {
  return ABORTED.test(text);
}

/** Whether a command, or a script in code mode, continues after its call was answered. */
export function continues(text: string): boolean {
  return RUNNING.test(text) || SCRIPT_RUNNING.test(text);
}

/** `output` of earlier versions: text and exit code as JSON. */
function unpacked(text: string): { text: string; exit_code: number | null } {
  if (!text.startsWith('{"')) return { text, exit_code: null };
  const body = nativeOf(jsonInside(text));
  const output = textOf(body?.output);
  if (output === null) return { text, exit_code: null };
  const exit_code = codeOf(nativeOf(body?.metadata)?.exit_code);
  return { text: exit_code === null ? text : output, exit_code };
}

function codeIn(text: string): number | null {
  // Two searches in sequence. Combined into one pattern they would nest.
  const [refused = null] = REFUSED.exec(text) ?? [];
  const after = refused === null ? '' : text.slice(refused.length);
  const found = EXITED.exec(text) ?? EXIT_CODE.exec(text) ?? REFUSED_CODE.exec(after);
  return found === null ? null : Number(found[1]);
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
  // With a separate exit code the text is only the command's output.
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
