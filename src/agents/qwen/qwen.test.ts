import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  eventsOf,
  kindsOf,
  outcomeOf,
  recordingsIn,
  testAgent,
  wholeRun,
} from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { qwen } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
const ID = '11111111-2222-4333-8444-555555555555';

testAgent(qwen, testdata);

type Fields = Record<string, unknown>;

const NO_TOKENS = { input_tokens: 0, output_tokens: 0 };
const TOKENS = { input_tokens: 100, output_tokens: 7, cache_read_input_tokens: 40 };

const init: Fields = {
  type: 'system',
  subtype: 'init',
  session_id: ID,
  cwd: '/p',
  tools: ['agent'],
  model: 'm',
  permission_mode: 'default',
  qwen_code_version: '0.24.4',
};
const text = (words: string): Fields => ({ type: 'text', text: words });
const thought = (words: string): Fields => ({ type: 'thinking', thinking: words, signature: '' });
const call = (
  id: string,
  name = 'run_shell_command',
  input: Fields = { command: 'x' },
): Fields => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const said = (
  id: string,
  block: Fields,
  usage: Fields = NO_TOKENS,
  parent: string | null = null,
) => ({
  type: 'assistant',
  uuid: id,
  session_id: ID,
  parent_tool_use_id: parent,
  message: { id, role: 'assistant', model: 'm', content: [block], usage },
});
const answered = (id: string, content: string, is_error = false, parent: string | null = null) => ({
  type: 'user',
  uuid: `u-${id}`,
  parent_tool_use_id: parent,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, is_error, content }] },
});
const userText = (words: string, parent: string | null = null): Fields => ({
  type: 'user',
  uuid: 'u-text',
  parent_tool_use_id: parent,
  message: { role: 'user', content: [text(words)] },
});
const event = (more: Fields, parent: string | null = null): Fields => ({
  type: 'stream_event',
  parent_tool_use_id: parent,
  event: more,
});
const ended = (more: Fields = {}): Fields => ({
  type: 'result',
  subtype: 'success',
  session_id: ID,
  is_error: false,
  duration_ms: 9,
  num_turns: 1,
  result: 'x',
  usage: TOKENS,
  permission_denials: [],
  ...more,
});
const failed = (message: string, more: Fields = {}): Fields =>
  ended({ subtype: 'error_during_execution', is_error: true, error: { message }, ...more });

const bytesOf = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(qwen, 'stdout', [bytesOf([init, ...records])]);
const filed = (...records: unknown[]) => eventsOf(qwen, 'session', [bytesOf(records)]);
type Events = ReturnType<typeof stdout>;
const statuses = (events: Events) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const problems = (events: Events) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);

const report = (command: string, output: string, code: number) =>
  `Command: ${command}\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${code}\nSignal: (none)\nProcess Group PGID: (none)`;
const DECLINED = 'Qwen Code requires permission to use "edit", but that permission was declined.';

