import { expect, test } from 'vitest';
import { codex } from './codex.ts';

const file_path = '{{WORK}}/a.txt';

test('reading and skills are commands, writing and editing are patches with relative paths', () => {
  const calls = [
    { tool: 'Read', input: { file_path } },
    { tool: 'Skill', input: { skill: 'greeting-style' } },
    { tool: 'Write', input: { file_path, content: 'one\ntwo\n' } },
    { tool: 'Edit', input: { file_path, old_string: 'one', new_string: 'uno\ndue' } },
  ].map((call) => codex.native(call));
  const waits = { yield_time_ms: 30_000 };
  expect(calls).toEqual([
    { tool: 'exec_command', input: { cmd: 'cat {{WORK}}/a.txt', ...waits } },
    {
      tool: 'exec_command',
      input: { cmd: 'cat .agents/skills/greeting-style/SKILL.md', ...waits },
    },
    {
      tool: 'apply_patch',
      input: { input: '*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch' },
    },
    {
      tool: 'apply_patch',
      input: {
        input: '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n+due\n*** End Patch',
      },
    },
  ]);
});

test('an unknown tool is passed through unchanged', () => {
  const call = { tool: 'other', input: { a: 1 } };
  expect(codex.native(call)).toEqual(call);
});
