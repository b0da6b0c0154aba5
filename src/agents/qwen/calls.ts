/** Tool calls: what a result says about its call. Shared by stdout and session files. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { type FileCall, fileCallOf, fileChanged } from './files.ts';
import { idOf, nativeOf, problem, textOf, trim } from './native.ts';

interface Call {
  readonly tool: string;
  /** Of a shell call. */
  readonly command: string | null;
  readonly file: FileCall | null;
}

export interface Request {
  readonly id: unknown;
  readonly name: unknown;
  readonly input: unknown;
}

export interface Answer {
  readonly call_id: string;
  readonly output: string | null;
  /** What the model was told, where a shell's report of itself may stand. */
  readonly report: string | null;
  /** What the record itself says; the text of a failure may say more. */
  readonly status: CallStatus;
  /** Where it is told apart from the text. */
  readonly exit_code: number | null;
  readonly duration_ms: number | null;
  readonly diff: string | null;
  /** Where the result is the first to name the tool. */
  readonly native_tool: string | null;
}

const SHELL = 'run_shell_command';
const SUB_AGENTS: ReadonlySet<string> = new Set(['agent', 'task']);
/** Tools whose work may outlast their result. */
const TASK_TOOLS: ReadonlySet<string> = new Set([SHELL, 'agent', 'task', 'monitor']);
/** The end of a shell's report; the command's own output stands before it. */
const EXIT_CODE = /\nExit Code: (-?\d{1,9})\nSignal: [^\n]*(?:\n|$)/g;
const TIMED_OUT = /^Command timed out after \d+ ?ms before it could complete/;
const ABORTED =
  /^(?:\[Operation Cancelled\]|Command was cancelled by user before it could complete|Skipped because the provider attempt was retried)/;
/** A sub-agent that failed without a word of its own; the result's record says success. */
const AGENT_FAILED = 'Subagent execution failed.';
/** How every version names a refusal by mode or rule; a hook's refusal has the hook's own words. */
const REFUSED =
  /^(?:Qwen Code requires permission to use .{1,200}, but that permission was declined|"[^"]{1,200}" is not listed in the active core tools allowlist)/;

export class Calls {
  readonly #open = new Map<string, Call>();
  readonly #seen = new Set<string>();
  /** Calls with a result that may go on in the background: id → native tool. */
  readonly #finished = new Map<string, string>();
  /** Calls that failed: the end record tells which of them were refused. */
  readonly #failed = new Set<string>();
  /** Calls whose sub-agent was told to have failed; their results say success. */
  readonly #failing = new Set<string>();
  /** Sub-agents asked for, until one is seen to begin with that prompt. */
  readonly #asked: { readonly prompt: string; readonly call_id: string }[] = [];
  /** The call that started the latest sub-agent. */
  sub_agent: string | null = null;

  isOpen(call_id: string): boolean {
    return this.#open.has(call_id);
  }

  wasSeen(call_id: string): boolean {
    return this.#seen.has(call_id);
  }

