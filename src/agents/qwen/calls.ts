/** Tool calls and their results. Shared by stdout and session files. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { CallStatus } from '../../model/words.ts';
import { Writer } from '../kit/drafts.ts';
import { idOf, listOf, nativeOf, textOf } from '../kit/native.ts';
import { SubAgents } from '../kit/sub-agents.ts';

/** The effect of a call on a file if it succeeds. */
interface FileCall {
  readonly path: string;
  /** An edit of an empty text creates a file; null: the result decides. */
  readonly creates: boolean | null;
}

interface Call {
  readonly tool: string;
  /** The command of a shell call. */
  readonly command: string | null;
  readonly file: FileCall | null;
}

export interface Answer {
  readonly call_id: string;
  readonly output: string | null;
  /** The text sent to the model, which may contain the shell's report. */
  readonly report: string | null;
  /** Status from the record itself; the text of a failure may say more. */
  readonly status: CallStatus;
  /** Set if a field holds it, outside the text. */
  readonly exit_code?: number | null;
  readonly duration_ms?: number | null;
  readonly diff?: string | null;
  /** Set if the result is the first to name the tool. */
  readonly native_tool?: string | null;
}

const SHELL = 'run_shell_command';
const FILE_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit', 'replace', 'notebook_edit']);
const OVERWRITTEN = /^Successfully overwrote /;
const SUB_AGENTS: ReadonlySet<unknown> = new Set(['agent', 'task']);
/** Tools with work that may outlive their result. */
const TASK_TOOLS: ReadonlySet<unknown> = new Set([SHELL, 'agent', 'task', 'monitor']);
/** The end of a shell's report, after the command's own output. */
const EXIT_CODE = /\nExit Code: (-?\d{1,9})\nSignal: [^\n]*(?:\n|$)/g;
const TIMED_OUT = /^Command timed out after \d+ ?ms before it could complete/;
const ABORTED =
  /^(?:\[Operation Cancelled\]|Command was cancelled by user before it could complete|Skipped because the provider attempt was retried)/;
/** A sub-agent that failed without a message. The result's record reports success. */
const AGENT_FAILED = 'Subagent execution failed.';
/** The text of a refusal by mode or rule in every version. A hook's refusal has the hook's own text. */
const REFUSED =
  /^(?:Qwen Code requires permission to use [^\r\n]+, but that permission was declined|"[^"]+" is not listed in the active core tools allowlist)/;

export class Calls extends Writer {
  readonly open = new RecentMap<string, Call>(LIMITS.open_calls_max);
  readonly seen = new RecentSet<string>(LIMITS.open_calls_max);
  /** Calls with a result that may continue in the background. */
  readonly #finished = new RecentSet<string>(LIMITS.open_calls_max);
  /** Failed calls. The end record names those that were refused. */
  readonly #failed = new RecentSet<string>(LIMITS.open_calls_max);
  /** Calls with a failed sub-agent. Their results report success. */
  readonly #failing = new Set<string>();
  readonly sub_agents = new SubAgents();
  /** The call that started the latest sub-agent. */
  sub_agent: string | null = null;

  request({ id, name, input }: { id?: unknown; name?: unknown; input?: unknown }): void {
    const call = this.to.callIn(id, name, 'call without id or name');
    if (call === null) return;
    const { call_id, native_tool } = call;
    const fields = nativeOf(input);
    const command = native_tool === SHELL ? textOf(fields?.command) : null;
    this.open.set(call_id, { tool: native_tool, command, file: fileCallOf(native_tool, input) });
    this.seen.add(call_id);
    if (SUB_AGENTS.has(native_tool)) {
      this.sub_agent = call_id;
      this.sub_agents.ask(textOf(fields?.prompt), call_id);
    }
    this.to.requested(call_id, native_tool, input ?? {});
  }

  /** A sub-agent failed. If several run, nothing shows which one. False: none runs. */
  failAgent(): boolean {
    const agents = [...this.open].filter(([, call]) => SUB_AGENTS.has(call.tool));
    const [call_id] = agents[0] ?? [];
    if (call_id === undefined) return false;
    if (agents.length === 1) this.#failing.add(call_id);
    return true;
  }

  finish(answer: Answer): void {
    const { call_id, output, duration_ms = null, native_tool = null, diff = null } = answer;
    const call = this.open.get(call_id);
    const tool = call?.tool ?? native_tool;
    const text = output ?? '';
    const exit_code = answer.exit_code ?? (tool === SHELL ? exitCodeOf(answer, call) : null);
    const silent = SUB_AGENTS.has(tool) && text.startsWith(AGENT_FAILED);
    const failed = this.#failing.delete(call_id) || silent;
    const said = failed && answer.status === 'ok' ? 'error' : answer.status;
    const status = statusOf(said, tool, text, exit_code);
    if (status === 'denied' && call) this.to.decided(call_id, 'deny', output, null);
    const named = native_tool === null ? {} : { native_tool };
    this.to.finished({ call_id, status, exit_code, output, duration_ms, ...named });
    this.open.delete(call_id);
    if (status === 'error') this.#failed.add(call_id);
    if (TASK_TOOLS.has(tool)) this.#finished.add(call_id);
    if (status !== 'ok' || !call?.file) return;
    // Only the result's text shows whether the file existed.
    const { path, creates } = call.file;
    const operation = (creates ?? !OVERWRITTEN.test(text)) ? 'created' : 'modified';
    this.to.put('file_changed', { path, operation, source: 'tool', diff, size: null, call_id });
  }

  /** A call that was only assumed. */
  forget(call_id: string): void {
    this.open.delete(call_id);
    this.seen.delete(call_id);
    this.#finished.delete(call_id);
    this.#failed.delete(call_id);
  }

  /** A background task ended. A foreground call is still open: its own result follows and says more. */
  notify(call_id: string | null, status: string | null): void {
    if (call_id === null || status === 'running' || this.open.has(call_id)) return;
    if (!this.#finished.delete(call_id)) return;
    if (status === 'failed') this.to.updated(call_id, 'error');
    if (status === 'cancelled') this.to.updated(call_id, 'cancelled');
  }

  /** The end record's list of refused calls. It also names calls that ran; only failed ones count. */
  refused(denials: unknown): void {
    for (const denial of listOf(denials)) {
      const call_id = idOf(nativeOf(denial)?.tool_use_id);
      if (call_id !== null && this.#failed.delete(call_id)) this.to.updated(call_id, 'denied');
    }
  }
}

function fileCallOf(native_tool: string, input: unknown): FileCall | null {
  const fields = FILE_TOOLS.has(native_tool) ? nativeOf(input) : null;
  const path = textOf(fields?.file_path) ?? textOf(fields?.notebook_path);
  if (path === null) return null;
  return { path, creates: native_tool === 'write_file' ? null : fields?.old_string === '' };
}

/** A failure shows the shell's report. A success may show the bare output, which can look like one by accident. */
function exitCodeOf({ status, report }: Answer, call: Call | undefined): number | null {
  if (report === null) return null;
  if (status !== 'error' && !report.startsWith(`Command: ${call?.command ?? ''}\n`)) return null;
  let code: number | null = null;
  for (const match of report.matchAll(EXIT_CODE)) code = Number(match[1]);
  return code;
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
