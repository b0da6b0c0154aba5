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
import { pi } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
const ID = '01a1dcd4-878b-7651-b3a3-5305e499b2da';

testAgent(pi, testdata, {
  unseen: { skills: 'no recording of `/skill:name`, which the CLI puts into the user message' },
});

type Fields = Record<string, unknown>;

const header: Fields = {
  type: 'session',
  version: 3,
  id: ID,
  timestamp: '2026-01-01T00:00:00.000Z',
  cwd: '/p',
};
const spent = (input: number): Fields => ({
  input,
  output: 10,
  cacheRead: 1,
  cacheWrite: 2,
  totalTokens: input + 13,
  cost: { total: 0.5 },
});
const text = (words: string): Fields => ({ type: 'text', text: words });
const call = (id: string, name = 'bash', args: Fields = { command: 'make' }): Fields => ({
  type: 'toolCall',
  id,
  name,
  arguments: args,
});
let clock = Date.parse('2026-01-01T00:00:01.000Z');
const said = (content: Fields[], more: Fields = {}): Fields => ({
  role: 'assistant',
  content,
  provider: 'mock',
  model: 'mock-1',
  usage: spent(100),
  stopReason: content.some((block) => block.type === 'toolCall') ? 'toolUse' : 'stop',
  timestamp: clock++,
  durationMs: 5,
  ...more,
});
const asked = (words: string): Fields => ({
  role: 'user',
  content: [text(words)],
  timestamp: clock,
});
/** A version that does not measure durations. */
const old = { durationMs: undefined };

const turn = (message: Fields): Fields[] => [
  { type: 'turn_start' },
  { type: 'message_start', message: { ...message, content: [], stopReason: 'pending' } },
  { type: 'message_end', message },
];
const begun = (id: string, tool = 'bash', args: Fields = { command: 'make' }): Fields => ({
  type: 'tool_execution_start',
  toolCallId: id,
  toolName: tool,
  args,
});
const ran = (id: string, words: string, tool = 'bash', details: Fields = {}): Fields => ({
  type: 'tool_execution_update',
  toolCallId: id,
  toolName: tool,
  partialResult: { content: words === '' ? [] : [text(words)], details },
});
const done = (id: string, words: string, more: Fields = {}): Fields => ({
  type: 'tool_execution_end',
  toolCallId: id,
  toolName: 'bash',
  result: { content: [text(words)], details: {} },
  isError: true,
  durationMs: 7,
  ...more,
});
const answer = (id: string, words: string, more: Fields = {}): Fields => ({
  role: 'toolResult',
  toolCallId: id,
  toolName: 'bash',
  content: [text(words)],
  isError: true,
  durationMs: 7,
  timestamp: clock++,
  ...more,
});
const start: Fields = { type: 'agent_start' };
const over = (willRetry = false): Fields => ({ type: 'agent_end', messages: [], willRetry });
/** A version without `agent_settled`. */
const bareEnd: Fields = { type: 'agent_end', messages: [] };
const settled: Fields = { type: 'agent_settled', aborted: false };
const end = [over(), settled];

let entries = 0;
const entry = (message: Fields, more: Fields = {}): Fields => ({
  type: 'message',
  id: `e${++entries}`,
  timestamp: new Date(clock++).toISOString(),
  message,
  ...more,
});

