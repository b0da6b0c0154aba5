/** Tool calls. A call begins to run once nobody refused it: the CLI says `execution_start` before it asks for permission. */
import type { Draft } from '../../model/draft.ts';
import type { CallStatus, Decision } from '../../model/words.ts';
import { Background, handlesShell } from './background.ts';
import { filesChanged, patchInput } from './files.ts';
import { codeOf, idOf, type Native, nativeOf, problem, textOf, trim } from './native.ts';

interface Call {
  readonly native_tool: string;
  readonly input: unknown;
  /** When the CLI took it up; null: it has not yet. */
  taken_ms: number | null;
  started: boolean;
  decided: boolean;
}

const REFUSALS: ReadonlySet<unknown> = new Set(['denied', 'rejected']);
const CANCELS: ReadonlySet<unknown> = new Set(['aborted', 'cancelled', 'canceled', 'interrupted']);

export class Calls {
  readonly background = new Background();
  readonly #open = new Map<string, Call>();
  /** Calls that the CLI or the user made, not the model. */
  readonly #foreign = new Set<string>();
  /** Skills loaded by calls, until the session file's own word on them comes. */
  readonly #skills = new Set<string>();

  /** `request`: `{toolCallId, name|toolName, arguments, mcpServerName, mcpToolName}` of a message or of a start record. */
  request(request: Native, parent: string | null, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(request.toolCallId);
    const native_tool = idOf(request.name) ?? idOf(request.toolName);
    if (call_id === null || native_tool === null) {
      out.push(problem('bad_record', 'a tool request without id or name'));
      return;
    }
    const given = request.arguments ?? {};
    const patched = native_tool === 'apply_patch' && typeof given === 'string';
    const input = patched ? patchInput(given) : given;
    if (!this.#open.has(call_id)) {
      const news = { taken_ms: null, started: false, decided: false };
      this.#open.set(call_id, { native_tool, input, ...news });
      trim(this.#open);
      this.#foreign.delete(call_id);
    }
    const server = idOf(request.mcpServerName);
    const tool = idOf(request.mcpToolName);
    const mcp = server !== null && tool !== null ? { mcp: { server, tool } } : {};
    const data = { call_id, native_tool, input, parent_call_id: parent, ...mcp };
    out.push({ kind: 'call_requested', at_ms, data });
  }

  /** A call that is not the model's: its records give nothing more. */
  foreign(request: Native, at_ms: number | undefined, out: Draft[]): void {
    const call_id = idOf(request.toolCallId);
    if (call_id === null || this.#foreign.has(call_id)) return;
    this.#foreign.add(call_id);
    trim(this.#foreign);
    const text = idOf(request.name) ?? idOf(request.toolName);
    out.push({ kind: 'notice', at_ms, data: { code: 'call_not_by_model', text } });
  }

  isForeign(call_id: string): boolean {
    return this.#foreign.has(call_id);
  }

  isOpen(call_id: string): boolean {
    return this.#open.has(call_id);
  }

  hasOpen(): boolean {
    return this.#open.size > 0;
  }

  take(call_id: string, at_ms: number | undefined): void {
    const call = this.#open.get(call_id);
    if (call) call.taken_ms ??= at_ms ?? null;
  }

  /** Something shows that the call runs. */
  runs(call_id: string, at_ms: number | undefined, out: Draft[]): void {
    const call = this.#open.get(call_id);
    if (call === undefined || call.started) return;
    call.started = true;
    out.push({ kind: 'call_started', at_ms: call.taken_ms ?? at_ms, data: { call_id } });
  }

  progress(call_id: string, data: Native, at_ms: number | undefined, out: Draft[]): void {
    if (!this.#open.has(call_id)) return;
    this.runs(call_id, at_ms, out);
    const text = textOf(data.text) ?? textOf(data.progressMessage);
    if (text === null) return;
    const stream = textOf(data.stream);
    out.push({ kind: 'call_progress', at_ms, data: { call_id, text, elapsed_ms: null, stream } });
  }

  decide(
    call_id: string,
    decision: Decision,
    why: { reason: string | null; source: string | null; at_ms: number | undefined },
    out: Draft[],
  ): void {
    const call = this.#open.get(call_id);
    if (call === undefined || call.decided) return;
    call.decided = true;
    const data = { call_id, decision, reason: why.reason, source: why.source };
    out.push({ kind: 'call_decided', at_ms: why.at_ms, data });
  }

  asked(data: Native, at_ms: number | undefined, out: Draft[]): void {
    const request = nativeOf(data.permissionRequest);
    const reason = textOf(request?.intention) ?? textOf(request?.kind);
    const about = this.#about(data, idOf(data.toolCallId) ?? idOf(request?.toolCallId));
    out.push({ kind: 'permission_asked', at_ms, data: { ...about, reason } });
  }

  answered(data: Native, at_ms: number | undefined, out: Draft[]): void {
    const result = nativeOf(data.result);
    const kind = textOf(result?.kind) ?? '';
    const allowed = kind.startsWith('approve');
    // Any other word is no decision: the question goes on elsewhere.
    if (!allowed && !/^(?:denied|reject)/.test(kind)) return;
    const decision = allowed ? 'allow' : 'deny';
    const source = textOf(data.decisionSource);
    const about = this.#about(data, idOf(data.toolCallId));
    out.push({ kind: 'permission_answered', at_ms, data: { ...about, decision, source } });
    const why = { reason: textOf(result?.feedback) ?? kind, source, at_ms };
    if (about.call_id !== null) this.decide(about.call_id, decision, why, out);
  }

  #about(data: Native, call_id: string | null) {
    const tool = call_id === null ? null : (this.#open.get(call_id)?.native_tool ?? null);
    return { request_id: idOf(data.requestId), call_id, tool };
  }

  finish(call_id: string, data: Native, at_ms: number | undefined, out: Draft[]): void {
    if (this.#foreign.has(call_id)) return;
    const call = this.#open.get(call_id);
    const result = nativeOf(data.result);
    const error = nativeOf(data.error);
    const code = codeOf(nativeOf(data.shellExecution)?.exitCode);
    const exit_code = handlesShell(call) ? null : code;
    const status = statusOf(data.success, error, exit_code);
    const reason = textOf(error?.message);
    if (status === 'denied') this.decide(call_id, 'deny', { reason, source: null, at_ms }, out);
    else this.runs(call_id, at_ms, out);
    const taken_ms = call?.taken_ms ?? null;
    const known = taken_ms !== null && at_ms !== undefined;
    const duration_ms = known ? Math.max(0, at_ms - taken_ms) : null;
    const output = textOf(result?.content) ?? reason;
    const end = { call_id, status, exit_code, output, duration_ms };
    out.push({ kind: 'call_finished', at_ms, data: end });
    if (call === undefined) return;
    this.#open.delete(call_id);
    if (handlesShell(call)) this.background.handled(call, data, at_ms, out);
    if (status !== 'ok') return;
    this.background.finished(call_id, call, result);
    for (const change of filesChanged(call, data.fileEdits, result)) {
      out.push({ kind: 'file_changed', at_ms, data: { ...change, call_id } });
    }
    const skill = call.native_tool === 'skill' ? idOf(nativeOf(call.input)?.skill) : null;
    if (skill !== null) this.#skills.add(skill);
    trim(this.#skills);
  }

  /** The CLI's own word that a skill was loaded; one that a call loaded is that call's use. */
  skillInvoked(skill: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (skill === null || this.#skills.delete(skill)) return;
    out.push({ kind: 'skill_used', at_ms, data: { skill, call_id: null } });
  }

  /** The process ended: what is open will never be answered, though its id may come again. */
  abandon(at_ms: number | undefined, out: Draft[]): void {
    for (const call_id of this.#open.keys()) {
      const data = { call_id, status: 'cancelled' as const, exit_code: null, output: null };
      out.push({ kind: 'call_finished', at_ms, data });
    }
    this.#open.clear();
  }
}

/** `success` is the tool's: a command that failed is a success with an exit code. */
function statusOf(success: unknown, error: Native | null, exit_code: number | null): CallStatus {
  if (success === true) return exit_code !== null && exit_code !== 0 ? 'error' : 'ok';
  if (REFUSALS.has(error?.code)) return 'denied';
  if (CANCELS.has(error?.code)) return 'cancelled';
  if (error?.code === 'timeout') return 'timeout';
  return success === false || error !== null ? 'error' : 'unknown';
}
