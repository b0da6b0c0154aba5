import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf, testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { claude } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
const ID = '11111111-2222-4333-8444-555555555555';

testAgent(claude, testdata);

type Fields = Record<string, unknown>;

const init = (more: Fields = {}): Fields => ({
  type: 'system',
  subtype: 'init',
  session_id: ID,
  model: 'claude-x',
  claude_code_version: '2.1.325',
  cwd: '/p',
  tools: ['Bash'],
  permissionMode: 'default',
  ...more,
});
const said = (id: string, block: Fields, more: Fields = {}): Fields => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'claude-x', content: [block] },
  parent_tool_use_id: null,
  session_id: ID,
  timestamp: '2026-01-01T00:00:00.000Z',
  ...more,
});
const text = (words: string): Fields => ({ type: 'text', text: words });
const call = (id: string, name = 'Bash', input: Fields = { command: 'sleep 9' }): Fields => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const answered = (id: string, content: unknown, failed: boolean, more: Fields = {}): Fields => ({
  type: 'user',
  message: {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content, ...(failed && { is_error: true }) }],
  },
  parent_tool_use_id: null,
  session_id: ID,
  timestamp: '2026-01-01T00:00:01.000Z',
  ...more,
});
const interruption: Fields = {
  type: 'user',
  message: { role: 'user', content: [text('[Request interrupted by user for tool use]')] },
  parent_tool_use_id: null,
};
const ended = (more: Fields = {}): Fields => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  terminal_reason: 'completed',
  session_id: ID,
  result: 'x',
  total_cost_usd: 0,
  permission_denials: [],
  model_usage_since_last_result: {},
  ...more,
});
const task = (subtype: string, more: Fields): Fields => ({ type: 'system', subtype, ...more });

const stdout = (...records: unknown[]) =>
  eventsOf(claude, 'stdout', [Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''))]);
const filed = (...records: unknown[]) =>
  eventsOf(claude, 'session', [Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''))]);
const statuses = (events: ReturnType<typeof stdout>) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const problems = (events: ReturnType<typeof stdout>) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);

const REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected.";