describe('calls on stdout', () => {
  verifies(
    'AG-9',
    "the exit code is read from the end of the report, not from the command's output",
    () => {
      const printed = report('x', 'Exit Code: 1\nSignal: (none)\n', 4);
      const events = stdout(
        said('m1', call('t1'), TOKENS),
        answered('t1', printed, true),
        said('m2', call('t2'), TOKENS),
        answered('t2', 'out\nExit Code: 5\nSignal: (none)\n'),
        said('m3', call('t3'), TOKENS),
        answered('t3', report('x', 'fine', 0)),
        ended(),
      );
      expect(statuses(events)).toEqual([
        ['t1', 'error', 4],
        ['t2', 'ok', null],
        ['t3', 'ok', 0],
      ]);
    },
  );

  verifies('AG-9', 'refusals, cancellations and timeouts are not errors', () => {
    const events = stdout(
      said('m1', call('t1', 'edit', { file_path: '/p/a' }), TOKENS),
      answered('t1', `${DECLINED} Matching deny rule: "edit".`, true),
      said('m2', call('t2'), TOKENS),
      answered('t2', '[Operation Cancelled] Reason: user', true),
      said('m3', call('t3'), TOKENS),
      answered('t3', 'Command timed out after 1000ms before it could complete.', true),
      said('m4', call('t4', 'write_file', { file_path: '/p/a', content: 'x' }), TOKENS),
      answered('t4', 'a hook says no', true),
      said('m5', call('t5'), TOKENS),
      answered('t5', 'done'),
      ended({
        permission_denials: ['t1', 't4', 't5', 't9'].map((tool_use_id) => ({ tool_use_id })),
      }),
    );
    expect(statuses(events)).toEqual([
      ['t1', 'denied', null],
      ['t2', 'cancelled', null],
      ['t3', 'timeout', null],
      ['t4', 'denied', null],
      ['t5', 'ok', null],
    ]);
    expect(kindsOf(events, 'call_decided').map(({ data }) => data)).toEqual([
      {
        call_id: 't1',
        tool: 'Edit',
        decision: 'deny',
        reason: `${DECLINED} Matching deny rule: "edit".`,
        source: null,
      },
    ]);
    expect(problems(events)).toEqual([]);
    expect(outcomeOf(events).artifacts).toEqual([]);
  });

  verifies('RO-5', 'a file is created, overwritten or edited as the result reports', () => {
    const events = stdout(
      said('m1', call('t1', 'write_file', { file_path: '/p/a', content: 'é' }), TOKENS),
      answered('t1', 'Successfully created and wrote to new file: /p/a.'),
      said('m2', call('t2', 'write_file', { file_path: '/p/b', content: 'x' }), TOKENS),
      answered('t2', 'Successfully overwrote file: /p/b.'),
      said(
        'm3',
        call('t3', 'edit', { file_path: '/p/c', old_string: '', new_string: 'x' }),
        TOKENS,
      ),
      answered('t3', 'Created new file: /p/c with provided content.'),
      said('m4', call('t4', 'notebook_edit', { notebook_path: '/p/d' }), TOKENS),
      answered('t4', 'Updated cell'),
      ended(),
    );
    const changed = outcomeOf(events).artifacts.map(({ path, operation }) => [path, operation]);
    expect(changed).toEqual([
      ['a', 'created'],
      ['b', 'modified'],
      ['c', 'created'],
      ['d', 'modified'],
    ]);
  });

  verifies('AG-12', "a sub-agent's calls belong to its call, its texts not to the run", () => {
    const events = stdout(
      said('m1', call('a1', 'agent', { prompt: 'look', description: 'd' }), TOKENS),
      { type: 'system', subtype: 'task_started', data: { task_id: 'k', tool_use_id: 'a1' } },
      userText('look', 'a1'),
      said('s1', call('t1'), NO_TOKENS, 'a1'),
      answered('t1', 'out', false, 'a1'),
      said('s2', text('sub'), NO_TOKENS, 'a1'),
      answered('a1', 'sub'),
      said('m2', text('root'), TOKENS),
      ended(),
    );
    const { tool_calls, message, metrics } = outcomeOf(events);
    expect(tool_calls.map(({ id, name, parent_id }) => [id, name, parent_id])).toEqual([
      ['a1', 'Task', null],
      ['t1', 'Bash', 'a1'],
    ]);
    expect([message, metrics.steps, problems(events)]).toEqual(['root', 2, []]);
  });

  verifies(['AG-11', 'AG-12'], "a sub-agent's failure does not end the run", () => {
    const records = [
      said('m1', call('a1', 'agent', { prompt: 'p' }), TOKENS),
      failed('Task execution failed', { duration_ms: 0, usage: NO_TOKENS }),
    ];
    const rest = [answered('a1', 'failed', true), said('m2', text('so it is'), TOKENS), ended()];
    const cut = outcomeOf(stdout(...records));
    const whole = outcomeOf(stdout(...records, ...rest));
    expect([cut.exit_reason, cut.metrics.tokens.input]).toEqual(['incomplete', 60]);
    expect([whole.exit_reason, whole.message]).toEqual(['ok', 'so it is']);
  });

  verifies(
    'AG-9',
    'a background task that fails later changes its call, a finished one does not',
    () => {
      const note = (tool_use_id: string, status: string): Fields => ({
        type: 'system',
        subtype: 'task_notification',
        data: { task_id: 'k', tool_use_id, status },
      });
      const events = stdout(
        said('m1', call('a1', 'agent', { prompt: 'p' }), TOKENS),
        answered('a1', 'launched'),
        said('m2', call('a2', 'agent', { prompt: 'q' }), TOKENS),
        answered('a2', 'launched'),
        said('m3', text('waiting'), TOKENS),
        userText('Background agent "p" completed.'),
        note('a1', 'completed'),
        userText('Background agent "q" failed.'),
        note('a2', 'failed'),
        note('a9', 'failed'),
        said('m4', text('all done'), TOKENS),
        ended(),
      );
      expect(statuses(events)).toEqual([
        ['a1', 'ok', null],
        ['a2', 'error', null],
      ]);
      expect([outcomeOf(events).message, outcomeOf(events).metrics.steps]).toEqual(['all done', 4]);
    },
  );
});

