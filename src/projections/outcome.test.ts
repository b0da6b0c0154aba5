import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { CONFIG, createMaker, USAGE } from '../../test/build-events.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Event } from '../model/event.ts';
import { type OutcomeCall, OutcomeSchema, type RunOutcome } from '../model/outcome.ts';
import { createOutcomeFold, type OutcomeOptions } from './outcome.ts';

function fold(events: readonly Event[], options: OutcomeOptions = { keepIo: false }) {
  const made = createOutcomeFold(options);
  for (const event of events) made.push(event);
  return made;
}
const outcomeOf = (events: readonly Event[], options?: OutcomeOptions): RunOutcome =>
  fold(events, options).finish();

const schema = Compile(OutcomeSchema);

const CALL: OutcomeCall = {
  id: 'c1',
  name: 'Bash',
  native_name: 'bash',
  status: 'ok',
  exit_code: 0,
  duration_ms: 12,
  parent_id: null,
};

const WHOLE: RunOutcome = {
  schema_version: 'tacho.outcome.v1',
  run_id: 'r_1',
  session_id: 's1',
  agent: 'demo',
  agent_version: '1.0',
  success: true,
  exit_reason: 'ok',
  terminal_evidence: 'native_result',
  completeness: { grade: 'complete', gaps: [], filled: [] },
  message: 'Hello.',
  error_details: null,
  artifacts: [],
  tool_calls: [CALL],
  skills_used: [],
  warnings: [],
  metrics: {
    start_time_ms: 1_000_000,
    end_time_ms: 1_000_006,
    duration_ms: 1234,
    tokens_used: 125,
    tokens: USAGE,
    cost: 0.0123,
    cost_source: 'agent',
    model_name: 'toy',
    steps: 1,
    provider_retries: 0,
    provider_errors: 0,
    api_calls_count: null,
    tool_calls_count: 1,
  },
  metadata: {
    session_id: 's1',
    attempt_number: 1,
    retry_count: 0,
    phase_total_duration_ms: 1234,
    initial_prompt: 'Say hello',
    fingerprint: 'f1',
    output_mode: 'json',
    labels: { team: 'a' },
    project: { path: '/home/user/project', remote: null },
  },
};

function wholeRun(): Event[] {
  const make = createMaker();
  return [
    make('run_started', { config: { ...CONFIG, output_mode: 'json', labels: { team: 'a' } } }),
    make('session_started'),
    make('step_started'),
    make('call_requested'),
    make('call_started'),
    make('call_finished'),
    make('run_finished'),
  ];
}

describe('a run', () => {
  verifies('RO-1', 'that succeeded has the complete outcome', () => {
    expect(outcomeOf(wholeRun())).toEqual(WHOLE);
  });

  verifies('RO-1', 'that failed, never ended or never began has the same fields', () => {
    const keys = (value: object): unknown =>
      Object.entries(value).map(([key, item]) =>
        ['completeness', 'metrics', 'metadata'].includes(key) ? [key, Object.keys(item)] : key,
      );
    const make = createMaker();
    const failed = make('run_finished', { ok: false, exit_reason: 'provider_error', error: 'no' });
    for (const events of [[make('run_started'), failed], wholeRun().slice(0, 4), []]) {
      const outcome = outcomeOf(events);
      expect(keys(outcome)).toEqual(keys(WHOLE));
      expect([...schema.Errors(outcome)]).toEqual([]);
    }
  });

  test('that failed has a reason', () => {
    const make = createMaker();
    const error = outcomeOf([
      make('run_finished', { ok: false, exit_reason: 'timeout', error: 'late' }),
    ]);
    expect(error).toMatchObject({
      success: false,
      exit_reason: 'timeout',
      error_details: { type: 'timeout', message: 'late' },
    });
  });

  test('that was never finished keeps the known values and names the missing ones', () => {
    const make = createMaker();
    const outcome = outcomeOf([
      make('run_started', { prompt: null, config: null }),
      make('message_finished', { role: 'user', text: 'The prompt' }),
      make('step_started'),
      make('usage_reported', { cost_usd: 0.5 }),
      make('usage_reported', { cost_usd: 0.25, model: 'maker/toy' }),
      make('message_finished', { text: 'One.' }),
      make('message_finished', { text: 'Two.' }),
      make('message_finished', { text: 'Sub.', parent_call_id: 'c9', message_id: 'm2' }),
      make('provider_retried'),
      make('call_requested'),
    ]);
    expect(outcome).toMatchObject({
      success: false,
      exit_reason: 'incomplete',
      terminal_evidence: 'none',
      completeness: { grade: 'partial', gaps: ['not_finished'], filled: [] },
      message: 'One.\nTwo.',
      tool_calls: [{ ...CALL, status: 'unknown', exit_code: null, duration_ms: null }],
      warnings: [
        'provider retry: attempt 1 of 3, rate_limit, status 429, waited 500 ms',
        'gap: not_finished',
      ],
      metrics: {
        end_time_ms: null,
        duration_ms: null,
        tokens_used: 250,
        tokens: { input: 200, output: 40, cache_read: 10, cache_write: null, reasoning: null },
        cost: 0.75,
        model_name: 'maker/toy',
        steps: 1,
        provider_retries: 1,
      },
      metadata: { initial_prompt: 'The prompt', output_mode: null, labels: {} },
    });
  });

  test('without any token figure has no token sum', () => {
    const make = createMaker();
    const { metrics } = outcomeOf([make('run_finished', { usage: null, cost_usd: null })]);
    expect(metrics).toMatchObject({ tokens_used: null, cost: null });
  });

  test('with cumulative figures that replace each other counts them once', () => {
    const make = createMaker();
    const twice = [
      make('usage_reported', { mode: 'total' }),
      make('usage_reported', { mode: 'total' }),
    ];
    expect(outcomeOf(twice).metrics.tokens_used).toBe(125);
  });
});