  request(
    { id, name, input }: Request,
    parent: string | null,
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    const call_id = idOf(id);
    const native_tool = idOf(name);
    if (call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'call without id or name'));
      return;
    }
    const command = native_tool === SHELL ? textOf(nativeOf(input)?.command) : null;
    this.#open.set(call_id, { tool: native_tool, command, file: fileCallOf(native_tool, input) });
    trim(this.#open);
    this.#seen.add(call_id);
    trim(this.#seen);
    if (SUB_AGENTS.has(native_tool)) this.#startsAgent(call_id, input);
    const data = { call_id, native_tool, input: input ?? {}, parent_call_id: parent };
    out.push({ kind: 'call_requested', at_ms, data });
  }

  #startsAgent(call_id: string, input: unknown): void {
    this.sub_agent = call_id;
    const prompt = textOf(nativeOf(input)?.prompt);
    if (prompt !== null) this.#asked.push({ prompt, call_id });
    if (this.#asked.length > LIMITS.unclaimed_prompts_max) this.#asked.shift();
  }

  /** The call that started the sub-agent which begins with this prompt; each is claimed once. */
  claim(prompt: string): string | null {
    const at = this.#asked.findIndex((asked) => asked.prompt === prompt);
    return at < 0 ? null : (this.#asked.splice(at, 1)[0]?.call_id ?? null);
  }

  /** A sub-agent has failed: of several that run, nothing tells which. False: none runs. */
  failAgent(): boolean {
    const agents = [...this.#open].filter(([, call]) => SUB_AGENTS.has(call.tool));
    const [call_id] = agents[0] ?? [];
    if (call_id === undefined) return false;
    if (agents.length === 1) this.#failing.add(call_id);
    return true;
  }

  finish(answer: Answer, at_ms: number | undefined, out: Draft[]): void {
    const { call_id, output } = answer;
    const call = this.#open.get(call_id);
    const tool = call?.tool ?? answer.native_tool;
    const text = output ?? '';
    const exit_code = answer.exit_code ?? (tool === SHELL ? exitCodeOf(answer, call) : null);
    const failed = this.#failing.delete(call_id) || isFailedAgent(tool, text);
    const said = failed && answer.status === 'ok' ? 'error' : answer.status;
    const status = statusOf(said, tool, text, exit_code);
    if (status === 'denied' && call) {
      const data = { call_id, decision: 'deny' as const, reason: output, source: null };
      out.push({ kind: 'call_decided', at_ms, data });
    }
    const { duration_ms, native_tool } = answer;
    const data = { call_id, status, exit_code, output, duration_ms };
    out.push({
      kind: 'call_finished',
      at_ms,
      data: native_tool === null ? data : { ...data, native_tool },
    });
    this.#open.delete(call_id);
    if (status === 'error') {
      this.#failed.add(call_id);
      trim(this.#failed);
    }
    if (tool !== null && TASK_TOOLS.has(tool)) {
      this.#finished.set(call_id, tool);
      trim(this.#finished);
    }
    if (status !== 'ok' || !call?.file) return;
    const changed = fileChanged(call.file, text, answer.diff);
    out.push({ kind: 'file_changed', at_ms, data: { ...changed, call_id } });
  }

  /** A background task has ended. A foreground one's call is still open: its own result follows and says more. */
  notify(
    call_id: string | null,
    status: string | null,
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    if (call_id === null || status === 'running' || this.#open.has(call_id)) return;
    if (!this.#finished.delete(call_id)) return;
    const became = status === 'failed' ? 'error' : status === 'cancelled' ? 'cancelled' : null;
    if (became === null) return;
    out.push({ kind: 'call_updated', at_ms, data: { call_id, status: became, exit_code: null } });
  }

  /** The end record's list of refusals names those whose results did not say so; a call that ran was not refused. */
  refused(denials: readonly unknown[], out: Draft[]): void {
    for (const denial of denials) {
      const call_id = idOf(nativeOf(denial)?.tool_use_id);
      if (call_id === null || !this.#failed.delete(call_id)) continue;
      out.push({ kind: 'call_updated', data: { call_id, status: 'denied', exit_code: null } });
    }
  }
}

/** A failure shows the shell's report; a success may show the bare output, which only looks like one by chance. */
function exitCodeOf({ status, report }: Answer, call: Call | undefined): number | null {
  if (report === null) return null;
  if (status !== 'error' && !report.startsWith(`Command: ${call?.command ?? ''}\n`)) return null;
  let code: number | null = null;
  for (const match of report.matchAll(EXIT_CODE)) code = Number(match[1]);
  return code;
}

function isFailedAgent(tool: string | null, text: string): boolean {
  return tool !== null && SUB_AGENTS.has(tool) && text.startsWith(AGENT_FAILED);
}

function statusOf(
  said: CallStatus,
  tool: string | null,
  text: string,
  exit_code: number | null,
): CallStatus {
  if (said === 'ok' || said === 'error') {
    if (tool === SHELL && TIMED_OUT.test(text)) return 'timeout';
    if (ABORTED.test(text) && (said === 'error' || tool === SHELL)) return 'cancelled';
  }
  if (said === 'ok' && exit_code !== null && exit_code !== 0) return 'error';
  return said === 'error' && REFUSED.test(text) ? 'denied' : said;
}
