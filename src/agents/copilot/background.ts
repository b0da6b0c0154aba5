/** Work that outlasts its call's result: commands that go on in their shell, and sub-agents in the background. */
import type { Draft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { codeOf, idOf, type Native, nativeOf, textOf, trim } from './native.ts';

/** A call as far as it matters here. */
interface Work {
  readonly native_tool: string;
  readonly input: unknown;
}

const SHELLS: ReadonlySet<string> = new Set(['bash', 'powershell']);
const SHELL_HANDLE = /^(?:read|stop|write)_(?:bash|powershell)$/;
const STILL_RUNS =
  /<command (?:started in background )?with shellId: (\S+?)(?:>| is still running)/;

/** The tool only looks after a command of another call: an exit code in its result is that command's. */
export function handlesShell(work: Work | undefined): boolean {
  return work !== undefined && SHELL_HANDLE.test(work.native_tool);
}

export class Background {
  /** Shells in which a command still runs: the call that started it. */
  readonly #shells = new Map<string, string>();
  /** Calls that started sub-agents and have their result. */
  readonly #agents = new Set<string>();

  /** A call got its result and did not fail. */
  finished(call_id: string, work: Work, result: Native | null): void {
    if (work.native_tool === 'task') {
      this.#agents.add(call_id);
      trim(this.#agents);
    }
    if (!SHELLS.has(work.native_tool)) return;
    const shell = STILL_RUNS.exec(textOf(result?.content) ?? '')?.[1];
    if (shell === undefined) return;
    this.#shells.set(shell, call_id);
    trim(this.#shells);
  }

  /** A call looked after a command: it may tell how that ended, or have ended it. */
  handled(work: Work, data: Native, at_ms: number | undefined, out: Draft[]): void {
    const shell = nativeOf(work.input)?.shellId;
    const exit_code = codeOf(nativeOf(data.shellExecution)?.exitCode);
    const stopped = work.native_tool.startsWith('stop_') && data.success === true;
    if (exit_code !== null) this.#ended(shell, exit_code, at_ms, out);
    else if (stopped) this.#ended(shell, null, at_ms, out);
  }

  /** `system.notification`: a command has ended by itself. */
  notified(kind: Native | null, at_ms: number | undefined, out: Draft[]): void {
    if (kind?.type !== 'shell_completed') return;
    const exit_code = codeOf(kind.exitCode);
    if (exit_code !== null) this.#ended(kind.shellId, exit_code, at_ms, out);
  }

  /** The result of a sub-agent in the background said only that it was started. */
  agentFailed(call_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (call_id === null || !this.#agents.delete(call_id)) return;
    const data = { call_id, status: 'error' as const, exit_code: null };
    out.push({ kind: 'call_updated', at_ms, data });
  }

  /** `exit_code` null: it was stopped. */
  #ended(shell: unknown, exit_code: number | null, at_ms: number | undefined, out: Draft[]): void {
    const id = idOf(shell) ?? '';
    const call_id = this.#shells.get(id);
    if (call_id === undefined) return;
    this.#shells.delete(id);
    const status: CallStatus | null =
      exit_code === null ? 'cancelled' : exit_code === 0 ? null : 'error';
    out.push({ kind: 'call_updated', at_ms, data: { call_id, status, exit_code } });
  }
}