describe('calls on stdout', () => {
  verifies(
    'AG-9',
    'a call that an interruption ended is cancelled, though it looks refused',
    () => {
      const meta = [
        {
          id: 't1',
          non_execution_kind: 'user-rejected',
          permission_decision: { decision: 'reject', source: 'user_abort' },
        },
      ];
      const aborted = ended({
        subtype: 'error_during_execution',
        is_error: true,
        terminal_reason: 'aborted_tools',
        permission_denials: [{ tool_name: 'Bash', tool_use_id: 't1', tool_input: {} }],
      });
      const result = answered('t1', REJECTED, true, { tool_result_meta: meta });
      for (const lines of [
        [result, interruption, aborted],
        [result, aborted],
      ]) {
        const events = stdout(init(), said('m1', call('t1')), ...lines);
        expect(statuses(events)).toEqual([['t1', 'cancelled', null]]);
        expect(outcomeOf(events).exit_reason).toBe('cancelled');
      }
      const bare = stdout(init(), said('m1', call('t1')), answered('t1', REJECTED, true), aborted);
      expect(statuses(bare)).toEqual([['t1', 'cancelled', null]]);
    },
  );

  verifies('AG-9', 'the same words without an interruption are a refusal', () => {
    const meta = [{ id: 't1', non_execution_kind: 'user-rejected' }];
    const result = answered('t1', REJECTED, true, { tool_result_meta: meta });
    const more = stdout(init(), said('m1', call('t1')), result, said('m2', text('ok')), ended());
    const ends = stdout(init(), said('m1', call('t1')), result, ended());
    expect([statuses(more), statuses(ends)]).toEqual([
      [['t1', 'denied', null]],
      [['t1', 'denied', null]],
    ]);
  });

  verifies(
    'AG-9',
    "a hook's refusal is denied, and an unknown or switched-off tool is an error",
    () => {
      const meta = [
        {
          id: 't1',
          non_execution_kind: 'permission-rule',
          permission_decision: { decision: 'reject', source: 'hook' },
        },
      ];
      const events = stdout(
        init(),
        said('m1', call('t1')),
        answered('t1', 'PreToolUse:Bash hook error: no', true, { tool_result_meta: meta }),
        said('m2', call('t2', 'Write', { file_path: 'a', content: 'b' })),
        answered('t2', '<tool_use_error>No such tool available: Write</tool_use_error>', true),
        ended({ permission_denials: [{ tool_use_id: 't1' }] }),
      );
      expect(statuses(events)).toEqual([
        ['t1', 'denied', null],
        ['t2', 'error', null],
      ]);
      expect(kindsOf(events, 'call_decided').map(({ data }) => data)).toEqual([
        { call_id: 't1', tool: 'Bash', decision: 'deny', reason: null, source: 'hook' },
      ]);
      expect(outcomeOf(events).artifacts).toEqual([]);
    },
  );

  verifies('AG-9', 'a refusal that only the end record names is recorded', () => {
    const events = stdout(
      init(),
      said('m1', call('t1')),
      answered('t1', 'no', true),
      ended({ permission_denials: [{ tool_use_id: 't1' }] }),
    );
    expect(statuses(events)).toEqual([['t1', 'denied', null]]);
  });

  verifies('AG-9', 'exit codes are read from failing shell commands only', () => {
    const events = stdout(
      init(),
      said('m1', call('t1')),
      answered('t1', 'Exit code 137', true),
      said('m1', call('t2', 'Read', { file_path: 'a' })),
      answered('t2', 'Exit code 3\nno', true),
      said('m1', call('t3')),
      answered('t3', 'Exit code 5', false),
      said('m1', call('t4')),
      answered('t4', 'Exit code 143\nCommand timed out after 2m 0.0s', true),
      ended(),
    );
    expect(statuses(events)).toEqual([
      ['t1', 'error', 137],
      ['t2', 'error', null],
      ['t3', 'ok', null],
      ['t4', 'timeout', 143],
    ]);
  });

  verifies(
    ['AG-9', 'AG-10'],
    'a command moved to the background is updated by its notification',
    () => {
      const models = (cost: number) => ({ x: { inputTokens: 10, outputTokens: 1, costUSD: cost } });
      const note = (summary: string, status = 'completed') =>
        task('task_notification', { tool_use_id: 't1', status, summary });
      const run = (notification: Fields) =>
        stdout(
          init(),
          said('m1', call('t1')),
          task('task_started', { tool_use_id: 't1', task_type: 'local_bash' }),
          answered('t1', 'Command running in background with ID: b1.', false),
          said('m2', text('Started.')),
          ended({ model_usage_since_last_result: models(0.25) }),
          notification,
          init(),
          said('m3', text('All done.')),
          ended({ result_index: 1, model_usage_since_last_result: models(0.5) }),
        );
      const ok = run(note('Background command "x" completed (exit code 0)'));
      expect(statuses(ok)).toEqual([['t1', 'ok', 0]]);
      const { message, metrics } = outcomeOf(ok);
      expect([message, metrics.steps, metrics.cost, metrics.tokens.input]).toEqual([
        'All done.',
        3,
        0.75,
        20,
      ]);
      const failed = run(note('Background command "x" failed with exit code 3', 'failed'));
      expect(statuses(failed)).toEqual([['t1', 'error', 3]]);
      expect(statuses(run(note('Background command "x" was stopped', 'killed')))).toEqual([
        ['t1', 'cancelled', null],
      ]);
    },
  );

  verifies('AG-12', "a background agent's calls and texts stay its own", () => {
    const sub = { parent_tool_use_id: 't1' };
    const events = stdout(
      init(),
      said('m1', call('t1', 'Agent', { prompt: 'look' })),
      answered('t1', 'Async agent launched', false, { tool_use_result: { isAsync: true } }),
      said('m1', call('t2')),
      said('s1', text('sub words'), sub),
      said('s1', call('t3', 'Read', { file_path: 'a' }), sub),
      answered('t2', 'fine', false),
      answered('t3', 'a', false, sub),
      said('m2', text('root words')),
      said('s2', text('more sub words'), sub),
      ended(),
    );
    const { tool_calls, message, metrics } = outcomeOf(events);
    expect(tool_calls.map((each) => [each.id, each.name, each.parent_id, each.status])).toEqual([
      ['t1', 'Task', null, 'ok'],
      ['t2', 'Bash', null, 'ok'],
      ['t3', 'Read', 't1', 'ok'],
    ]);
    expect([message, metrics.steps, problems(events)]).toEqual(['root words', 2, []]);
  });

  test('files are changed by successful file tools, of sub-agents too', () => {
    const write = call('t1', 'Write', { file_path: '/p/a.txt', content: 'ab' });
    const patch = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-a', '+b'] }];
    const events = stdout(
      init(),
      said('m1', write),
      answered('t1', 'ok', false, { tool_use_result: { type: 'update', content: 'ab' } }),
      said('m1', call('t2', 'Edit', { file_path: '/p/b.txt' }), { parent_tool_use_id: 't0' }),
      answered('t2', 'ok', false, { tool_use_result: { structuredPatch: patch } }),
      said('m1', call('t3', 'NotebookEdit', { notebook_path: '/p/c.ipynb' })),
      answered('t3', 'no', true),
      ended(),
    );
    expect(kindsOf(events, 'file_changed').map(({ data }) => data)).toEqual([
      {
        path: '/p/a.txt',
        operation: 'modified',
        call_id: 't1',
        source: 'tool',
        diff: null,
        size: 2,
      },
      {
        path: '/p/b.txt',
        operation: 'modified',
        call_id: 't2',
        source: 'tool',
        diff: '--- /p/b.txt\n+++ /p/b.txt\n@@ -1,1 +1,1 @@\n-a\n+b\n',
        size: null,
      },
    ]);
  });

  test('a permission question to the host yields the question, the answer and the decision', () => {
    const ask = { subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: 't1' };
    const events = stdout(
      { dir: 'in', t: 1, msg: { type: 'control_request', request: { subtype: 'initialize' } } },
      init(),
      said('m1', call('t1')),
      { type: 'control_request', request_id: 'q1', request: ask },
      {
        dir: 'in',
        t: 2,
        msg: {
          type: 'control_response',
          response: { request_id: 'q1', response: { behavior: 'deny', message: 'No.' } },
        },
      },
      answered('t1', 'No.', true),
      ended(),
    );
    expect(kindsOf(events, 'permission_asked')[0]?.data).toEqual({
      request_id: 'q1',
      call_id: 't1',
      tool: 'Bash',
      reason: null,
    });
    expect(kindsOf(events, 'permission_answered')[0]?.data.decision).toBe('deny');
    expect(kindsOf(events, 'call_decided')[0]?.data).toEqual({
      call_id: 't1',
      tool: 'Bash',
      decision: 'deny',
      reason: 'No.',
      source: 'host',
    });
    expect(statuses(events)).toEqual([['t1', 'denied', null]]);
  });
});

