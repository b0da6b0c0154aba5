import { expect, test } from 'vitest';
import { findAgent } from '../../src/agents/registry.ts';
import { SCENARIOS } from '../scenarios.ts';
import type { Turn } from '../server/scenario.ts';
import type { NativeCall } from './agent.ts';
import { copilot } from './copilot.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { qwen } from './qwen.ts';

function callsIn(turns: readonly Turn[]): NativeCall[] {
  return turns.flatMap((turn) =>
    'error' in turn ? [] : turn.flatMap((step) => ('tool' in step ? [step] : [])),
  );
}

const CALLS = SCENARIOS.flatMap(({ script }) => [
  ...callsIn(script.turns),
  ...(script.agents ?? []).flatMap(({ turns }) => callsIn(turns)),
]).filter(({ tool }) => !tool.startsWith('mcp__'));

test.each([copilot, opencode, qwen, pi])(
  "$id: the model's tools are those of the agent's table",
  async (agent) => {
    const rows = (await findAgent(agent.id))?.tools.rows ?? [];
    const others: Record<string, string> = agent === pi ? { Skill: 'Read', Task: 'Task' } : {};
    for (const call of CALLS) {
      const native = agent.native(call).tool;
      const found = rows.find((row) => row.native === native)?.tool ?? native;
      expect([call.tool, found]).toEqual([call.tool, others[call.tool] ?? call.tool]);
    }
  },
);

test('the input of a tool is in its native fields', () => {
  const file_path = '{{WORK}}/a.txt';
  const calls = [
    { tool: 'Read', input: { file_path } },
    { tool: 'Write', input: { file_path, content: 'x' } },
    { tool: 'Edit', input: { file_path, old_string: 'x', new_string: 'y' } },
    { tool: 'Bash', input: { command: 'true', description: 'Run it' } },
    { tool: 'mcp__toybox__add_numbers', input: { a: 1, b: 2 } },
  ];
  const path = file_path;
  expect(calls.map((call) => copilot.native(call))).toEqual([
    { tool: 'view', input: { path } },
    { tool: 'create', input: { path, file_text: 'x' } },
    { tool: 'edit', input: { path, old_str: 'x', new_str: 'y' } },
    { tool: 'bash', input: { command: 'true', description: 'Run it' } },
    { tool: 'toybox-add_numbers', input: { a: 1, b: 2 } },
  ]);
  const filePath = file_path;
  expect(calls.map((call) => opencode.native(call))).toEqual([
    { tool: 'read', input: { filePath } },
    { tool: 'write', input: { filePath, content: 'x' } },
    { tool: 'edit', input: { filePath, oldString: 'x', newString: 'y' } },
    { tool: 'bash', input: { command: 'true', description: 'Run it' } },
    { tool: 'toybox_add_numbers', input: { a: 1, b: 2 } },
  ]);
  expect(calls.slice(0, 4).map((call) => pi.native(call))).toEqual([
    { tool: 'read', input: { path } },
    { tool: 'write', input: { path, content: 'x' } },
    { tool: 'edit', input: { path, edits: [{ oldText: 'x', newText: 'y' }] } },
    { tool: 'bash', input: { command: 'true' } },
  ]);
});
