import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf } from '../../../test/test-agent.ts';
import type { Draft } from '../../model/draft.ts';
import { claude } from './index.ts';
import { stream } from './stream.ts';

type Fields = Record<string, unknown>;

const bytes = (records: unknown[]) =>
  Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(claude, 'stdout', [bytes(records)]);
const filed = (...records: unknown[]) => eventsOf(claude, 'session', [bytes(records)]);

const said = (model: string, block: Fields): Fields => ({
  type: 'assistant',
  message: { id: model, role: 'assistant', model, content: [block], stop_reason: 'tool_use' },
  parent_tool_use_id: null,
  sessionId: 's',
});
const refused = (content: string): Fields => ({
  type: 'user',
  message: {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't1', content, is_error: true }],
  },
  toolUseResult: `Error: ${content}`,
  sessionId: 's',
});

/** Records as 2.0.47 and 2.1.61 wrote them. */
describe('earlier versions', () => {
  verifies('AG-11', "the CLI's text identifies an API failure if no flag does", () => {
    const words = 'API Error: 400 {"type":"error"}';
    const failure = said('<synthetic>', { type: 'text', text: words });
    const end = (more: Fields): Fields => ({ type: 'result', subtype: 'success', ...more });
    const failed = end({ is_error: true, result: words });
    const outcome = (...records: Fields[]) => {
      const events = stdout(...records);
      const { exit_reason, metrics, message } = outcomeOf(events);
      const failures = kindsOf(events, 'provider_failed').map(({ data }) => data.message);
      return [exit_reason, metrics.steps, metrics.provider_errors, failures, message];
    };
    const went = said('claude-x', { type: 'text', text: 'on' });
    expect([
      outcome(failure, failed),
      outcome(failure, went, end({ is_error: true, result: 'other' })),
      outcome(
        said('claude-x', { type: 'text', text: words }),
        end({ is_error: false, result: words }),
      ),
    ]).toEqual([
      ['provider_error', 1, 1, [words], ''],
      ['agent_error', 2, 1, [words], 'on'],
      ['ok', 1, 0, [], words],
    ]);
  });

  verifies('AG-9', 'a refusal without a decision is recognised by its text', () => {
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'rm -rf notes' } };
    const status = (content: string) =>
      outcomeOf(filed(said('claude-x', call), refused(content))).tool_calls[0]?.status;
    expect([
      status('This command requires approval'),
      status("rm in '/p/notes' was blocked. For security, Claude Code may only remove files …"),
      status('Exit code 1\nThis command requires approval'),
    ]).toEqual(['denied', 'denied', 'error']);
  });
});

describe('skills', () => {
  verifies('AG-12', "a skill that runs in a sub-agent is that sub-agent's parent", () => {
    const call = (id: string, name: string, input: Fields) =>
      said('claude-x', { type: 'tool_use', id, name, input });
    const sub = { isSidechain: true, agentId: 'a1' };
    const body = 'Base directory for this skill: /p/.claude/skills/greet\n\nHello.';
    const events = filed(
      call('t1', 'Skill', { skill: 'kit:greet' }),
      { type: 'user', message: { role: 'user', content: body }, isMeta: true, ...sub },
      { ...call('t2', 'Bash', { command: 'exit 3' }), ...sub },
    );
    const calls = outcomeOf(events).tool_calls.map(({ id, parent_id }) => [id, parent_id]);
    expect(calls).toEqual([
      ['t1', null],
      ['t2', 't1'],
    ]);
  });
});

verifies('AG-11', 'a result without is_error and subtype does not end the run', () => {
  const events = stdout({ type: 'result', result: 'Done.' });
  const { exit_reason, success, completeness } = outcomeOf(events);
  expect([exit_reason, success, completeness.gaps]).toEqual([
    'incomplete',
    false,
    ['bad_record:1', 'no_end_record', 'usage_unknown'],
  ]);
});

test('a record of many results takes linear time', () => {
  const ids = Array.from({ length: 50_000 }, (_, at) => `t${at}`);
  const content = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }));
  const tool_result_meta = ids.map((id) => ({ id }));
  const out: Draft[] = [];
  const before = cpuMs();
  stream().record({ type: 'user', message: { role: 'user', content }, tool_result_meta }, out);
  expect(cpuMs() - before).toBeLessThan(3_000);
  expect(out.filter(({ kind }) => kind === 'call_finished')).toHaveLength(ids.length);
});

verifies(
  ['AG-10', 'WA-3'],
  'figures that a session on a terminal ends with twice count once',
  () => {
    const usage = { x: { inputTokens: 400, outputTokens: 1, costUSD: 0.5 } };
    const figures = { type: 'cost-state', sessionId: 's', totalCostUSD: 0.5, modelUsage: usage };
    const turn = said('claude-x', { type: 'text', text: 'a' });
    const { tokens, cost } = outcomeOf(filed(turn, figures, figures)).metrics;
    expect([tokens.input, cost]).toEqual([400, 0.5]);
  },
);