describe('turns and ends on stdout', () => {
  verifies('AG-3', 'blocks of several kinds are one turn, with or without partial messages', () => {
    const blocks = [
      said('m1', thought('hm')),
      said('m2', text('first')),
      said('m3', call('t1'), TOKENS),
    ];
    const final = [
      answered('t1', 'o'),
      said('m4', thought('so')),
      said('m5', text('last'), TOKENS),
    ];
    const start = (id: string) => event({ type: 'message_start', message: { id } });
    const stop = event({ type: 'message_stop' });
    const plain = stdout(...blocks, ...final, ended());
    const [result, ...rest] = final;
    const marked = stdout(
      start('m1'),
      ...blocks,
      stop,
      result,
      start('m4'),
      ...rest,
      stop,
      ended(),
    );
    for (const events of [plain, marked]) {
      const { metrics, message } = outcomeOf(events);
      expect([metrics.steps, message]).toEqual([2, 'last']);
    }
  });

  verifies(
    'AG-3',
    'a turn that directly follows another without an answer is a separate turn',
    () => {
      const events = stdout(
        said('m1', text('one'), TOKENS),
        said('m2', text('two'), TOKENS),
        ended(),
      );
      expect([outcomeOf(events).metrics.steps, outcomeOf(events).message]).toEqual([2, 'two']);
    },
  );

  verifies(
    'AG-10',
    "the result's tokens replace those of the lines, and unknown figures stay unknown",
    () => {
      const lines = [said('m1', text('one')), said('m2', call('t1'), TOKENS), answered('t1', 'o')];
      const tokens = (...records: unknown[]) => outcomeOf(stdout(...records)).metrics.tokens;
      const rest = { cache_write: null, reasoning: null };
      expect([
        tokens(...lines),
        tokens(...lines, ended({ usage: { ...TOKENS, input_tokens: 500 } })),
        tokens(said('m1', text('one'))),
      ]).toEqual([
        { input: 60, output: 7, cache_read: 40, ...rest },
        { input: 460, output: 7, cache_read: 40, ...rest },
        { input: null, output: null, cache_read: null, ...rest },
      ]);
    },
  );

  verifies('AG-11', 'the end record and its text decide how a run ended', () => {
    const reason = (...records: unknown[]) => {
      const { exit_reason, message, metrics } = outcomeOf(stdout(...records));
      return [exit_reason, message, metrics.provider_errors];
    };
    const words = '[API Error: 503 busy]';
    expect([
      reason(said('m1', text('fine'), TOKENS), ended()),
      reason(said('m1', text(words)), failed(words)),
      reason(said('m1', text(words)), ended({ result: words })),
      reason(said('m1', text(words), TOKENS), ended({ result: words })),
      reason(said('m1', text('half')), failed(words)),
      reason(failed('Reached max session turns for this session.')),
      reason(failed('', { subtype: 'error_max_turns' })),
      reason(failed('Run aborted: wall-clock budget exceeded')),
      reason(failed('Operation cancelled.')),
      reason(failed('Potential loop detected')),
      reason(said('m1', text('half'))),
    ]).toEqual([
      ['ok', 'fine', 0],
      ['provider_error', '', 1],
      ['provider_error', '', 1],
      ['ok', words, 0],
      ['provider_error', 'half', 1],
      ['max_steps', '', 0],
      ['max_steps', '', 0],
      ['budget_exceeded', '', 0],
      ['cancelled', '', 0],
      ['agent_error', '', 0],
      ['incomplete', 'half', 0],
    ]);
  });

  verifies('AG-2', 'each unknown record is a problem, and ignored records are not', () => {
    const events = stdout(
      { type: 'system', subtype: 'zz' },
      { type: 'system', subtype: 'worktree_started', data: { notice: 'n' } },
      event({ type: 'goal_state', goal_state: {} }),
      event({ type: 'zz' }),
      event({ type: 'content_block_delta', delta: { type: 'zz_delta' } }),
      said('m1', { type: 'zz' }, TOKENS),
      said('m2', call(''), TOKENS),
      { type: 'control_request', request_id: 'r', request: { subtype: 'can_use_tool' } },
      ended(),
    );
    expect(problems(events)).toEqual([
      'unknown_record system/zz',
      'unknown_record stream_event/zz',
      'unknown_record stream_event/content_block_delta/zz_delta',
      'unknown_record assistant/zz',
      'bad_record call without id or name',
    ]);
  });

  verifies('AG-2', 'progress of a running call is recorded', () => {
    const progress = { type: 'tool_progress', tool_use_id: 't1', content: { message: 'half' } };
    const events = stdout(
      said('m1', call('t1'), TOKENS),
      event(progress),
      answered('t1', ''),
      ended(),
    );
    expect(kindsOf(events, 'call_progress').map(({ data }) => data)).toEqual([
      { call_id: 't1', tool: 'Bash', text: 'half', elapsed_ms: null, stream: null },
    ]);
  });
});

