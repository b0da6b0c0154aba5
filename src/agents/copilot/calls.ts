/** Tool calls. `execution_start` comes before the permission request, so a call starts at its first sign of work. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { CallStatus, Decision } from '../../model/words.ts';
import { Writer } from '../kit/drafts.ts';
import { codeOf, type Inside, idOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { Background, handlesShell } from './background.ts';
import { filesChanged, patchInput } from './files.ts';
import type { Asked, Completed, Data } from './records.ts';

interface Call extends Asked {
  /** When the CLI accepted the call; null: not yet. */
  taken_ms: number | null;
  started: boolean;
  decided: boolean;
}
/** A request in a message. The start record has most of its fields too. */
type Request = Inside<Data<'assistant.message'>['toolRequests']>;

const REFUSALS: ReadonlySet<unknown> = new Set(['denied', 'rejected']);
const CANCELS: ReadonlySet<unknown> = new Set(['aborted', 'cancelled', 'canceled', 'interrupted']);

export class Calls extends Writer {
  readonly background = new Background(this.to);
  readonly open = new RecentMap<string, Call>(LIMITS.open_calls_max);
  /** Calls that the CLI or the user made, not the model. */
  readonly #foreign = new RecentSet<string>(LIMITS.open_calls_max);
  /** Skills loaded by calls, until the session file's own record of them follows. */
  readonly #skills = new RecentSet<string>(LIMITS.open_calls_max);
  /** The call that started each sub-agent, by agent id. */
  readonly #agents = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** The speaking sub-agent, and the call that started it; null for the root agent, or if unknown. */
  #agent: string | null = null;
  #parent: string | null = null;
  /** Records of this version name their model and turn; records of the CLI's own calls do not. */
  #attributed = false;

