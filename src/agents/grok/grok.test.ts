import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, outcomeOf, testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { grok } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');

/** The first session in the folder; sub-agents' sessions are later ones. */
function updatesIn(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return join(folder, names.find((name) => name.endsWith('updates.jsonl')) ?? '');
}

testAgent(grok, testdata, {
  sessionFile: updatesIn,
  unseen: {
    cost: 'the scripted model reports none',
    skills: 'it has no skill tool: it uses a skill by reading its file',
  },
});

verifies('AG-15', 'sessions of sub-agents are attached, not listed', async () => {
  const sessions = join(testdata, 'subagent/session');
  const listed = await Array.fromAsync(
    grok.session?.list?.({ env: { GROK_HOME: sessions } }) ?? [],
  );
  expect(listed.map(({ session_id }) => session_id)).toEqual([
    '01a1ee05-8857-7563-900f-7ff939c48b37',
  ]);
  const parts = (await grok.session?.parts(listed[0]?.path ?? '')) ?? [];
  expect(parts.map(({ path }) => basename(dirname(path)))).toEqual([
    '01a1ee05-8857-7563-900f-7ff939c48b37',
    '01a1ee05-8b27-7ea0-ae2a-50870f2cc6e0',
  ]);
});

verifies('AG-15', 'the folder of a session names the work folder', () => {
  const path = updatesIn(join(testdata, 'read/session'));
  const decoder = grok.session?.decoder({ path });
  const drafts: Draft[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    decoder?.record(JSON.parse(line), drafts);
  }
  const begin = drafts.find((draft) => draft.kind === 'session_started');
  expect(begin?.data).toMatchObject({ cwd: '/mnt/room/work', model: 'scripted' });
});

const lines = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));

verifies('AG-12', 'what two sub-agents say at a time is not said by the root agent', () => {
  const task = (id: string) => ({
    type: 'tool_call',
    toolCallId: id,
    toolName: 'spawn_subagent',
    rawInput: { prompt: id, description: id, background: false },
  });
  const done = (id: string) => ({ type: 'tool_call_update', toolCallId: id, status: 'completed' });
  const usage = { type: 'usage', usage: { input_tokens: 1, output_tokens: 1 } };
  const events = eventsOf(grok, 'stdout', [
    lines([
      usage,
      ...[task('a'), task('b')],
      ...[{ type: 'text', data: 'from a sub-agent' }, usage],
      ...[done('a'), done('b')],
      ...[{ type: 'text', data: 'the answer' }, usage],
      { type: 'end', stopReason: 'end_turn', sessionId: 's' },
    ]),
  ]);
  const { message, metrics } = outcomeOf(events);
  expect([message, metrics.steps]).toEqual(['the answer', 2]);
});

verifies('AG-18', 'the command line', () => {
  const request: LaunchRequest = {
    prompt: '--help "x"',
    model: 'm',
    approve: 'edits',
    resume: 's',
    stream: false,
    args: ['--trust'],
    command: null,
    self: { node: 'node', entry: 'x' },
  };
  expect(grok.launch(request)).toEqual({
    command: 'grok',
    args: [
      ...['--prompt-file', '/dev/stdin', '--verbatim', '--output-format', 'streaming-json'],
      ...['--model', 'm', '--permission-mode', 'acceptEdits', '--resume', 's', '--trust'],
    ],
    env: {},
    stdin: '--help "x"',
  });
});
