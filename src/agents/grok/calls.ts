/** Tool calls, from request to result. Shared by stdout and session files, where updates have the same fields. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { Writer } from '../kit/drafts.ts';
import { idOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import { SubAgents } from '../kit/sub-agents.ts';
import type { Update } from './native.ts';
import { changeOf, endOf, textIn } from './results.ts';

interface Call {
  readonly tool: string;
  readonly input: Open | null;
  readonly parent: string | null;
  /** Blocks the model until its sub-agent ends. */
  readonly task: boolean;
  started: boolean;
  /** Output shown so far. Updates repeat it. */
  shown: string;
}

const TASK = 'spawn_subagent';
/** `<server>__<tool>`, called through a tool that takes the name and the input. */
const MCP_TOOL = 'use_tool';
const MCP_NAME = /^([A-Za-z0-9_-]+?)__([^\n]+)$/;

export class Calls extends Writer {
  readonly #open = new RecentMap<string, Call>(LIMITS.open_calls_max);
  readonly sub_agents = new SubAgents();
  /** Whether the last call of the root agent that ended was refused by the user. */
  refused: string | null = null;

  /** Open calls of the root agent that wait for a sub-agent. */
  get tasks(): string[] {
    return [...this.#open].filter(([, { task }]) => task).map(([call_id]) => call_id);
  }

  request(update: Update, name: unknown): void {
    const call = this.to.callIn(update.toolCallId, name, 'tool_call without id or name');
    if (call === null || this.#open.has(call.call_id)) return;
    const { call_id, native_tool: tool } = call;
    const given = nativeOf(update.rawInput);
    const mcp = tool === MCP_TOOL ? mcpOf(given) : null;
    const input = mcp === null ? given : (nativeOf(given?.tool_input) ?? {});
    const { parent } = this.to;
    const task = tool === TASK && given?.background === false && this.to.root;
    this.#open.set(call_id, { tool, input, parent, task, started: false, shown: '' });
    if (tool === TASK) this.sub_agents.ask(textOf(given?.prompt), call_id);
    this.to.requested(call_id, tool, input ?? {}, mcp === null ? null : { mcp });
    this.refused = null;
  }

  update(update: Update): void {
    const call_id = this.to.need(idOf(update.toolCallId), 'tool_call_update without id');
    const call = call_id === null ? undefined : this.#open.get(call_id);
    // Background commands are updated after their call has ended.
    if (call_id === null || call === undefined) return;
    if (update.status === 'in_progress') this.#progress(call_id, call, update);
    const end = endOf(update);
    if (end === null) return;
    const { refused_by, ...rest } = end;
    this.#open.delete(call_id);
    if (refused_by !== null) this.to.decided(call_id, 'deny', end.output, refused_by);
    if (refused_by === 'user' && call.parent === null) this.refused = end.output;
    this.to.finished({ call_id, ...rest });
    const change = end.status === 'ok' ? changeOf(call.input, update) : null;
    if (change !== null) this.to.put('file_changed', { ...change, source: 'tool', call_id });
  }

  /** A command that runs. Each update repeats its output; only the new part is shown. */
  #progress(call_id: string, call: Call, update: Update): void {
    if (!call.started) this.to.put('call_started', { call_id });
    call.started = true;
    const text = textIn(update.content);
    if (text === null || text === '' || text === call.shown) return;
    const news = text.startsWith(call.shown) ? text.slice(call.shown.length) : null;
    call.shown = text;
    this.to.progress(call_id, news);
  }
}

function mcpOf(input: Open | null): { server: string; tool: string } | null {
  const [, server, tool] = MCP_NAME.exec(textOf(input?.tool_name) ?? '') ?? [];
  return server === undefined || tool === undefined ? null : { server, tool };
}