describe('steps and the end on stdout', () => {
  const delta = (id: string, words: string): Fields => ({
    type: 'stream_event',
    parent_tool_use_id: null,
    api_message_id: id,
    event: { type: 'content_block_delta', delta: { type: 'text_delta', text: words } },
  });
  const start = (id: string): Fields => ({
    type: 'stream_event',
    parent_tool_use_id: null,
    event: { type: 'message_start', message: { id } },
  });
  const failure = (message: string): Fields => ({
    ...said('e1', text(message)),
    message: { id: 'e1', model: '<synthetic>', content: [text(message)] },
    is_api_error_message: true,
    api_error_status: 529,
    error: 'overloaded',
  });
  const failed = ended({ is_error: true, terminal_reason: 'api_error', api_error_status: 529 });

  test('a step begins once, with its first partial record', () => {
    const events = stdout(
      init(),
      start('m1'),
      delta('m1', 'He'),
      delta('m1', 'y'),
      said('m1', text('Hey')),
      ended(),
    );
    expect(kindsOf(events, 'step_started').map(({ data }) => data.step_id)).toEqual(['m1']);
    expect(kindsOf(events, 'message_delta').map(({ data }) => data)).toEqual([
      { message_id: 'm1', parent_call_id: null, text: 'He' },
      { message_id: 'm1', parent_call_id: null, text: 'y' },
    ]);
  });

  test('a stream that broke and was retried is one step', () => {
    const retry = task('api_retry', { attempt: 1, max_retries: 10, retry_delay_ms: 541.4 });
    const events = stdout(init(), start('m1'), retry, start('m2'), said('m2', text('x')), ended());
    expect(outcomeOf(events).metrics.steps).toBe(1);
    expect(kindsOf(events, 'provider_retried')[0]?.data.backoff_ms).toBe(541);
  });

  verifies(
    'AG-11',
    'a failed turn is a step and one provider error, and its text is not a message',
    () => {
      const events = stdout(
        init(),
        said('m1', call('t1')),
        answered('t1', 'x', false),
        failure('API Error: 529'),
        failed,
      );
      const { metrics, exit_reason, message } = outcomeOf(events);
      expect([metrics.steps, metrics.provider_errors, exit_reason, message]).toEqual([
        2,
        1,
        'provider_error',
        '',
      ]);
      const begun = stdout(init(), start('m1'), failure('API Error: 529'), failed);
      expect(outcomeOf(begun).metrics.steps).toBe(1);
      expect(outcomeOf(stdout(init(), failed)).metrics.provider_errors).toBe(1);
    },
  );

  verifies('AG-11', 'the end record decides by its flags, not by its subtype', () => {
    const reason = (more: Fields) => outcomeOf(stdout(init(), ended(more))).exit_reason;
    expect([
      reason({}),
      reason({ is_error: true }),
      reason({ subtype: 'error_during_execution', is_error: true }),
      reason({ subtype: 'error_max_turns', is_error: true }),
      reason({ subtype: 'error_max_budget_usd', is_error: true }),
      reason({ is_error: true, api_error_status: 400 }),
      reason({ terminal_reason: 'aborted_streaming' }),
    ]).toEqual([
      'ok',
      'agent_error',
      'agent_error',
      'max_steps',
      'budget_exceeded',
      'provider_error',
      'cancelled',
    ]);
  });

  verifies('AG-11', 'a stream without an end record is incomplete', () => {
    const { success, exit_reason, terminal_evidence } = outcomeOf(
      stdout(init(), said('m1', text('All good.'))),
    );
    expect([success, exit_reason, terminal_evidence]).toEqual([false, 'incomplete', 'none']);
  });

  verifies(
    'AG-10',
    'a cost that an earlier CLI reports cumulatively is the difference of two results',
    () => {
      const usage = { input_tokens: 5, output_tokens: 1 };
      const old = (total: number, input = 5): Fields => ({
        type: 'result',
        subtype: 'success',
        is_error: false,
        session_id: ID,
        result: 'x',
        usage,
        total_cost_usd: total,
        modelUsage: { x: { inputTokens: input, outputTokens: 1 } },
      });
      const figures = (...results: Fields[]) => {
        const { tokens, cost, cost_source } = outcomeOf(stdout(init(), ...results)).metrics;
        return [tokens.input, tokens.reasoning, cost, cost_source];
      };
      expect(figures(old(0.5))).toEqual([5, null, 0.5, 'agent']);
      expect(figures(old(0.5), old(0.75))).toEqual([10, null, 0.75, 'agent']);
      expect(figures(old(0.5, 9))).toEqual([5, null, null, 'unknown']);
    },
  );

  test('json mode: the only record introduces the session, speaks and ends', () => {
    const events = stdout(ended({ result: 'Hi.', modelUsage: { 'claude-x': {} } }));
    const { message, session_id, metrics, success } = outcomeOf(events);
    expect([message, session_id, metrics.model_name, success]).toEqual([
      'Hi.',
      ID,
      'claude-x',
      true,
    ]);
    const verbose = stdout([init(), said('m1', text('Hi.')), ended()]);
    expect([outcomeOf(verbose).message, problems(verbose)]).toEqual(['Hi.', []]);
  });

  verifies('AG-2', 'unknown records and blocks are problems', () => {
    const events = stdout(
      { type: 'system', subtype: 'novelty' },
      { type: 'stream_event', event: { type: 'novelty' } },
      { hello: 1 },
      [1],
      said('m1', { type: 'novelty' }),
      said('m1', { type: 'tool_use' }),
      { type: 'assistant' },
      { type: 'user', message: { content: 7 } },
      ended(),
    );
    expect(problems(events)).toEqual([
      'unknown_record system/novelty',
      'unknown_record stream_event/novelty',
      'bad_record no type',
      'bad_record record is not an object',
      'unknown_record assistant/novelty',
      'bad_record tool_use without id or name',
      'bad_record assistant without content',
      'bad_record user without content',
    ]);
  });
});

