import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf } from '../../../test/test-agent.ts';
import { qwen } from './index.ts';

type Fields = Record<string, unknown>;

const text = (words: string): Fields => ({ type: 'text', text: words });
const call = (id: string, name = 'run_shell_command', input: Fields = { command: 'x' }) => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const said = (id: string, block: Fields): Fields => ({
  type: 'assistant',
  uuid: id,
  parent_tool_use_id: null,
  message: { id, role: 'assistant', content: [block], usage: { input_tokens: 9 } },
});
const answered = (tool_use_id: string, content: string, is_error = false): Fields => ({
  type: 'user',
  parent_tool_use_id: null,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id, is_error, content }] },
});
const ended = (more: Fields = {}): Fields => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  duration_ms: 9,
  result: 'x',
  ...more,
});
const failed = (message: string, more: Fields): Fields =>
  ended({ subtype: 'error_during_execution', is_error: true, error: { message }, ...more });

const line = (type: string, more: Fields): Fields => ({
  type,
  sessionId: 's',
  timestamp: '2026-01-01T00:00:00.000Z',
  ...more,
});
const prompt = (words: string, more: Fields = {}) =>
  line('user', { message: { role: 'user', parts: [{ text: words }] }, ...more });
const asks = (id: string): Fields => ({
  functionCall: { id, name: 'agent', args: { prompt: id } },
});
const wrote = (parts: Fields[]) => line('assistant', { message: { role: 'model', parts } });
const result = (id: string, response: Fields, toolCallResult: Fields = {}) =>
  line('tool_result', {
    message: { role: 'user', parts: [{ functionResponse: { id, name: 'agent', response } }] },
    toolCallResult,
  });

const bytes = (records: unknown[]) =>
  Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(qwen, 'stdout', [bytes(records)]);
const filed = (...records: unknown[]) => eventsOf(qwen, 'session', [bytes(records)]);
type Events = ReturnType<typeof stdout>;
const statuses = (events: Events) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const problems = (events: Events) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);

describe('failures within a run', () => {
  verifies(
    ['AG-9', 'AG-10'],
    'an answer that is requested again is a retry; its calls never ran',
    () => {
      const events = stdout(
        said('m1', call('t1')),
        answered('t1', 'Skipped because the provider attempt was retried before execution.', true),
        {
          type: 'system',
          subtype: 'retry',
          data: { reason: 'retry', discardedToolCalls: 1, preserveText: false },
        },
        {
          type: 'system',
          subtype: 'retry',
          data: { reason: 'model_fallback', attempt: 2, maxRetries: 3, delayMs: 250.5 },
        },
        said('m2', text('ok')),
        ended(),
      );
      expect(kindsOf(events, 'provider_retried').map(({ data }) => data)).toEqual([
        {
          attempt: null,
          max_attempts: null,
          kind: 'unknown',
          native_kind: 'retry',
          status: null,
          backoff_ms: null,
        },
        {
          attempt: 2,
          max_attempts: 3,
          kind: 'unknown',
          native_kind: 'model_fallback',
          status: null,
          backoff_ms: 251,
        },
      ]);
      expect([statuses(events), problems(events)]).toEqual([[['t1', 'cancelled', null]], []]);
    },
  );

  verifies('AG-9', 'a sub-agent that failed is an error, in both channels', () => {
    const note = `<task-notification>\n<task-id>x</task-id>\n<tool-use-id>a1</tool-use-id>
<status>failed</status>\n<result>&lt;status&gt;completed</result>\n</task-notification>`;
    const agent = (id: string) => call(id, 'agent', { prompt: id });
    const sub = failed('400 no', { duration_ms: 0 });
    const display = (status: string) => ({
      status: 'success',
      resultDisplay: { type: 'task_execution', status, toolCalls: [] },
    });
    const asked = (...ids: string[]) => wrote(ids.map(asks));
    expect([
      statuses(stdout(said('m1', agent('a1')), sub, answered('a1', 'half'), ended())),
      statuses(
        stdout(
          said('m1', agent('a1')),
          said('m1', agent('a2')),
          sub,
          answered('a1', 'fine'),
          answered('a2', 'Subagent execution failed.'),
          ended(),
        ),
      ),
      statuses(
        filed(
          prompt('go'),
          asked('a1', 'a2', 'a3'),
          result('a1', { output: 'half' }, display('failed')),
          result('a2', { output: 'half' }, display('cancelled')),
          result('a3', { output: 'whole' }, display('completed')),
        ),
      ),
      statuses(
        filed(
          prompt('go'),
          asked('a1'),
          result('a1', { output: 'launched' }, display('background')),
          prompt(note, { provenance: 'system', subtype: 'notification' }),
        ),
      ),
      statuses(
        filed(prompt('go'), asked('a1'), result('a1', { output: 'launched' }), prompt(note)),
      ),
    ]).toEqual([
      [['a1', 'error', null]],
      [
        ['a1', 'ok', null],
        ['a2', 'error', null],
      ],
      [
        ['a1', 'error', null],
        ['a2', 'cancelled', null],
        ['a3', 'ok', null],
      ],
      [['a1', 'error', null]],
      [['a1', 'ok', null]],
    ]);
  });
});