const line = (type: string, more: Fields, second = 0): Fields => ({
  uuid: `r-${type}-${second}`,
  sessionId: ID,
  timestamp: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
  type,
  cwd: '/p',
  version: '0.24.4',
  ...more,
});
const prompt = (words: string, second = 0, more: Fields = {}): Fields =>
  line('user', { provenance: 'real_user', message: { parts: [text(words)] }, ...more }, second);
const wrote = (parts: Fields[], second = 0, more: Fields = {}): Fields =>
  line('assistant', { model: 'm', message: { role: 'model', parts }, ...more }, second);
const asks = (id: string, name = 'run_shell_command', args: Fields = { command: 'x' }): Fields => ({
  functionCall: { id, name, args },
});
const result = (id: string, response: Fields, facts: Fields = {}, second = 0, more: Fields = {}) =>
  line(
    'tool_result',
    {
      message: { parts: [{ functionResponse: { id, name: 'run_shell_command', response } }] },
      toolCallResult: { callId: id, ...facts },
      ...more,
    },
    second,
  );
const telemetry = (name: string, more: Fields, second = 0): Fields =>
  line(
    'system',
    {
      subtype: 'ui_telemetry',
      systemPayload: {
        uiEvent: { 'event.name': `qwen-code.${name}`, prompt_id: `${ID}########0`, ...more },
      },
    },
    second,
  );
const paid = (more: Fields = {}): Fields =>
  telemetry('api_response', {
    model: 'm',
    input_token_count: 100,
    output_token_count: 7,
    cached_content_token_count: 40,
    thoughts_token_count: 3,
    ...more,
  });
const refusedRequest = (more: Fields = {}): Fields =>
  telemetry('api_error', { model: 'm', error_message: 'busy', error_type: 'E', ...more });
const SUB = { isSidechain: true, agentId: 'explore-1' };