describe('session files', () => {
  const line = (type: string, message: Fields, more: Fields = {}): Fields => ({
    type,
    message,
    sessionId: ID,
    version: '2.1.325',
    cwd: '/p',
    isSidechain: false,
    timestamp: '2026-01-01T00:00:00.000Z',
    ...more,
  });
  const prompt = (words: string, more: Fields = {}) =>
    line('user', { role: 'user', content: words }, more);
  const usage = { input_tokens: 100, output_tokens: 7 };
  const turn = (id: string, block: Fields, stop: string | null, more: Fields = {}) =>
    line('assistant', { id, model: 'claude-x', content: [block], stop_reason: stop, usage }, more);
  const result = (id: string, content: string, more: Fields = {}) =>
    line(
      'user',
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content, is_error: true }],
      },
      more,
    );
  const spent = (cost: number, input: number): Fields => ({
    type: 'cost-state',
    sessionId: ID,
    totalCostUSD: cost,
    modelUsage: { x: { inputTokens: input, outputTokens: 1, costUSD: cost } },
  });

  verifies('AG-10', 'without cumulative figures the messages are counted once each', () => {
    const events = filed(
      prompt('go'),
      turn('m1', text('a'), 'tool_use'),
      turn('m1', call('t1'), 'tool_use'),
      result('t1', 'Exit code 1'),
      turn('m2', text('b'), 'end_turn'),
    );
    const { tokens, cost, steps } = outcomeOf(events).metrics;
    expect([tokens.input, tokens.output, tokens.cache_read, cost, steps]).toEqual([
      200,
      14,
      null,
      null,
      2,
    ]);
  });

  verifies(
    'AG-10',
    'a run killed before it wrote its figures does not get those of the previous run',
    () => {
      const events = filed(
        prompt('one'),
        turn('m1', text('a'), 'end_turn'),
        spent(0.5, 400),
        prompt('two'),
        turn('m2', call('t1'), 'tool_use'),
      );
      const { metrics, exit_reason } = outcomeOf(events);
      expect([metrics.tokens.input, metrics.cost, exit_reason]).toEqual([100, null, 'incomplete']);
    },
  );

  verifies(['AG-10', 'AG-15'], 'since_ms leaves out earlier runs and their cost', () => {
    const later = { timestamp: '2026-01-02T00:00:00.000Z' };
    const records = [
      prompt('one'),
      turn('m1', text('a'), 'end_turn', { requestRef: 'r1' }),
      spent(0.5, 400),
      { type: 'tools-used', sessionId: ID },
      prompt('two', later),
      turn('m1', text('b'), 'end_turn', { ...later, requestRef: 'r2' }),
      spent(0.625, 450),
      turn('m2', text('c'), 'end_turn', { ...later, requestRef: 'r3' }),
      spent(0.75, 500),
    ];
    const decoder = claude.session?.decoder({ since_ms: Date.parse('2026-01-02T00:00:00.000Z') });
    const drafts: Draft[] = [];
    for (const record of records) decoder?.record(record, drafts);
    decoder?.end(drafts);
    const texts = drafts.flatMap((d) => (d.kind === 'message_finished' ? [d.data.text] : []));
    const figures = drafts.flatMap((d) => (d.kind === 'usage_reported' ? [d.data] : []));
    expect(texts).toEqual(['two', 'b', 'c']);
    expect(figures.map(({ mode, usage: u, cost_usd }) => [mode, u.input, cost_usd])).toEqual([
      ['add', 100, null],
      ['add', 100, null],
      ['total', 100, 0.25],
    ]);
  });

  verifies('AG-10', 'a fork is charged for its own messages, not for copied ones', () => {
    const own = (second: number) => ({ timestamp: `2026-01-02T00:00:0${second}.000Z` });
    const fork = [
      { type: 'queue-operation', operation: 'enqueue', sessionId: ID, ...own(0) },
      prompt('one'),
      turn('m1', text('a'), 'end_turn'),
      prompt('two', own(1)),
      turn('m2', text('b'), 'end_turn', own(2)),
      spent(0.75, 500),
    ];
    const resumed = [prompt('three', own(3)), turn('m3', text('c'), 'end_turn', own(4))];
    const spending = (...records: Fields[]) => {
      const { tokens, cost, steps } = outcomeOf(filed(...records)).metrics;
      return [tokens.input, tokens.output, cost, steps];
    };
    expect([spending(...fork), spending(...fork, ...resumed, spent(1, 620))]).toEqual([
      [100, 7, null, 2],
      [120, 0, 0.25, 3],
    ]);
  });

  verifies('AG-11', 'how a run ended is inferred from its last records, or unknown', () => {
    const reason = (...records: Fields[]) => {
      const { exit_reason, terminal_evidence } = outcomeOf(filed(prompt('go'), ...records));
      return [exit_reason, terminal_evidence];
    };
    const stopped = line('user', { role: 'user', content: '[Request interrupted by user]' });
    const again = prompt('<task-notification>\n<tool-use-id>t1</tool-use-id></task-notification>');
    // A hook ended the turn after a result; stdout calls that a success.
    const halted = line('attachment', {}, { attachment: { type: 'hook_stopped_continuation' } });
    expect([
      reason(turn('m1', text('a'), 'end_turn')),
      reason(turn('m1', text('a'), null), stopped),
      reason(turn('m1', call('t1'), 'tool_use')),
      reason(turn('m1', text('a'), 'end_turn'), again),
      reason(turn('m1', text('a'), 'end_turn'), prompt('note', { isMeta: true })),
      reason(turn('m1', call('t1'), 'tool_use'), result('t1', 'x'), halted),
      reason(turn('m1', text('a'), 'model_context_window_exceeded')),
      reason(turn('m1', text('a'), 'end_turn'), prompt('summary', { isCompactSummary: true })),
    ]).toEqual([
      ['ok', 'inferred'],
      ['cancelled', 'inferred'],
      ['incomplete', 'none'],
      ['incomplete', 'none'],
      ['ok', 'inferred'],
      ['ok', 'inferred'],
      ['ok', 'inferred'],
      ['ok', 'inferred'],
    ]);
  });

  verifies('AG-9', 'an interrupted call is cancelled in session files too', () => {
    const stopped = line('user', {
      role: 'user',
      content: [text('[Request interrupted by user for tool use]')],
    });
    const events = filed(
      prompt('go'),
      turn('m1', call('t1'), 'tool_use'),
      result('t1', REJECTED, {
        toolDenialKind: 'user-rejected',
        permissionDecision: { decision: 'reject' },
      }),
      stopped,
    );
    expect(statuses(events)).toEqual([['t1', 'cancelled', null]]);
  });

  verifies('AG-12', 'texts of a sub-agent with an unknown call do not belong to the run', () => {
    const sub = { isSidechain: true, agentId: 'a1' };
    const events = filed(
      prompt('go'),
      turn('m1', text('root'), 'end_turn'),
      turn('s1', text('sub'), 'end_turn', sub),
      turn('s1', call('t1'), 'tool_use', sub),
    );
    const { message, metrics, tool_calls, exit_reason } = outcomeOf(events);
    expect([message, metrics.steps, tool_calls.length, exit_reason]).toEqual(['root', 1, 1, 'ok']);
  });

  verifies(['AG-12', 'AG-15'], 'a sub-agent without a named parent is found by its prompt', () => {
    const sub = { isSidechain: true, agentId: 'a1' };
    const events = filed(
      prompt('go'),
      turn('m1', call('t1', 'Agent', { prompt: 'look' }), 'tool_use'),
      prompt('look', sub),
      turn('s1', text('sub'), 'tool_use', sub),
      turn('s1', call('t2'), 'tool_use', sub),
      turn('m2', text('root'), 'end_turn'),
    );
    const { message, tool_calls } = outcomeOf(events);
    expect([message, tool_calls.map(({ id, parent_id }) => [id, parent_id])]).toEqual([
      'root',
      [
        ['t1', null],
        ['t2', 't1'],
      ],
    ]);
  });

  verifies(
    'AG-11',
    'a command for the CLI itself does not undo the end of the previous run',
    () => {
      const events = filed(
        prompt('go'),
        turn('m1', text('a'), 'end_turn'),
        spent(0.5, 400),
        prompt('<command-name>/exit</command-name>\n<command-message>exit</command-message>'),
        prompt('<local-command-stdout>Bye!</local-command-stdout>'),
      );
      const { exit_reason, metrics } = outcomeOf(events);
      expect([exit_reason, metrics.cost]).toEqual(['ok', 0.5]);
    },
  );

  test('a skill typed as a command is recorded, and its text after a Skill call belongs to that call', () => {
    const body = (more: Fields) =>
      prompt('Base directory for this skill: /p/.claude/skills/tidy\n\n# Tidy', {
        isMeta: true,
        ...more,
      });
    const typed = filed(
      prompt(
        '<command-message>tidy</command-message>\n<command-name>/plug:tidy</command-name>\n<command-args>all <b>\nnow</command-args>',
      ),
      body({}),
    );
    const bare = filed(prompt('go'), body({}));
    const called = filed(prompt('go'), body({ sourceToolUseID: 't1' }));
    expect(outcomeOf(typed).metadata.initial_prompt).toBe('/plug:tidy all <b>\nnow');
    expect([typed, bare, called].map((events) => outcomeOf(events).skills_used)).toEqual([
      ['plug:tidy'],
      ['tidy'],
      [],
    ]);
  });

  verifies(
    'AG-15',
    'the file of a session is found where the CLI keeps it, with its sub-agents',
    async () => {
      const home = await mkdtemp(join(tmpdir(), 'tacho-claude-'));
      try {
        const folder = join(home, '.claude', 'projects', '-p-my-proj');
        const main = join(folder, `${ID}.jsonl`);
        const subs = join(folder, ID, 'subagents');
        await mkdir(subs, { recursive: true });
        for (const path of [main, join(subs, 'agent-b.jsonl'), join(subs, 'agent-a.jsonl')]) {
          await writeFile(path, '');
        }
        await writeFile(join(subs, 'agent-a.meta.json'), '{"toolUseId":"t1"}');
        await writeFile(join(subs, 'agent-b.meta.json'), 'not json');
        const find = (session_id: string, cwd: string, env = { HOME: home } as NodeJS.ProcessEnv) =>
          claude.session?.find({ session_id, cwd, env });
        const elsewhere = { CLAUDE_CONFIG_DIR: join(home, '.claude') };
        expect([
          await find(ID, '/p/my_proj'),
          await find(ID, '/some/where'),
          await find(ID, '/p/my_proj', elsewhere),
          await find(`../${ID}`, '/p/my_proj'),
          await find('00000000-0000-4000-8000-000000000000', '/p/my_proj'),
        ]).toEqual([main, main, main, null, null]);
        expect(await claude.session?.parts(main)).toEqual([
          { path: main, parent_call_id: null },
          { path: join(subs, 'agent-a.jsonl'), parent_call_id: 't1' },
          { path: join(subs, 'agent-b.jsonl'), parent_call_id: null },
        ]);
      } finally {
        await rm(home, { recursive: true });
      }
    },
  );
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: 'Say "hi" $HOME\n🚀',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: 'node', entry: 'entry' },
  };
  const base = ['-p', '--output-format', 'stream-json', '--verbose'];

  verifies('AG-18', 'the prompt is passed on stdin and no flags are added', () => {
    expect(claude.launch(request)).toEqual({
      command: 'claude',
      args: base,
      env: {},
      stdin: 'Say "hi" $HOME\n🚀',
    });
  });

  verifies('AG-18', 'every option of the request becomes a flag; its arguments come last', () => {
    const plan = claude.launch({
      ...request,
      model: 'opus',
      approve: 'all',
      resume: ID,
      stream: true,
      args: ['--max-turns', '2'],
      command: ['/opt/node', 'cli.js'],
    });
    expect(plan.command).toBe('/opt/node');
    expect(plan.args).toEqual([
      'cli.js',
      ...base,
      '--include-partial-messages',
      '--model',
      'opus',
      '--permission-mode',
      'bypassPermissions',
      '--resume',
      ID,
      '--max-turns',
      '2',
    ]);
    expect(claude.launch({ ...request, approve: 'edits' }).args).toEqual([
      ...base,
      '--permission-mode',
      'acceptEdits',
    ]);
  });
});