const bytes = (records: unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(pi, 'stdout', [bytes([header, ...records])]);
const filed = (...records: unknown[]) => eventsOf(pi, 'session', [bytes([header, ...records])]);
const statuses = (events: ReturnType<typeof stdout>) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const ending = (events: ReturnType<typeof stdout>) => {
  const { exit_reason, terminal_evidence, metrics } = outcomeOf(events);
  return [exit_reason, terminal_evidence, metrics.provider_retries, metrics.provider_errors];
};
const problems = (events: ReturnType<typeof stdout>) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const BLOCKED = 'Not on my watch';

describe('how calls end', () => {
  const oneCall = (result: Fields, more: Fields = {}, tool = 'bash') => [
    start,
    ...turn(said([call('c1', tool)], more)),
    begun('c1', tool),
    result,
    ...turn(said([text('ok')], more)),
    ...end,
  ];

  verifies('AG-9', 'a call that could run and never ran was refused, whatever the text', () => {
    const refusal = done('c1', BLOCKED, { durationMs: undefined });
    const events = stdout(...oneCall(refusal));
    expect(statuses(events)).toEqual([['c1', 'denied', null]]);
    expect(kindsOf(events, 'call_started')).toEqual([]);
    expect(kindsOf(events, 'call_decided').map(({ data }) => data)).toEqual([
      { call_id: 'c1', tool: 'Bash', decision: 'deny', reason: BLOCKED, source: 'extension' },
    ]);
    const file = filed(
      entry(asked('go')),
      entry(said([call('c1')])),
      entry(answer('c1', BLOCKED, { durationMs: undefined })),
    );
    expect(statuses(file)).toEqual([['c1', 'denied', null]]);
  });

  verifies('AG-9', 'a call that could not run is an error, not a refusal', () => {
    const never = { durationMs: undefined };
    for (const words of [
      'Tool bash not found',
      'Validation failed for tool "bash":\n  - command: missing',
      'Invalid arguments for tool "bash": Unterminated string',
    ]) {
      expect(statuses(stdout(...oneCall(done('c1', words, never))))).toEqual([
        ['c1', 'error', null],
      ]);
    }
    const cut = stdout(...oneCall(done('c1', 'Left out', never), { stopReason: 'length' }));
    expect(statuses(cut)).toEqual([['c1', 'error', null]]);
  });

  verifies('AG-9', 'without durations, refusals are recognised by text and updates', () => {
    const result = (words: string, tool = 'bash') =>
      statuses(
        stdout(...oneCall(done('c1', words, { toolName: tool, ...old }), old, tool)),
      )[0]?.[1];
    expect([
      result(BLOCKED),
      result('spawn bash ENOENT'),
      result('Path ".env" is protected', 'write'),
      result('Blocked by user', 'edit'),
      result('Could not find the exact text in a.txt.', 'edit'),
      result("EACCES: permission denied, open '/x'", 'write'),
    ]).toEqual(['denied', 'error', 'denied', 'denied', 'error', 'error']);
    const seen = stdout(
      start,
      ...turn(said([call('c1')], old)),
      begun('c1'),
      ran('c1', ''),
      done('c1', BLOCKED, old),
      ...end,
    );
    expect(statuses(seen)).toEqual([['c1', 'error', null]]);
  });

  verifies('AG-9', 'exit codes, timeouts and interruptions are read from the last line', () => {
    const words = (line: string, more: Fields = {}) => stdout(...oneCall(done('c1', line, more)));
    const reported = { content: [text('x')], structuredContent: { exit_code: 0 } };
    expect(
      [
        words('out\n\n\nCommand exited with code 3'),
        words('Command exited with code 4\nout\n\nCommand timed out after 1.5 seconds'),
        words('out\n\nCommand aborted'),
        words('Operation aborted', { durationMs: undefined }),
        words('Command exited with code 3', { isError: false }),
        words('', { isError: false, result: reported }),
        words('', { isError: false, result: { structuredContent: { exit_code: 5 } } }),
      ].map((events) => statuses(events)[0]?.slice(1)),
    ).toEqual([
      ['error', 3],
      ['timeout', null],
      ['cancelled', null],
      ['cancelled', null],
      ['ok', null],
      ['ok', 0],
      ['error', 5],
    ]);
    const other = done('c1', 'x', { toolName: 'mcp__a__b', result: reported, isError: false });
    expect(statuses(stdout(...oneCall(other, {}, 'mcp__a__b')))).toEqual([['c1', 'ok', null]]);
  });

  verifies('AG-3', 'a result reported four times, or only in its turn, is one result', () => {
    const message = said([call('c1')]);
    const result = answer('c1', 'hi', { isError: false });
    const turn_end = { type: 'turn_end', message, toolResults: [result] };
    const full = stdout(
      start,
      ...turn(message),
      begun('c1'),
      done('c1', 'hi', { isError: false }),
      { type: 'message_start', message: result },
      { type: 'message_end', message: result },
      turn_end,
      ...end,
    );
    const lost = stdout(start, ...turn(message).slice(0, 2), turn_end, ...end);
    const unasked = stdout(start, { type: 'message_end', message: result }, ...end);
    const half_lost = stdout(
      start,
      ...turn(message).slice(0, 2),
      begun('c1'),
      done('c1', 'hi', { isError: false }),
      turn_end,
      ...end,
    );
    for (const events of [full, lost, unasked, half_lost]) {
      expect(statuses(events)).toEqual([['c1', 'ok', null]]);
      expect(problems(events)).toEqual([]);
    }
    expect(outcomeOf(lost).metrics.tokens.input).toBe(100);
  });

  verifies('AG-3', 'calls of a message that failed or was aborted never ran', () => {
    const broken = said([text('I'), call('c1')], { stopReason: 'aborted', errorMessage: 'Stop' });
    const events = stdout(start, ...turn(broken), over(), { type: 'agent_settled', aborted: true });
    expect(statuses(events)).toEqual([['c1', 'cancelled', null]]);
    expect(ending(events)).toEqual(['cancelled', 'native_result', 0, 0]);
    expect(problems(events)).toEqual([]);
  });

  verifies('AG-3', 'a stream cut within a message keeps its text and complete calls', () => {
    const update = (event: Fields) => ({ type: 'message_update', assistantMessageEvent: event });
    const message = said([]);
    const events = stdout(
      start,
      ...turn(message).slice(0, 2),
      update({ type: 'text_delta', contentIndex: 0, delta: 'Let me ' }),
      update({ type: 'text_delta', contentIndex: 0, delta: 'see' }),
      update({ type: 'toolcall_end', contentIndex: 1, toolCall: call('c1') }),
    );
    expect(outcomeOf(events).message).toBe('Let me see');
    expect(statuses(events)).toEqual([['c1', 'cancelled', null]]);
    expect(ending(events).slice(0, 2)).toEqual(['incomplete', 'none']);
  });

  verifies('AG-7', 'an edit with one pair of texts has canonical fields', () => {
    const inputs = (args: Fields) => {
      const events = stdout(start, ...turn(said([call('c1', 'edit', args)])), ...end);
      return kindsOf(events, 'call_requested')[0]?.data.input;
    };
    const pair = { oldText: 'a', newText: 'b' };
    const canonical = { file_path: 'f', old_string: 'a', new_string: 'b' };
    const one = { path: 'f', edits: [pair] };
    const two = { path: 'f', edits: [pair, pair] };
    expect(inputs(one)).toEqual({ ...one, ...canonical });
    expect(inputs(two)).toEqual({ ...two, file_path: 'f' });
    expect(inputs({ path: 'f', ...pair })).toEqual({ path: 'f', ...pair, ...canonical });
  });

  verifies('RO-10', 'a file that was read before is not created by a write', () => {
    const uses = [
      call('c1', 'read', { path: 'a' }),
      call('c2', 'write', { path: 'a', content: 'x' }),
    ];
    const more = call('c3', 'write', { path: 'b', content: 'xyz' });
    const fine = (id: string, tool: string) => done(id, 'ok', { toolName: tool, isError: false });
    const events = stdout(
      start,
      ...turn(said([...uses, more])),
      fine('c1', 'read'),
      fine('c2', 'write'),
      fine('c3', 'write'),
      ...end,
    );
    expect(outcomeOf(events).artifacts).toEqual([
      { path: 'a', operation: 'modified', size: 1, source: 'tool' },
      { path: 'b', operation: 'created', size: 3, source: 'tool' },
    ]);
  });

  verifies('AG-9', 'progress shows only the new part of repeated output', () => {
    const events = stdout(
      start,
      ...turn(said([call('c1')])),
      begun('c1'),
      ran('c1', ''),
      ran('c1', 'one\n'),
      ran('c1', 'one\ntwo\n'),
      ran('c1', 'two\nthree\n'),
      done('c1', 'three', { isError: false }),
      ...end,
    );
    expect(kindsOf(events, 'call_started').length).toBe(1);
    expect(kindsOf(events, 'call_progress').map(({ data }) => data.text)).toEqual([
      'one\n',
      'two\n',
      null,
    ]);
  });
});

describe('sub-agents and scripts', () => {
  const child = [
    asked('Task: look'),
    said([text('I look.'), call('k1', 'read', { path: 'x' })]),
    answer('k1', 'content', { toolName: 'read', isError: false }),
    said([text('Found.')]),
  ];
  const details = (count: number) => ({
    results: [{ agent: 'scout', messages: child.slice(0, count) }],
  });
  const asking = said([call('c1', 'subagent', { agent: 'scout', task: 'look' })]);

  verifies(['AG-3', 'AG-12'], "a sub-agent's calls and texts are its own, recorded once", () => {
    const events = stdout(
      start,
      ...turn(asking),
      begun('c1', 'subagent'),
      ran('c1', 'I look.', 'subagent', details(2)),
      ran('c1', 'Found.', 'subagent', details(4)),
      done('c1', 'Found.', {
        toolName: 'subagent',
        isError: false,
        result: { content: [text('Found.')], details: details(4) },
      }),
      ...end,
    );
    const { tool_calls, message, metrics } = outcomeOf(events);
    expect(
      tool_calls.map(({ id, name, parent_id, status }) => [id, name, parent_id, status]),
    ).toEqual([
      ['c1', 'Task', null, 'ok'],
      ['k1', 'Read', 'c1', 'ok'],
    ]);
    expect([message, metrics.steps, metrics.tokens.input]).toEqual(['', 1, 100]);
    expect(problems(events)).toEqual([]);
    const file = filed(
      entry(asked('go')),
      entry(asking),
      entry(answer('c1', 'Found.', { toolName: 'subagent', isError: false, details: details(4) })),
    );
    expect(statuses(file)).toEqual(statuses(events));
  });

  verifies('AG-3', 'nested calls that a session file has only in part are a problem', () => {
    const nestedCalls = {
      calls: [
        { id: 'c1/1', name: 'read', status: 'ok', arguments: { path: 'x' }, durationMs: 2.6 },
        { id: 'c1/2', name: 'bash', status: 'novelty', arguments: { command: 'make' } },
      ],
      complete: false,
    };
    const events = filed(
      entry(asked('go')),
      entry(said([call('c1', 'codemode', { code: 'x' })])),
      entry(answer('c1', 'ok', { toolName: 'codemode', isError: false, nestedCalls })),
    );
    const { tool_calls } = outcomeOf(events);
    expect(tool_calls.map(({ id, parent_id, status }) => [id, parent_id, status])).toEqual([
      ['c1', null, 'ok'],
      ['c1/1', 'c1', 'ok'],
      ['c1/2', 'c1', 'unknown'],
    ]);
    expect(problems(events).filter((said) => said.startsWith('truncated_value'))).toEqual([
      'truncated_value not all calls made by c1 are reported',
    ]);
  });

  verifies('AG-9', 'a nested call’s error decides its status, if it is complete', () => {
    const failures: [string, Fields][] = [
      ['bash', { error: '(no output)\n\nCommand exited with code 3' }],
      ['bash', { error: 'No deleting in this house.' }],
      ['bash', { error: `${'1\n'.repeat(250)}` }],
      ['bash', { error: 'a\n\nCommand timed out after 1 seconds' }],
      ['read', { error: 'ENOENT: no such file or directory' }],
      ['bash', { status: 'unfinished' }],
    ];
    const calls = failures.map(([name, more], index) => {
      return { id: `c1/${index}`, name, status: 'error', arguments: {}, durationMs: 1, ...more };
    });
    const nestedCalls = { calls, complete: true };
    const events = filed(
      entry(asked('go')),
      entry(said([call('c1', 'codemode', { code: 'x' })])),
      entry(answer('c1', 'ok', { toolName: 'codemode', isError: false, nestedCalls })),
    );
    const [, ...nested] = outcomeOf(events).tool_calls;
    expect(nested.map(({ status, exit_code }) => [status, exit_code])).toEqual([
      ['error', 3],
      ['denied', null],
      ['error', null],
      ['timeout', null],
      ['error', null],
      ['cancelled', null],
    ]);
  });

  verifies('EV-2', 'a skill typed as a command is used, one that is only mentioned is not', () => {
    const typed = asked(
      '<skill name="toy" location="/s/toy/SKILL.md">\nBody\n</skill>\n\ngreet Bob',
    );
    const spoken = asked('What does <skill name="toy" location="/s"> mean?');
    const skills = (message: Fields) => [
      outcomeOf(stdout(start, { type: 'message_end', message }, ...end)).skills_used,
      outcomeOf(filed(entry(message))).skills_used,
    ];
    expect([skills(typed), skills(spoken)]).toEqual([
      [['toy'], ['toy']],
      [[], []],
    ]);
  });
});

describe('how runs end on stdout', () => {
  const failed = said([], { stopReason: 'error', errorMessage: '500: {"type":"server_error"}' });
  const retry = { type: 'auto_retry_start', attempt: 1, maxAttempts: 3, delayMs: 2000.4 };
  const fine = said([text('ok')]);

  verifies(['AG-10', 'AG-11'], 'a failure that is retried is a retry, otherwise an error', () => {
    const again = { ...retry, errorMessage: '429: {}' };
    const events = stdout(start, ...turn(failed), over(true), again, start, ...turn(fine), ...end);
    expect(ending(events)).toEqual(['ok', 'native_result', 1, 0]);
    expect(kindsOf(events, 'provider_retried')[0]?.data).toEqual({
      attempt: 1,
      max_attempts: 3,
      kind: 'rate_limit',
      native_kind: null,
      status: 429,
      backoff_ms: 2000,
    });
    const both = [start, ...turn(failed), over(true), again, start, ...turn(failed)];
    expect(ending(stdout(...both, ...end))).toEqual(['provider_error', 'native_result', 1, 1]);
    expect(ending(stdout(...both.slice(0, -3)))).toEqual(['incomplete', 'none', 1, 0]);
    const overflow = stdout(start, ...turn(failed), over(), start, ...turn(fine), ...end);
    expect(ending(overflow)).toEqual(['ok', 'native_result', 0, 0]);
  });

  verifies(['AG-11', 'AG-14'], 'a second prompt reopens the run until it has ended too', () => {
    const first = [start, ...turn(said([text('one')])), ...end];
    const cut = stdout(...first, start, ...turn(said([text('two')])), over());
    expect(ending(cut)).toEqual(['incomplete', 'none', 0, 0]);
    expect(problems(cut)).toEqual([
      'no_end_record the stream has no end record for its last prompt',
    ]);
    const whole = stdout(...first, start, ...turn(said([text('two')])), ...end);
    expect(ending(whole)).toEqual(['ok', 'native_result', 0, 0]);
    expect(outcomeOf(whole).message).toBe('two');
    const lost = stdout(start, ...turn(failed), ...end, start, ...turn(fine), ...end);
    expect(ending(lost)).toEqual(['ok', 'native_result', 0, 1]);
  });

  verifies(
    ['AG-10', 'AG-11'],
    '0.73: agent_end is the end, and nothing is repeated by snapshots',
    () => {
      const v73 = (message: Fields) => ({ ...message, durationMs: undefined });
      const message = v73(said([text('Hi'), call('c1')]));
      const snapshot = { ...message, content: [text('Hi')] };
      const update = (event: Fields) => ({
        type: 'message_update',
        message: snapshot,
        assistantMessageEvent: { ...event, partial: snapshot },
      });
      const [turn_start, message_start, message_end] = turn(message);
      const events = stdout(
        start,
        turn_start,
        message_start,
        update({ type: 'start' }),
        update({ type: 'text_start', contentIndex: 0 }),
        update({ type: 'text_delta', contentIndex: 0, delta: 'Hi' }),
        update({ type: 'text_end', contentIndex: 0, content: 'Hi' }),
        update({ type: 'toolcall_end', contentIndex: 1, toolCall: call('c1') }),
        message_end,
        begun('c1'),
        done('c1', 'Command exited with code 2', old),
        ...turn(v73(said([text('Bye')]))),
        bareEnd,
      );
      expect(statuses(events)).toEqual([['c1', 'error', 2]]);
      expect(ending(events)).toEqual(['ok', 'native_result', 0, 0]);
      const { message: last, metrics } = outcomeOf(events);
      expect([last, metrics.steps, metrics.tokens.input]).toEqual(['Bye', 2, 200]);
      expect(kindsOf(events, 'message_delta').map(({ data }) => data.text)).toEqual(['Hi']);
      expect(problems(events)).toEqual([]);
      const bad = v73(failed);
      expect(ending(stdout(start, ...turn(bad), bareEnd))).toEqual([
        'provider_error',
        'native_result',
        0,
        1,
      ]);
      const again = stdout(start, ...turn(bad), bareEnd, retry, start, ...turn(v73(fine)));
      expect(ending(again)).toEqual(['incomplete', 'none', 1, 0]);
    },
  );

  verifies('AG-11', 'an answer cut by the output limit is an ordinary end', () => {
    const events = stdout(start, ...turn(said([text('cut')], { stopReason: 'length' })), ...end);
    expect(ending(events)).toEqual(['ok', 'native_result', 0, 0]);
  });

  verifies('AG-2', 'unknown records, roles and blocks are problems', () => {
    const events = stdout(
      start,
      { type: 'message_update', assistantMessageEvent: { type: 'novelty' } },
      { type: 'message_update' },
      { type: 'message_end', message: { role: 'novelty' } },
      { type: 'message_end' },
      { type: 'message_end', message: said([{ type: 'novelty' }]) },
      { type: 'summarization_retry_scheduled', errorMessage: 'late' },
      { type: 'thinking_level_changed', level: 'high' },
      { no: 'type' },
      ...end,
    );
    expect(problems(events)).toEqual([
      'unknown_record message_update/novelty',
      'bad_record message_update without its event',
      'unknown_record message/novelty',
      'bad_record message_end without message',
      'unknown_record message/assistant/novelty',
      'bad_record no type',
    ]);
  });
});

describe('session files', () => {
  const failed = (status: number) =>
    said([], { stopReason: 'error', errorMessage: `${status}: {}`, usage: spent(0) });

  verifies(['AG-10', 'AG-11'], 'a failure counts once it is known not to be retried', () => {
    const bad = entry(failed(500), { id: 'bad' });
    const edit = { type: 'context_edit', id: 'x', targetId: 'bad', replacement: null };
    const fine = entry(said([text('ok')]));
    const go = entry(asked('go'));
    expect([
      ending(filed(go, bad, edit, fine)),
      ending(filed(go, bad, fine)),
      ending(filed(go, bad)),
      ending(filed(go, bad, edit)),
      ending(filed(go, bad, entry(asked('again')), fine)),
    ]).toEqual([
      ['ok', 'inferred', 1, 0],
      ['ok', 'inferred', 1, 0],
      ['provider_error', 'inferred', 0, 1],
      ['incomplete', 'none', 1, 0],
      ['ok', 'inferred', 0, 1],
    ]);
  });

  verifies('AG-11', 'how a run ended is inferred from its last message, or unknown', () => {
    const go = entry(asked('go'));
    const reason = (...records: Fields[]) => ending(filed(go, ...records)).slice(0, 2);
    const cut = { type: 'context_edit', id: 'x', targetId: 'len', replacement: null };
    expect([
      reason(),
      reason(entry(said([text('a')]))),
      reason(entry(said([call('c1')]))),
      reason(entry(said([text('a')])), entry(asked('more'))),
      reason(entry(said([text('a')], { stopReason: 'aborted' }))),
      reason(entry(said([text('a')], { stopReason: 'length' }), { id: 'len' }), cut),
    ]).toEqual([
      ['incomplete', 'none'],
      ['ok', 'inferred'],
      ['incomplete', 'none'],
      ['incomplete', 'none'],
      ['cancelled', 'inferred'],
      ['ok', 'inferred'],
    ]);
  });

  verifies('AG-10', 'requests without a message are counted', () => {
    const warm = { type: 'usage', id: 'u', kind: 'cache_warm', usage: spent(7) };
    const events = filed(entry(asked('go')), entry(said([text('ok')])), warm);
    const { tokens, cost } = outcomeOf(events).metrics;
    expect([tokens.input, tokens.output, cost]).toEqual([107, 20, 1]);
    expect(kindsOf(events, 'problem')).toEqual([]);
  });

  verifies(['AG-10', 'AG-15'], 'since_ms leaves out earlier runs, not session and model', () => {
    const model = (modelId: string) => ({
      type: 'model_change',
      timestamp: new Date(clock++).toISOString(),
      modelId,
    });
    const earlier = [header, model('first'), entry(asked('one')), entry(said([text('1')]))];
    const since_ms = clock;
    const later = [model('second'), entry(asked('two')), entry(said([text('2')]))];
    const decoder = pi.session?.decoder({ since_ms });
    const drafts: Draft[] = [];
    for (const record of [...earlier, ...later]) decoder?.record(record, drafts);
    decoder?.end(drafts);
    const first = drafts[0];
    expect(first?.kind === 'session_started' && [first.data.session_id, first.data.model]).toEqual([
      ID,
      'second',
    ]);
    const texts = drafts.flatMap((draft) =>
      draft.kind === 'message_finished' ? [draft.data.text] : [],
    );
    expect(texts).toEqual(['two', '2']);
    const used = drafts.filter((draft) => draft.kind === 'usage_reported');
    expect(used.map(({ data }) => [data.mode, data.usage.input, data.cost_usd])).toEqual([
      ['add', 100, 0.5],
      ['total', 100, 0.5],
    ]);
  });

  verifies('AG-2', 'unknown entries are problems, documented ones are not', () => {
    const events = filed(
      { type: 'label', id: 'a' },
      { type: 'session_info', id: 'b', name: 'x' },
      { type: 'novelty', id: 'c' },
      { type: 'message', id: 'd' },
      entry({ role: 'bashExecution', command: 'ls' }),
      entry({ role: 'novelty' }),
      { no: 'type' },
    );
    const decode = problems(events).filter((said) => !said.startsWith('no_end_record'));
    expect(decode).toEqual([
      'unknown_record novelty',
      'bad_record message without role',
      'unknown_record message/novelty',
      'bad_record no type',
    ]);
  });

  verifies(
    'AG-15',
    'the file yields the same as the stream, except for facts that it lacks',
    async () => {
      const recordings = recordingsIn(testdata);
      const facts = async (scenario: string) => {
        const recording = recordings.find((one) => one.scenario === scenario);
        const outcome = outcomeOf(await wholeRun(pi, recording!));
        const calls = outcome.tool_calls.map(({ duration_ms: _, ...one }) => ({
          ...one,
          exit_code: one.status === 'ok' ? null : one.exit_code,
          outputs: one.parent_id === null ? one.outputs : null,
        }));
        return { calls, message: outcome.message, artifacts: outcome.artifacts };
      };
      const apart = recordings.filter(
        ({ scenario, channel }) => channel === 'session' && scenario.endsWith('-session'),
      );
      expect(apart.length).toBe(9);
      for (const { scenario } of apart) {
        const name = scenario.replace('-session', '');
        const live = await facts(name);
        const message = name.startsWith('interrupted') ? '' : live.message;
        expect(await facts(scenario), scenario).toEqual({ ...live, message });
      }
    },
  );

  verifies('AG-15', 'the file of a session is found where the CLI keeps it', async () => {
    const home = await mkdtemp(join(tmpdir(), 'tacho-pi-'));
    try {
      const sessions = join(home, '.pi', 'agent', 'sessions');
      const folder = join(sessions, '--p-my_proj.x--');
      const flat = join(home, 'flat');
      const name = `2026-01-01T00-00-00-000Z_${ID}.jsonl`;
      await mkdir(folder, { recursive: true });
      await mkdir(flat);
      for (const path of [join(folder, name), join(flat, name)]) await writeFile(path, '');
      const find = (session_id: string, cwd: string, env: NodeJS.ProcessEnv = {}) =>
        pi.session?.find({ session_id, cwd, env: { HOME: home, ...env } });
      expect([
        await find(ID, '/p/my_proj.x'),
        await find(ID, '/some/where'),
        await find(ID, '/p/my_proj.x', { PI_CODING_AGENT_DIR: '~/.pi/agent' }),
        await find(ID, '/p/my_proj.x', { PI_CODING_AGENT_DIR: join(home, 'none') }),
        await find(ID, '/p/my_proj.x', { PI_CODING_AGENT_SESSION_DIR: flat }),
        await find(`../${ID}`, '/p/my_proj.x'),
        await find('00000000-0000-4000-8000-000000000000', '/p/my_proj.x'),
      ]).toEqual([
        join(folder, name),
        join(folder, name),
        join(folder, name),
        null,
        join(flat, name),
        null,
        null,
      ]);
      expect(await pi.session?.parts(join(flat, name))).toEqual([
        { path: join(flat, name), parent_call_id: null },
      ]);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: '@file --help "hi" $HOME\n🚀',
    model: null,
    approve: 'default',
    resume: null,
    stream: true,
    args: [],
    command: null,
    self: { node: 'node', entry: 'entry' },
  };

  verifies('AG-18', 'the prompt is passed on stdin and no flags are added', () => {
    expect(pi.launch({ ...request, approve: 'edits' })).toEqual({
      command: 'pi',
      args: ['-p', '--mode', 'json'],
      env: {},
      stdin: '@file --help "hi" $HOME\n🚀',
    });
  });

  verifies('AG-18', 'every option of the request becomes a flag; its arguments come last', () => {
    const plan = pi.launch({
      ...request,
      model: 'anthropic/opus',
      approve: 'all',
      resume: ID,
      args: ['--tools', 'read,bash'],
      command: ['/opt/node', 'cli.js'],
    });
    expect([plan.command, ...plan.args]).toEqual(
      `/opt/node cli.js -p --mode json --model anthropic/opus --approve --session ${ID} --tools read,bash`.split(
        ' ',
      ),
    );
  });
});