describe('session files', () => {
  verifies(
    'AG-9',
    'statuses come from the record, then from telemetry, then from the answer',
    () => {
      const shell = (outcome: string, exitCode: number | null) => ({
        resultDisplay: { type: 'shell_result', text: '', outcome, exitCode },
      });
      const events = filed(
        prompt('go'),
        wrote(['t1', 't2', 't3', 't4', 't5', 't6', 't7'].map((id) => asks(id))),
        result('t1', { output: 'o' }, { status: 'success', ...shell('completed', 1) }),
        result('t2', { error: 'e' }, { status: 'error', ...shell('timed_out', null) }),
        result('t3', { error: 'e' }, { status: 'error', errorType: 'execution_denied' }),
        result('t4', { error: 'e' }, { status: 'cancelled' }),
        telemetry('tool_call', { call_id: 't5', status: 'error', decision: 'reject' }),
        result('t5', { error: 'e' }),
        result('t6', { error: report('x', '', 6) }),
        result('t7', { output: report('x', '', 0) }),
      );
      expect(statuses(events)).toEqual([
        ['t1', 'error', 1],
        ['t2', 'timeout', null],
        ['t3', 'denied', null],
        ['t4', 'cancelled', null],
        ['t5', 'denied', null],
        ['t6', 'error', 6],
        ['t7', 'ok', 0],
      ]);
    },
  );

  verifies('AG-11', 'how a run ended is inferred from its last records, or unknown', () => {
    const end = (...records: Fields[]) => {
      const { exit_reason, terminal_evidence, metrics } = outcomeOf(
        filed(prompt('go'), ...records),
      );
      const { steps, provider_retries, provider_errors } = metrics;
      return [exit_reason, terminal_evidence, steps, provider_retries, provider_errors];
    };
    expect([
      end(wrote([text('a')])),
      end(wrote([text('a'), asks('t1')])),
      end(wrote([asks('t1')]), result('t1', { output: '' })),
      end(refusedRequest()),
      end(refusedRequest(), refusedRequest(), wrote([text('a')])),
      end(wrote([asks('t1')]), result('t1', { output: '' }), refusedRequest(), refusedRequest()),
      end(refusedRequest({ error_type: 'APIUserAbortError' })),
      end(refusedRequest(), prompt('again'), wrote([text('a')])),
      end(wrote([text('a')]), refusedRequest({ subagent_name: 'managed-memory' })),
    ]).toEqual([
      ['ok', 'inferred', 1, 0, 0],
      ['incomplete', 'none', 1, 0, 0],
      ['incomplete', 'none', 1, 0, 0],
      ['provider_error', 'inferred', 1, 0, 1],
      ['ok', 'inferred', 1, 2, 0],
      ['provider_error', 'inferred', 2, 1, 1],
      ['cancelled', 'inferred', 1, 0, 0],
      ['ok', 'inferred', 2, 0, 1],
      ['ok', 'inferred', 1, 0, 0],
    ]);
  });

  verifies(
    'AG-10',
    'tokens are the sum of all requests; messages count if there is no telemetry',
    () => {
      const usageMetadata = { promptTokenCount: 50, candidatesTokenCount: 5 };
      const tokens = (...records: Fields[]) => outcomeOf(filed(...records)).metrics.tokens;
      expect([
        tokens(
          prompt('go'),
          paid(),
          wrote([text('a')], 0, { usageMetadata }),
          paid({ subagent_name: 's' }),
        ),
        tokens(prompt('go'), wrote([text('a')], 0, { usageMetadata })),
        tokens(prompt('go')),
      ]).toEqual([
        { input: 120, output: 14, cache_read: 80, cache_write: null, reasoning: 6 },
        { input: 50, output: 5, cache_read: null, cache_write: null, reasoning: null },
        { input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
      ]);
    },
  );

  verifies(['AG-10', 'AG-15'], 'since_ms leaves out earlier runs and their tokens', () => {
    const decoder = qwen.session?.decoder({ since_ms: Date.parse('2026-01-01T00:00:05.000Z') });
    const drafts: Draft[] = [];
    const records = [
      prompt('one', 1),
      { ...paid(), timestamp: '2026-01-01T00:00:01.000Z' },
      wrote([text('a')], 2),
      prompt('two', 5),
      { ...paid({ input_token_count: 41 }), timestamp: '2026-01-01T00:00:06.000Z' },
      wrote([text('b')], 6),
    ];
    for (const record of records) decoder?.record(record, drafts);
    decoder?.end(drafts);
    const texts = drafts.flatMap((d) => (d.kind === 'message_finished' ? [d.data.text] : []));
    const inputs = drafts.flatMap((d) => (d.kind === 'usage_reported' ? [d.data.usage.input] : []));
    const ids = drafts.flatMap((d) => (d.kind === 'session_started' ? [d.data.session_id] : []));
    expect([texts, inputs, ids]).toEqual([['two', 'b'], [1, 1], [ID]]);
  });

  verifies(['AG-3', 'AG-12'], "a sub-agent's calls are recorded once, wherever they appear", () => {
    const agent = wrote([asks('a1', 'agent', { prompt: 'look' })]);
    const unconfirmed = telemetry('tool_call', {
      call_id: 't1',
      function_name: 'read_file',
      function_args: { file_path: '/p/a' },
      status: 'success',
      decision: 'auto_accept',
      prompt_id: `${ID}#explore-1#0`,
    });
    const own = [
      prompt('look', 0, SUB),
      wrote([asks('t1', 'read_file', { file_path: '/p/a' })], 0, SUB),
      result('t1', { output: 'o' }, {}, 0, SUB),
      wrote([text('sub')], 0, SUB),
    ];
    const listed = {
      resultDisplay: {
        type: 'task_execution',
        toolCalls: [
          { callId: 't1', name: 'read_file', args: { file_path: '/p/a' }, status: 'success' },
        ],
      },
    };
    const answers = (facts: Fields) => [
      result('a1', { output: 'sub' }, { status: 'success', ...facts }),
      wrote([text('root')]),
    ];
    const calls = (...records: Fields[]) => {
      const { tool_calls, message } = outcomeOf(filed(prompt('go'), agent, ...records));
      const known = tool_calls.map((c) => [c.id, c.name, c.parent_id, c.status]);
      return [...known.sort(), message];
    };
    const both = [['a1', 'Task', null, 'ok'], ['t1', 'Read', 'a1', 'ok'], 'root'];
    const [start, asked, ...rest] = own;
    expect([
      calls(...own, ...answers({})),
      calls(start as Fields, asked as Fields, unconfirmed, ...rest, ...answers(listed)),
      calls(unconfirmed, ...answers(listed)),
      calls(unconfirmed, ...answers({})),
      calls(unconfirmed, ...own, ...answers({})),
    ]).toEqual([both, both, both, both, both]);
    // A watcher may read the main file's records before those of the sub-agent's file.
    const growing = filed(prompt('go'), agent, unconfirmed, ...own, ...answers({}));
    expect(kindsOf(growing, 'call_decided').map(({ data }) => data.source)).toEqual([
      'auto_accept',
    ]);
  });

  verifies('AG-3', "calls of the CLI's own agents do not belong to the run", () => {
    const prompt_id = `${ID}#managed-auto-memory-extractor-1#0`;
    const own = telemetry('tool_call', { call_id: 'k1', function_name: 'read_file', prompt_id });
    const agent = wrote([asks('a1', 'agent', { prompt: 'p' })]);
    const events = filed(
      prompt('go'),
      agent,
      result('a1', { output: '' }),
      wrote([text('a')]),
      own,
    );
    expect([statuses(events), problems(events)]).toEqual([[['a1', 'ok', null]], []]);
  });

  verifies('AG-12', 'texts of a sub-agent with an unknown call do not belong to the run', () => {
    const events = filed(prompt('go'), wrote([text('root')]), wrote([text('sub')], 0, SUB));
    const { message, metrics, exit_reason } = outcomeOf(events);
    expect([message, metrics.steps, exit_reason]).toEqual(['root', 1, 'ok']);
  });

  verifies('AG-9', 'the end of a background task is a user message', () => {
    const note = prompt('<task-notification>…</task-notification>', 0, {
      provenance: 'system',
      subtype: 'notification',
      systemPayload: { displayText: 'd', backgroundTask: { toolUseId: 'a1', status: 'failed' } },
    });
    const agent = wrote([asks('a1', 'agent', { prompt: 'p' })]);
    const events = filed(
      prompt('go'),
      agent,
      result('a1', { output: '' }),
      note,
      wrote([text('a')]),
    );
    expect(statuses(events)).toEqual([['a1', 'error', null]]);
    const users = kindsOf(events, 'message_finished').filter(({ data }) => data.role === 'user');
    expect(users.map(({ data }) => data.synthetic)).toEqual([false, true]);
  });

  verifies('AG-2', 'each record of another version is a problem, known bookkeeping is not', () => {
    const events = filed(
      prompt('go'),
      line('system', { subtype: 'custom_title', systemPayload: {} }),
      line('system', { subtype: 'zz' }),
      telemetry('zz', {}),
      line('zz', {}),
      line('tool_result', { message: { parts: [] } }),
      wrote([{ zz: 1 }, text('a')]),
    );
    expect(problems(events)).toEqual([
      'unknown_record system/zz',
      'unknown_record ui_telemetry/qwen-code.zz',
      'unknown_record zz',
      'bad_record tool_result without a call id',
      'unknown_record assistant part zz',
    ]);
  });

  verifies('AG-15', 'sessions and sub-agents are found where the CLI keeps them', async () => {
    const home = await mkdtemp(join(tmpdir(), 'tacho-qwen-'));
    try {
      const project = join(home, '.qwen', 'projects', '-home-me-p');
      const main = join(project, 'chats', `${ID}.jsonl`);
      const subs = join(project, 'subagents', ID);
      await mkdir(join(project, 'chats'), { recursive: true });
      await mkdir(subs, { recursive: true });
      await writeFile(main, '');
      await writeFile(join(subs, 'agent-a.jsonl'), '');
      await writeFile(join(subs, 'agent-a.meta.json'), '{"toolUseId":"t1"}');
      await writeFile(join(subs, 'agent-b.jsonl'), '');
      await writeFile(join(subs, 'agent-b.jsonl.stream'), '');
      const find = (session_id: string, cwd: string, env: NodeJS.ProcessEnv) =>
        qwen.session?.find({ session_id, cwd, env });
      expect([
        await find(ID, '/home/me/p', { HOME: home }),
        await find(ID, '/elsewhere', { HOME: home }),
        await find(ID, '/home/me/p', { HOME: '/none', QWEN_HOME: join(home, '.qwen') }),
        await find(ID, '/home/me/p', { HOME: '/none', QWEN_RUNTIME_DIR: join(home, '.qwen') }),
        await find('other', '/home/me/p', { HOME: home }),
        await find(`../chats/${ID}`, '/home/me/p', { HOME: home }),
      ]).toEqual([main, main, main, main, null, null]);
      expect(await qwen.session?.parts(main)).toEqual([
        { path: main, parent_call_id: null },
        { path: join(subs, 'agent-a.jsonl'), parent_call_id: 't1' },
        { path: join(subs, 'agent-b.jsonl'), parent_call_id: null },
      ]);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

/** Recordings with shell calls are separate per channel: only the session file has an exit code of 0. */
describe('both channels', () => {
  const recordings = recordingsIn(testdata);
  for (const filing of recordings.filter(({ scenario }) => scenario.endsWith('-session'))) {
    const scenario = filing.scenario.replace(/-session$/, '');
    const live = recordings.find((one) => one.scenario === scenario && one.channel === 'stdout');
    verifies(
      'AG-15',
      `${scenario}: the session file adds exit codes of 0 and changes nothing`,
      async () => {
        const facts = async (recording: typeof filing | undefined) => {
          const outcome = outcomeOf(recording ? await wholeRun(qwen, recording) : []);
          const calls = outcome.tool_calls.map(
            ({ duration_ms: _, exit_code, outputs, ...call }) => ({
              ...call,
              exit_code: exit_code === 0 ? null : exit_code,
              // Both channels cut big outputs, each at its own size.
              outputs: outputs !== undefined && (outputs?.length ?? 0) > 20_000 ? 'cut' : outputs,
            }),
          );
          return { calls, message: outcome.message, artifacts: outcome.artifacts };
        };
        expect(await facts(filing)).toEqual(await facts(live));
      },
    );
  }
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: '-p "hi" $HOME\n🚀',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: 'node', entry: 'entry' },
  };
  const base = ['--output-format', 'stream-json'];

  verifies('AG-18', 'the prompt is passed on stdin and no flags are added', () => {
    expect(qwen.launch(request)).toEqual({
      command: 'qwen',
      args: base,
      env: {},
      stdin: '-p "hi" $HOME\n🚀',
    });
  });

  verifies('AG-18', 'every option of the request becomes a flag; its arguments come last', () => {
    const plan = qwen.launch({
      ...request,
      model: 'qwen3-coder',
      approve: 'all',
      resume: ID,
      stream: true,
      args: ['--auth-type', 'openai'],
      command: ['/opt/node', 'cli.js'],
    });
    expect(plan.command).toBe('/opt/node');
    expect(plan.args).toEqual([
      'cli.js',
      ...base,
      '--include-partial-messages',
      '--model',
      'qwen3-coder',
      '--approval-mode',
      'yolo',
      '--resume',
      ID,
      '--auth-type',
      'openai',
    ]);
    expect(qwen.launch({ ...request, approve: 'edits' }).args).toEqual([
      ...base,
      '--approval-mode',
      'auto-edit',
    ]);
  });
});

verifies('AG-10', 'the result of a resumed run counts the whole session and is left out', () => {
  const line = said('m1', text('a'), TOKENS);
  const result = ended({ usage: { ...TOKENS, input_tokens: 5_000 } });
  const modes = (resumed: boolean) => {
    const decoder = qwen.stream({ resumed });
    const out: Draft[] = [];
    for (const record of [line, result]) decoder.record(record, out);
    return out.flatMap((draft) => (draft.kind === 'usage_reported' ? [draft.data.mode] : []));
  };
  expect(modes(false)).toEqual(['add', 'total']);
  expect(modes(true)).toEqual(['add']);
});
