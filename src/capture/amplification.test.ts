/** Short input must not become a large record: for each agent, ways to make it repeat a long value. */

import { expect, test } from 'vitest';
import { findAgent } from '../agents/registry.ts';
import type { Agent } from '../model/agent.ts';
import type { Event } from '../model/event.ts';
import { Pipeline } from './pipeline.ts';
import { recordedRun } from './run-info.ts';

const KB = 1024;
const TIMES = 400;

/** Names that an agent chooses. The records after the first ones are short. */
interface Names {
  tool: string;
  message: string;
  model: string;
  mode: string;
  tools: readonly string[];
  /** Items of a list that should contain records. */
  junk: readonly unknown[];
}

const anthropic = ({ tool, message, model, mode, tools, junk }: Names) => [
  { type: 'system', subtype: 'init', tools, model, permissionMode: mode, permission_mode: mode },
  { type: 'stream_event', event: { type: 'message_start', message: { id: message, model } } },
  ...times({
    type: 'stream_event',
    event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
  }),
  {
    type: 'assistant',
    message: { id: 'm', model, content: [{ type: 'tool_use', id: 't', name: tool }, ...junk] },
  },
  ...times({ type: 'tool_progress', tool_use_id: 't', elapsed_time_seconds: 1 }),
  ...times((n) => ({
    type: 'assistant',
    message: { id: `n${n}`, content: [{ type: 'text', text: 'x' }] },
  })),
  { type: 'result', subtype: 'success', result: 'x', permission_denials: junk },
];

const STREAMS: Record<string, (names: Names) => readonly unknown[]> = {
  claude: anthropic,
  qwen: anthropic,
  codex: ({ tool, message, junk }) => [
    { type: 'thread.started', thread_id: message },
    {
      type: 'item.started',
      item: { type: 'mcp_tool_call', id: 'i', server: 's', tool, changes: junk },
    },
    ...times({ type: 'item.updated', item: { type: 'mcp_tool_call', id: 'i' } }),
    ...times({ type: 'turn.started' }),
    { type: 'item.completed', item: { type: 'file_change', id: 'f', changes: junk } },
  ],
  copilot: ({ tool, message, model, junk }) => [
    { type: 'session.start', data: { sessionId: message, selectedModel: model } },
    {
      type: 'assistant.message',
      data: { messageId: message, model, toolRequests: [{ toolCallId: 't', name: tool }, ...junk] },
    },
    { type: 'tool.execution_start', data: { toolCallId: 't', toolName: tool } },
    ...times({
      type: 'tool.execution_partial_result',
      data: { toolCallId: 't', partialOutput: 'x' },
    }),
    ...times({ type: 'assistant.turn_start', data: {} }),
    { type: 'abort', data: { toolCallIds: junk } },
  ],
  gemini: ({ tool, message, model }) => [
    { type: 'init', session_id: message, model },
    { type: 'tool_use', tool_name: tool, tool_id: 't', parameters: {} },
    ...times({ type: 'message', role: 'assistant', content: 'x', delta: true }),
    { type: 'tool_result', tool_id: 't', status: 'success' },
  ],
  opencode: ({ tool, message, junk }) => [
    { type: 'step_start', sessionID: message, part: { id: 'p', messageID: message } },
    ...times((n) => ({
      type: 'text',
      part: { id: `p${n}`, type: 'text', text: 'x', time: { end: 1 } },
    })),
    { type: 'tool_use', part: { type: 'tool', tool, callID: 't', state: { status: 'completed' } } },
    junk,
  ],
  pi: ({ tool, message, model, junk }) => [
    { type: 'session', version: 3, id: message },
    { type: 'tool_execution_start', toolCallId: 't', toolName: tool, args: {} },
    ...times((n) => ({
      type: 'tool_execution_update',
      toolCallId: 't',
      partialResult: { content: [{ type: 'text', text: 'x'.repeat(n) }] },
    })),
    {
      type: 'message_end',
      message: { role: 'assistant', id: message, model, content: junk },
    },
    { type: 'turn_end', toolResults: junk },
  ],
  acp: ({ tool, message, mode, junk }) =>
    [
      {
        sessionUpdate: 'tool_call',
        toolCallId: 't',
        name: tool,
        rawInput: { x: 1 },
        status: 'pending',
      },
      { sessionUpdate: 'current_mode_update', currentModeId: mode, messageId: message },
      ...times({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'in_progress' }),
      ...times({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' } }),
      { sessionUpdate: 'plan', entries: junk },
    ].map((update) => ({
      dir: 'agent->client',
      msg: { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } },
    })),
  demo: ({ tool, message, model, mode, tools, junk }) => [
    { t: 'hello', session: message, model, approve: mode, tools },
    { t: 'call', id: 't', tool },
    ...times({ t: 'call_output', call: 't', text: 'x' }),
    ...times({ t: 'turn', id: 't' }),
    junk,
  ],
};

function times(record: object | ((n: number) => object)): object[] {
  return Array.from({ length: TIMES }, (_, n) =>
    typeof record === 'function' ? record(n) : record,
  );
}

function recorded(agent: Agent, stream: Buffer): Event[] {
  const info = recordedRun('r_test', agent.id, { started_ms: 1 });
  const pipeline = new Pipeline({ agent, primary: 'stdout', now: () => 1, info });
  return [
    ...pipeline.push('stdout', stream),
    ...pipeline.endOfInput('stdout'),
    ...pipeline.finish(),
  ];
}

const LONG = 'a b '.repeat(50 * KB);
const SHORT: Names = { tool: 'x', message: 'm', model: 'm', mode: 'm', tools: [], junk: [] };
const CASES: Record<string, Partial<Names>> = {
  'a list of junk': { junk: Array.from({ length: 100 * KB }, () => 1) },
  'a long name of a tool': { tool: LONG },
  'a long id': { message: LONG },
  'a long model': { model: LONG },
  'a long mode': { mode: LONG },
  'many tools': { tools: Array.from({ length: 15_000 }, (_, n) => `tool ${n}`) },
  'many tools with short names': { tools: Array.from({ length: 50_000 }, () => 'x') },
  'one tool with a long name': { tools: [LONG] },
};

for (const name of Object.keys(STREAMS))
  test(`${name}: no long value multiplies`, async () => {
    const agent = (await findAgent(name)) as Agent;
    for (const [what, long] of Object.entries(CASES)) {
      const records = STREAMS[name]?.({ ...SHORT, ...long }) ?? [];
      const input = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      const events = recorded(agent, input);
      const bytes = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
      expect(bytes, what).toBeLessThan(20 * input.length + 1024 * KB);
      expect(events.length, what).toBeGreaterThan(TIMES / 4);
    }
  });