describe('calls', () => {
  test('are listed in the order of first appearance, by the agent’s own ids', () => {
    const make = createMaker();
    const outcome = outcomeOf([
      make('call_requested', { call_id: 'c1', native_call_id: 'n1', tool: 'Task' }),
      make('call_requested', { call_id: 'c1#2', native_call_id: 'c1', parent_call_id: 'c1' }),
      make('call_finished', { call_id: 'c1#2' }),
      make('call_finished', { call_id: 'c1' }),
      make('call_finished', { call_id: 'c1', status: 'error' }),
      make('call_finished', { call_id: 'orphan', tool: 'Read' }),
    ]);
    expect(outcome.tool_calls).toEqual([
      { ...CALL, id: 'n1', name: 'Task' },
      { ...CALL, id: 'c1', parent_id: 'n1' },
      { ...CALL, id: 'orphan', name: 'Read', native_name: 'Read' },
    ]);
  });

  test('contain inputs and outputs only when requested', () => {
    const [kept] = outcomeOf(wholeRun(), { keepIo: true }).tool_calls;
    expect(kept).toEqual({ ...CALL, inputs: { command: 'npm test' }, outputs: 'done' });
  });

  test('include updates after their end', () => {
    const make = createMaker();
    const calls = outcomeOf([
      ...wholeRun().slice(0, -1),
      make('call_updated', { exit_code: 3, status: 'error' }),
      make('call_updated', { call_id: 'never seen', exit_code: 1 }),
    ]);
    expect(calls.tool_calls).toEqual([{ ...CALL, status: 'error', exit_code: 3 }]);
    expect(calls.warnings).toContain('gap: late updates of calls not known any more: 1');
  });

  test('take an exit code reported before their end', () => {
    const make = createMaker();
    const { tool_calls } = outcomeOf([
      make('call_requested'),
      make('call_updated', { exit_code: 4 }),
      make('call_finished', { exit_code: null, status: 'error' }),
    ]);
    expect(tool_calls).toEqual([{ ...CALL, status: 'error', exit_code: 4 }]);
  });

  test('are passed to onCall as they end, with late changes as patches', () => {
    const make = createMaker();
    const taken: [number, OutcomeCall][] = [];
    const made = fold(
      [
        make('call_requested', { call_id: 'a', native_call_id: 'a' }),
        make('call_requested', { call_id: 'b', native_call_id: 'b' }),
        make('call_finished', { call_id: 'b' }),
        make('call_updated', { call_id: 'b', exit_code: 9 }),
        make('call_updated', { call_id: 'b', status: 'error' }),
        make('run_finished'),
      ],
      { keepIo: false, onCall: (call, index) => taken.push([index, call]) },
    );
    const outcome = made.finish();
    expect(taken).toEqual([
      [1, { ...CALL, id: 'b' }],
      [0, { ...CALL, id: 'a', status: 'cancelled', exit_code: null, duration_ms: null }],
    ]);
    expect([...made.patches]).toEqual([[1, { status: 'error', exit_code: 9 }]]);
    expect([outcome.tool_calls, outcome.metrics.tool_calls_count]).toEqual([[], 2]);
  });

  test('do not accumulate when they are passed to onCall', () => {
    const make = createMaker();
    let taken = 0;
    const made = createOutcomeFold({ keepIo: true, onCall: () => (taken += 1) });
    const output = 'x'.repeat(1000);
    const run = (from: number, to: number): void => {
      for (let i = from; i < to; i += 1) {
        made.push(make('call_requested', { call_id: `c${i}` }));
        made.push(make('call_finished', { call_id: `c${i}`, output: `${i}${output}` }));
      }
    };
    run(0, 250_000);
    made.push(make('call_updated', { call_id: 'c1', exit_code: 1 }));
    made.push(make('call_updated', { call_id: 'c249999', exit_code: 1 }));
    expect([taken, [...made.patches.keys()]]).toEqual([250_000, [249_999]]);
    expect(made.finish().warnings).toContain('gap: late updates of calls not known any more: 1');
  });
});

