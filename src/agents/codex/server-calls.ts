/** Calls of the app-server's stream: items with the model's ids, the questions whether they may run, and their output as it comes. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import { callItem } from './items.ts';
import { idOf, listOf, type Native, nameOf, nativeOf, problem, textOf } from './native.ts';
import { fileChanges } from './patch.ts';
import type { Threads } from './threads.ts';

interface To {
  readonly parent: string | null;
  readonly at_ms: number | undefined;
  readonly out: Draft[];
}
type Timed = Omit<To, 'parent'>;

/** Output as it comes, by method: the field that holds it. */
const PROGRESS: ReadonlyMap<string, string> = new Map([
  ['item/commandExecution/outputDelta', 'delta'],
  ['item/fileChange/outputDelta', 'delta'],
  ['item/mcpToolCall/progress', 'message'],
]);
/** Questions of the server whether something may be done, and by which tool. */
const QUESTIONS: ReadonlyMap<string, string | null> = new Map([
  ['item/commandExecution/requestApproval', 'commandExecution'],
  ['item/fileChange/requestApproval', 'fileChange'],
  ['item/permissions/requestApproval', null],
  ['mcpServer/elicitation/request', null],
]);
/** Items that are announced before anybody has allowed them; a command has begun when it has a process. */
const MAY_WAIT: ReadonlySet<unknown> = new Set(['commandExecution', 'fileChange', 'mcpToolCall']);
const SPAWN = 'spawnAgent';
const ALLOWED = /^(?:accept|approved)/;

export class ServerCalls {
  readonly #threads: Threads;
  readonly #open = new Set<string>();
  readonly #asked = new Map<unknown, { call_id: string | null; tool: string | null }>();
  #plans = 0;

  constructor(threads: Threads) {
    this.#threads = threads;
  }

  /** Whether an item is a call. Of a sub-agent only its start is one: the model's call that started it. */
  isCall(item: Native): boolean {
    if (item.type === 'subAgentActivity') return item.kind === 'started';
    return callItem(item.type) !== undefined;
  }

  item(phase: 'started' | 'completed', call_id: string, item: Native, to: To): void {
    const { at_ms, out } = to;
    if (!this.#open.has(call_id) && !this.#request(call_id, item, to)) return;
    this.#link(phase, call_id, item);
    if (phase === 'started') {
      if (this.#open.size < LIMITS.open_calls_max) this.#open.add(call_id);
      if (!MAY_WAIT.has(item.type) || item.processId != null) {
        out.push({ kind: 'call_started', at_ms, data: { call_id } });
      }
      return;
    }
    this.#open.delete(call_id);
    const kind = callItem(item.type);
    if (kind === undefined) return;
    const ended = kind.ended(item);
    out.push({ kind: 'call_finished', at_ms, data: { call_id, ...ended } });
    if (ended.status === 'ok' && kind.changes) {
      fileChanges(kind.changes(item), call_id, at_ms, out);
    }
  }

  #request(call_id: string, item: Native, { parent, at_ms, out }: To): boolean {
    const request = callItem(item.type)?.request(item) ?? null;
    if (request === null) {
      out.push(problem('bad_record', `${nameOf(item.type)} without what it calls`));
      return false;
    }
    const data = { call_id, parent_call_id: parent, ...request };
    out.push({ kind: 'call_requested', at_ms, data });
    return true;
  }

  /** Which call started which thread. */
  #link(phase: 'started' | 'completed', call_id: string, item: Native): void {
    const thread = idOf(item.agentThreadId);
    if (item.type === 'subAgentActivity' && thread !== null) this.#threads.link(thread, call_id);
    if (item.type !== 'collabAgentToolCall' || item.tool !== SPAWN) return;
    this.#threads.spawning(phase === 'started' ? call_id : null);
    for (const id of listOf(item.receiverThreadIds)) {
      if (typeof id === 'string') this.#threads.link(id, call_id);
    }
  }

  /** Every version of the plan is a call of the model, though nothing tells its id. */
  plan(params: Native, at_ms: number | undefined, out: Draft[]): void {
    const { parent } = this.#threads.of(idOf(params.threadId));
    this.#plans += 1;
    const call_id = `plan_${this.#plans}`;
    const input = { items: params.plan ?? [] };
    const request = { call_id, native_tool: 'todo_list', input, parent_call_id: parent };
    out.push({ kind: 'call_requested', at_ms, data: request });
    const ended = { status: 'ok', exit_code: null, output: null } as const;
    out.push({ kind: 'call_finished', at_ms, data: { call_id, ...ended } });
  }

  /** False for a message that is about no call. */
  message(method: string, id: unknown, params: Native, { at_ms, out }: Timed): boolean {
    const call_id = idOf(params.itemId);
    const field = PROGRESS.get(method);
    if (field !== undefined) {
      const text = textOf(params[field]);
      if (text === null || call_id === null) return true;
      const data = { call_id, text, elapsed_ms: null, stream: null };
      out.push({ kind: 'call_progress', at_ms, data });
      return true;
    }
    if (method === 'serverRequest/resolved') {
      this.#asked.delete(params.requestId);
      return true;
    }
    const tool = QUESTIONS.get(method);
    if (tool === undefined) return false;
    if (this.#asked.size < LIMITS.open_calls_max) this.#asked.set(id, { call_id, tool });
    const reason = textOf(params.reason) ?? textOf(params.message);
    const data = { request_id: nameOfId(id), call_id, tool, reason };
    out.push({ kind: 'permission_asked', at_ms, data });
    return true;
  }

  /** A client's answer to a question; false for any other answer: both sides count their requests on their own. */
  answered(id: unknown, result: Native | null, out: Draft[]): boolean {
    const answer = result?.decision ?? result?.action;
    const asked = this.#asked.get(id);
    if (answer === undefined || asked === undefined) return false;
    const { call_id, tool } = asked;
    this.#asked.delete(id);
    const word = textOf(answer) ?? Object.keys(nativeOf(answer) ?? {})[0] ?? '';
    const decision = ALLOWED.test(word) ? ('allow' as const) : ('deny' as const);
    const told = { decision, source: 'host' };
    const data = { request_id: nameOfId(id), call_id, tool, ...told };
    out.push({ kind: 'permission_answered', data });
    if (call_id !== null)
      out.push({ kind: 'call_decided', data: { call_id, reason: null, ...told } });
    return true;
  }
}

function nameOfId(id: unknown): string | null {
  return typeof id === 'number' ? String(id) : idOf(id);
}
