/** How recordings are compared with their truth: undecided facts match anything, all others must be right. */
import { expect, test } from 'vitest';
import type { RunOutcome } from '../../src/model/outcome.ts';
import { saidByBoth } from '../test-agent.ts';
import { type Truth, type TruthCall, wrongFacts } from '../truth.ts';

const CALL: TruthCall = {
  id: 'c1',
  tool: 'Edit',
  native_tool: 'edit',
  status: 'ok',
  exit_code: null,
  input: null,
  parent_id: null,
};
const NOTHING = { provider_retries: null, provider_errors: null, usage: null, cost_usd: null };
const TRUTH: Truth = {
  ...NOTHING,
  calls: [CALL],
  final_text: null,
  ok: true,
  exit_reason: 'ok',
  terminal_evidence: null,
  model: null,
  session_id: null,
  steps: null,
  denied: null,
  skills_used: null,
  files: [
    { path: 'a.txt', operation: null },
    { path: 'b.txt', operation: 'created' },
  ],
};

function outcomeWith(artifacts: RunOutcome['artifacts']): RunOutcome {
  const call = { id: 'c1', name: 'Edit', native_name: 'edit', status: 'ok', exit_code: null };
  return {
    success: true,
    exit_reason: 'ok',
    message: '',
    skills_used: [],
    metrics: { tokens: {} },
    tool_calls: [{ ...call, duration_ms: null, parent_id: null, inputs: { file_path: 'a.txt' } }],
    artifacts,
  } as unknown as RunOutcome;
}

const created = { path: '/home/user/project/b.txt', operation: 'created' } as const;

test('an undecided operation or input matches any value, but its path must exist', () => {
  const modified = { path: 'a.txt', operation: 'modified' } as const;
  expect(wrongFacts(TRUTH, outcomeWith([modified, created]))).toEqual([]);
  const wrong = [
    [created],
    [modified],
    [modified, { ...created, operation: 'deleted' as const }],
    [modified, created, { ...created, path: 'c.txt' }],
  ];
  for (const artifacts of wrong)
    expect(wrongFacts(TRUTH, outcomeWith(artifacts)).map(({ fact }) => fact)).toEqual(['files']);
});

test('a decided input must be right, wherever the work folder is', () => {
  const truth = (file_path: string) => ({
    ...TRUTH,
    files: null,
    calls: [{ ...CALL, input: { file_path } }],
  });
  expect(wrongFacts(truth('/home/user/project/a.txt'), outcomeWith([]))).toEqual([]);
  expect(wrongFacts(truth('z.txt'), outcomeWith([]))).toEqual([
    { fact: 'calls[0].input.file_path', want: 'z.txt', got: 'a.txt' },
  ]);
});

test('two channels are compared only on facts that both report', () => {
  const [a, b] = saidByBoth(
    { calls: [{ id: '1', exit_code: null, path: '/home/user/project/x' }], only: 1, text: 'a' },
    { calls: [{ id: '1', exit_code: 3, path: 'x', more: true }], text: 'b' },
  );
  expect(a).toEqual({ calls: [{ id: '1', path: 'x' }], text: 'a' });
  expect(b).toEqual({ calls: [{ id: '1', path: 'x' }], text: 'b' });
  expect(saidByBoth([1], [1, 2])).toEqual([[1], [1, 2]]);
});
