/** Work that outlives its call's result: commands still running in their shell, and background sub-agents. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { Writer } from '../kit/drafts.ts';
import { codeOf, type Inside, idOf, nativeOf, textOf } from '../kit/native.ts';
import type { Asked, Completed, Data } from './records.ts';

const SHELLS: ReadonlySet<string> = new Set(['bash', 'powershell']);
const SHELL_HANDLE = /^(?:read|stop|write)_(?:bash|powershell)$/;
const STILL_RUNS =
  /<command (?:started in background )?with shellId: ([^\t-\r ]+?)(?:>| is still running)/;

/** Whether the tool handles a command of another call. An exit code in its result then belongs to that command. */
export function handlesShell(call: Asked | undefined): boolean {
  return call !== undefined && SHELL_HANDLE.test(call.native_tool);
}

export class Background extends Writer {
  /** Shells with a running command, and the call that started it. */
  readonly #shells = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** Calls that started sub-agents and already have their result. */
  readonly #agents = new RecentSet<string>(LIMITS.open_calls_max);

  /** A call has a result and did not fail. */
  finished(call_id: string, { native_tool }: Asked, output: unknown): void {
    if (native_tool === 'task') this.#agents.add(call_id);
    if (!SHELLS.has(native_tool)) return;
    const shell = STILL_RUNS.exec(textOf(output) ?? '')?.[1];
    if (shell !== undefined) this.#shells.set(shell, call_id);
  }

  /** A call handled a command: its result may report the command's end, or the call ended it. */
  handled({ native_tool, input }: Asked, data: Completed): void {
    const exit_code = codeOf(nativeOf(data.shellExecution)?.exitCode);
    const stopped = native_tool.startsWith('stop_') && data.success === true;
    if (exit_code !== null || stopped) this.#ended(nativeOf(input)?.shellId, exit_code);
  }

  /** `system.notification`: a command exited on its own. */
  notified(kind: Inside<Data<'system.notification'>['kind']> | null): void {
    if (kind?.type !== 'shell_completed') return;
    const exit_code = codeOf(kind.exitCode);
    if (exit_code !== null) this.#ended(kind.shellId, exit_code);
  }

  /** The result of a background sub-agent only reports that it was started. */
  agentFailed(call_id: string | null): void {
    if (call_id !== null && this.#agents.delete(call_id)) this.to.updated(call_id, 'error');
  }

  /** `exit_code` null: the command was stopped. */
  #ended(shell: unknown, exit_code: number | null): void {
    const id = idOf(shell) ?? '';
    const call_id = this.#shells.get(id);
    if (call_id === undefined) return;
    this.#shells.delete(id);
    const failed = exit_code === 0 ? null : 'error';
    this.to.updated(call_id, exit_code === null ? 'cancelled' : failed, exit_code);
  }
}