  /** Sets the speaker. An agent of an unknown call speaks by its id, so that its text is not the root agent's. */
  speaker(record: Open): void {
    this.#agent = idOf(record.agentId);
    const named = idOf(nativeOf(record.data)?.parentToolCallId);
    this.#parent = named ?? this.#agents.get(this.#agent ?? '') ?? null;
    this.to.speak(this.#parent ?? this.#agent);
  }

  subAgent(call_id: string | null): void {
    this.runs(call_id);
    if (call_id !== null && this.#agent !== null) this.#agents.set(this.#agent, call_id);
  }

  request(request: Request): void {
    const detail = 'a tool request without id or name';
    const call = this.to.callIn(request.toolCallId, nameOf(request), detail);
    if (call === null) return;
    const { call_id, native_tool } = call;
    const given = request.arguments ?? {};
    const patched = native_tool === 'apply_patch' && typeof given === 'string';
    const input = patched ? patchInput(given) : given;
    if (!this.open.has(call_id)) {
      const news = { taken_ms: null, started: false, decided: false };
      this.open.set(call_id, { native_tool, input, ...news });
      this.#foreign.delete(call_id);
    }
    const server = idOf(request.mcpServerName);
    const tool = idOf(request.mcpToolName);
    const mcp = server !== null && tool !== null ? { mcp: { server, tool } } : {};
    this.to.requested(call_id, native_tool, input, { parent_call_id: this.#parent, ...mcp });
  }

  /** A call that the model did not make. Its other records are ignored. */
  foreign(request: Request): void {
    const call_id = idOf(request.toolCallId);
    if (call_id === null || this.#foreign.has(call_id)) return;
    this.#foreign.add(call_id);
    this.to.notice('call_not_by_model', nameOf(request));
  }

  /** The CLI mixes its own calls with the model's. They belong to no turn and no model. */
  isCliOwn({ model, turnId }: { model?: unknown; turnId?: unknown }): boolean {
    const own = model === undefined && turnId === undefined;
    if (!own) this.#attributed = true;
    return own && this.#attributed;
  }

  take(data: Data<'tool.execution_start'>): void {
    const call_id = this.to.need(idOf(data.toolCallId), 'tool.execution_start without toolCallId');
    if (call_id === null) return;
    if (!this.open.has(call_id)) {
      if (this.#foreign.has(call_id)) return;
      if (this.isCliOwn(data)) this.foreign(data);
      else this.request(data);
    }
    const call = this.open.get(call_id);
    if (call) call.taken_ms ??= this.to.at_ms ?? null;
  }

  /** A record shows that the call runs. */
  runs(call_id: string | null): void {
    const call = call_id === null ? undefined : this.open.get(call_id);
    if (call_id === null || call === undefined || call.started) return;
    call.started = true;
    this.to.put('call_started', { call_id }, call.taken_ms ?? undefined);
  }

  progress(id: unknown, said: unknown, stream: unknown): void {
    const call_id = idOf(id);
    if (call_id === null || !this.open.has(call_id)) return;
    this.runs(call_id);
    const text = textOf(said);
    if (text === null) return;
    const data = { call_id, text, elapsed_ms: null, stream: textOf(stream) };
    this.to.put('call_progress', data);
  }

  #decide(call_id: string, decision: Decision, reason: string | null, source: string | null): void {
    const call = this.open.get(call_id);
    if (call === undefined || call.decided) return;
    call.decided = true;
    this.to.decided(call_id, decision, reason, source);
  }

  asked(data: Data<'permission.requested'>): void {
    const request = nativeOf(data.permissionRequest);
    const reason = textOf(request?.intention) ?? textOf(request?.kind);
    const about = this.#about(data.requestId, idOf(data.toolCallId) ?? idOf(request?.toolCallId));
    this.to.put('permission_asked', { ...about, reason });
  }

  answered(data: Data<'permission.completed'>): void {
    const result = nativeOf(data.result);
    const kind = textOf(result?.kind) ?? '';
    const allowed = kind.startsWith('approve');
    // Any other word is not a decision: somebody else is asked.
    if (!allowed && !/^(?:denied|reject)/.test(kind)) return;
    const decision = allowed ? 'allow' : 'deny';
    const source = textOf(data.decisionSource);
    const about = this.#about(data.requestId, idOf(data.toolCallId));
    this.to.put('permission_answered', { ...about, decision, source });
    if (about.call_id === null) return;
    this.#decide(about.call_id, decision, textOf(result?.feedback) ?? kind, source);
  }

  #about(requestId: unknown, call_id: string | null) {
    const tool = this.open.get(call_id ?? '')?.native_tool ?? null;
    return { request_id: idOf(requestId), call_id, tool };
  }

  finish(data: Completed): void {
    const call_id = idOf(data.toolCallId);
    if (call_id === null) this.to.bad('tool.execution_complete without toolCallId');
    if (call_id === null || this.#foreign.has(call_id)) return;
    const call = this.open.get(call_id);
    const { at_ms } = this.to;
    const handles = handlesShell(call);
    const exit_code = handles ? null : codeOf(nativeOf(data.shellExecution)?.exitCode);
    const status = statusOf(data, exit_code);
    const reason = textOf(nativeOf(data.error)?.message);
    if (status === 'denied') this.#decide(call_id, 'deny', reason, null);
    else this.runs(call_id);
    const taken_ms = call?.taken_ms ?? null;
    const known = taken_ms !== null && at_ms !== undefined;
    const duration_ms = known ? Math.max(0, at_ms - taken_ms) : null;
    const output = textOf(nativeOf(data.result)?.content) ?? reason;
    this.to.finished({ call_id, status, exit_code, output, duration_ms });
    if (call === undefined) return;
    this.open.delete(call_id);
    if (handles) this.background.handled(call, data);
    if (status === 'ok') this.#succeeded(call_id, call, data);
  }

  #succeeded(call_id: string, call: Call, data: Completed): void {
    this.background.finished(call_id, call, nativeOf(data.result)?.content);
    for (const change of filesChanged(call, data)) {
      this.to.put('file_changed', { ...change, call_id });
    }
    const skill = call.native_tool === 'skill' ? idOf(nativeOf(call.input)?.skill) : null;
    if (skill !== null) this.#skills.add(skill);
  }

  /** The CLI's own record of a loaded skill. A skill loaded by a call is not counted again. */
  skillInvoked(skill: string | null): void {
    if (skill === null || this.#skills.delete(skill)) return;
    this.to.put('skill_used', { skill, call_id: null });
  }

  /** The process ended: open calls will never be answered, and their ids may recur. */
  abandon(): void {
    for (const call_id of this.open.keys()) {
      this.to.finished({ call_id, status: 'cancelled', exit_code: null, output: null });
    }
    this.open.clear();
  }
}

function nameOf(request: Request): string | null {
  return idOf(request.name) ?? idOf(request.toolName);
}

/** `success` refers to the tool: a failed command is a success with an exit code. */
function statusOf(data: Completed, exit_code: number | null): CallStatus {
  if (data.success === true) return exit_code !== null && exit_code !== 0 ? 'error' : 'ok';
  const error = nativeOf(data.error);
  if (REFUSALS.has(error?.code)) return 'denied';
  if (CANCELS.has(error?.code)) return 'cancelled';
  if (error?.code === 'timeout') return 'timeout';
  return data.success === false || error !== null ? 'error' : 'unknown';
}