describe('warnings', () => {
  verifies(
    'RO-6',
    'name retries, permissions, malformed lines with their numbers, and gaps',
    () => {
      const make = createMaker();
      const raw = { channel: 'stdout', line: 12, offset: 0 } as const;
      const { warnings } = outcomeOf([
        make('provider_retried', { attempt: null, kind: null, status: null, backoff_ms: null }),
        make('call_retried'),
        make('permission_asked', { reason: 'writes outside' }),
        make('permission_answered', { source: 'policy' }),
        make('call_decided', { decision: 'deny', reason: 'again' }),
        make('call_finished', { status: 'denied' }),
        make('call_finished', { call_id: 'c2', tool: 'Write', status: 'denied' }),
        make('problem', {}, { raw }),
        make('problem', { code: 'no_end_record', detail: '' }),
        make(
          'problem',
          { detail: 'a\n b' },
          { raw: { ...raw, channel: 'session', file: 'sub.jsonl' } },
        ),
        make('step_blocked'),
        make('provider_failed'),
        make('run_finished', { completeness: { grade: 'partial', gaps: ['torn'], filled: [] } }),
      ]);
      expect(warnings).toEqual([
        'provider retry',
        'Bash retried: attempt 2 of 3: network',
        'permission asked for Bash: writes outside',
        'Bash denied: policy',
        'Write denied',
        'stdout line 12: not_json: no JSON',
        'no_end_record',
        'session sub.jsonl line 12: not_json: a b',
        'blocked at Bash: no permission',
        'provider error overloaded, status 529: Overloaded',
        'gap: torn',
      ]);
    },
  );

  verifies('RO-6', 'are bounded in number and length, and gaps are never crowded out', () => {
    const make = createMaker();
    const many = Array.from({ length: 1000 }, () => make('problem', { detail: 'd'.repeat(9000) }));
    const completeness = { grade: 'partial' as const, gaps: ['g1', 'g2'], filled: [] };
    const end = make('run_finished', { completeness });
    const { warnings } = outcomeOf([...many, end]);
    expect(warnings.length).toBe(201);
    expect(warnings.slice(-3)).toEqual(['gap: g1', 'gap: g2', '… and 802 more']);
    expect(Buffer.byteLength(warnings[0] ?? '')).toBeLessThanOrEqual(503);
  });
});

test('skills used are part of the outcome', () => {
  const make = createMaker();
  expect(outcomeOf([make('skill_used')]).skills_used).toEqual(['greeting']);
});

test('the last text of a run without an end is bounded, and the omitted part is reported', () => {
  const make = createMaker();
  const text = 'x'.repeat(LIMITS.final_output_chars_max / 2);
  const says = () => make('message_finished', { message_id: 'm1', text });
  const made = outcomeOf([make('run_started'), says(), says(), says()]);
  expect(made.message).toBe(`${text}\n${text}`);
  const left = text.length;
  expect(made.warnings).toContainEqual(
    expect.stringContaining(`characters of the final output beyond those kept: ${left}`),
  );
});
