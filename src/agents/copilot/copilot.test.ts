import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
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
import { copilot } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
const ID = '11111111-2222-4333-8444-555555555555';

testAgent(copilot, testdata);

type Fields = Record<string, unknown>;

/** A record at second `at` of the run. */
const event = (type: string, data: Fields = {}, more: Fields = {}, at = 0): Fields => ({
  type,
  data,
  id: `${type}-${at}`,
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, at)).toISOString(),
  parentId: null,
  ...more,
});
const tools = event('session.tools_updated', { model: 'm-1' });
const turn = (turnId = '0', more: Fields = {}, at = 0) =>
  event('assistant.turn_start', { turnId, interactionId: 'i1' }, more, at);
const turnEnd = (turnId = '0') => event('assistant.turn_end', { turnId });
const asks = (id: string, name: string, input: unknown = {}, more: Fields = {}): Fields => ({
  toolCallId: id,
  name,
  arguments: input,
  type: 'function',
  ...more,
});
const said = (id: string, content: string, toolRequests: Fields[] = [], more: Fields = {}) =>
  event('assistant.message', {
    messageId: id,
    content,
    toolRequests,
    model: 'm-1',
    turnId: '0',
    ...more,
  });
const taken = (id: string, name: string, at = 1, more: Fields = {}) =>
  event(
    'tool.execution_start',
    { toolCallId: id, toolName: name, arguments: {}, model: 'm-1', turnId: '0', ...more },
    {},
    at,
  );
const done = (id: string, more: Fields = {}, at = 2) =>
  event('tool.execution_complete', { toolCallId: id, success: true, ...more }, {}, at);
const result = (exitCode: unknown = 0): Fields => ({
  type: 'result',
  timestamp: '2026-01-01T00:00:09.000Z',
  sessionId: ID,
  exitCode,
  usage: {},
});
const shutdown = (more: Fields = {}) =>
  event('session.shutdown', { shutdownType: 'routine', modelMetrics: {}, ...more });
const used = (inputTokens: number, at = 0) =>
  event(
    'session.usage_record',
    { usage: { model: 'm-1', inputTokens, outputTokens: 5, cacheReadTokens: 4 } },
    {},
    at,
  );

const bytes = (records: unknown[]) =>
  Buffer.from(records.map((r) => `${JSON.stringify(r)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(copilot, 'stdout', [bytes(records)]);
const filed = (...records: unknown[]) => eventsOf(copilot, 'session', [bytes(records)]);
const drafts = (decoder = copilot.stream(), ...records: unknown[]): Draft[] => {
  const out: Draft[] = [];
  for (const record of records) decoder.record(record, out);
  decoder.end(out);
  return out;
};
const statuses = (events: ReturnType<typeof stdout>) =>
  outcomeOf(events).tool_calls.map(({ id, status, exit_code }) => [id, status, exit_code]);
const problems = (events: ReturnType<typeof stdout>) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const ends = (events: ReturnType<typeof stdout>) => {
  const { exit_reason, terminal_evidence, message } = outcomeOf(events);
  return [exit_reason, terminal_evidence, message];
};

describe('calls', () => {
  verifies('AG-9', "the tool's success and the command's exit code make the status", () => {
    const run = (more: Fields) =>
      statuses(stdout(turn(), said('a', '', [asks('c1', 'bash')]), done('c1', more), result()));
    const failed = (code: string) => run({ success: false, error: { message: 'no', code } });
    expect([
      run({ shellExecution: { exitCode: 3 } }),
      run({ shellExecution: { exitCode: 0 } }),
      run({}),
      failed('failure'),
      failed('denied'),
      failed('rejected'),
      failed('timeout'),
      run({ success: undefined }),
    ]).toEqual(
      [
        ['error', 3],
        ['ok', 0],
        ['ok', null],
        ['error', null],
        ['denied', null],
        ['denied', null],
        ['timeout', null],
        ['unknown', null],
      ].map((end) => [['c1', ...end]]),
    );
  });

  verifies('AG-9', 'a refused call never ran, and its refusal is a decision', () => {
    const events = stdout(
      turn(),
      said('a', '', [asks('c1', 'bash', { command: 'rm x' })]),
      taken('c1', 'bash'),
      done('c1', { success: false, error: { message: 'not allowed', code: 'denied' } }),
      result(),
    );
    const kinds = events.map(({ kind }) => kind).filter((kind) => kind.startsWith('call_'));
    expect(kinds).toEqual(['call_requested', 'call_decided', 'call_finished']);
    expect(kindsOf(events, 'call_decided')[0]?.data).toEqual({
      call_id: 'c1',
      tool: 'Bash',
      decision: 'deny',
      reason: 'not allowed',
      source: null,
    });
    expect(kindsOf(events, 'call_finished')[0]?.data.duration_ms).toBe(1000);
  });

  test('a call starts with its first output, at the time when the CLI accepted it', () => {
    const out = drafts(
      copilot.stream(),
      turn(),
      said('a', '', [asks('c1', 'bash', { command: 'x' })]),
      taken('c1', 'bash', 1),
      event('tool.shell_output', { toolCallId: 'c1', stream: 'stderr', text: 'oh' }, {}, 5),
      event('tool.execution_partial_result', { toolCallId: 'c1', partialOutput: 'oh' }, {}, 5),
    ).filter(({ kind }) => kind === 'call_started' || kind === 'call_progress');
    expect(out).toEqual([
      { kind: 'call_started', at_ms: Date.UTC(2026, 0, 1, 0, 0, 1), data: { call_id: 'c1' } },
      {
        kind: 'call_progress',
        at_ms: Date.UTC(2026, 0, 1, 0, 0, 5),
        data: { call_id: 'c1', text: 'oh', elapsed_ms: null, stream: 'stderr' },
      },
    ]);
  });

  test('permissions of the session file are questions, answers and decisions', () => {
    const about = { requestId: 'r1', toolCallId: 'c1' };
    const events = filed(
      turn(),
      said('a', '', [asks('c1', 'bash')]),
      taken('c1', 'bash'),
      event('permission.requested', {
        ...about,
        permissionRequest: { kind: 'shell', intention: 'List' },
      }),
      event('permission.completed', {
        ...about,
        result: { kind: 'approved' },
        decisionSource: 'human_response',
      }),
      done('c1', { shellExecution: { exitCode: 0 } }),
      shutdown(),
    );
    const kinds = /^(call|permission)_/;
    expect(
      events.filter(({ kind }) => kinds.test(kind)).map(({ kind, data }) => [kind, data]),
    ).toMatchObject([
      ['call_requested', { call_id: 'c1' }],
      ['permission_asked', { request_id: 'r1', call_id: 'c1', tool: 'Bash', reason: 'List' }],
      ['permission_answered', { decision: 'allow', source: 'human_response' }],
      ['call_decided', { decision: 'allow', source: 'human_response', reason: 'approved' }],
      ['call_started', { call_id: 'c1' }],
      ['call_finished', { status: 'ok', exit_code: 0 }],
    ]);
  });

  verifies('AG-3', 'calls made by the CLI or the user are not the model’s', () => {
    const own = { toolCallId: 'u1', toolName: 'read_agent', arguments: { agent_id: 'x' } };
    const events = stdout(
      tools,
      turn(),
      said('a', '', [asks('c1', 'task', { prompt: 'look', mode: 'background' })]),
      taken('c1', 'task'),
      done('c1', { result: { content: 'started' } }),
      event('tool.execution_start', own),
      done('u1', { success: false, error: { message: 'no', code: 'failure' } }),
      event('assistant.message', {
        messageId: 'b',
        content: '',
        toolRequests: [asks('u2', 'read_agent')],
      }),
      event('tool.execution_start', { ...own, toolCallId: 'u2' }),
      done('u2'),
      event('tool.user_requested', { toolCallId: 'u3', toolName: 'bash', arguments: {} }),
      event('tool.execution_start', { toolCallId: 'u3', toolName: 'bash', arguments: {} }),
      done('u3', { isUserRequested: true }),
      said('d', 'Done.'),
      result(),
    );
    expect(statuses(events)).toEqual([['c1', 'ok', null]]);
    expect(kindsOf(events, 'notice').map(({ data }) => data)).toEqual([
      { code: 'call_not_by_model', text: 'read_agent' },
      { code: 'call_not_by_model', text: 'read_agent' },
      { code: 'call_not_by_model', text: 'bash' },
    ]);
    expect([problems(events), outcomeOf(events).message]).toEqual([[], 'Done.']);
  });

  verifies('AG-3', 'a version that does not name turns and models loses no call', () => {
    const bare = { model: undefined, turnId: undefined };
    const events = stdout(
      turn(),
      said('a', 'Looking.', [asks('c1', 'view', { path: 'a' })], bare),
      taken('c1', 'view', 1, bare),
      done('c1'),
      taken('c2', 'bash', 1, bare),
      done('c2'),
      result(),
    );
    expect(statuses(events)).toEqual([
      ['c1', 'ok', null],
      ['c2', 'ok', null],
    ]);
  });

  verifies(
    'AG-6',
    'an MCP call is named after its server and tool, however they are spelled',
    () => {
      const mcp = { mcpServerName: 'my-box', mcpToolName: 'add-two' };
      const events = stdout(
        turn(),
        said('a', '', [asks('c1', 'my-box-add-two', { a: 1 }, mcp), asks('c2', 'my-box-x')]),
        done('c1', { success: false, error: { message: 'bad' }, result: { content: 'isError' } }),
        done('c2', { success: false, error: { message: 'does not exist', code: 'failure' } }),
        result(),
      );
      expect(outcomeOf(events).tool_calls).toMatchObject([
        { name: 'mcp__my-box__add-two', native_name: 'my-box-add-two', outputs: 'isError' },
        { name: 'my-box-x', native_name: 'my-box-x', status: 'error' },
      ]);
    },
  );

  verifies('AG-7', 'a patch is one text: kept whole, with the file if there is only one', () => {
    const one = '*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n';
    const two = '*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** Delete File: b.txt\n';
    const events = stdout(
      turn(),
      said('a', '', [asks('c1', 'apply_patch', one, { type: 'custom' })]),
      done('c1', { fileEdits: [{ path: '/p/a.txt', kind: 'create' }] }),
      said('b', '', [asks('c2', 'apply_patch', two, { type: 'custom' })]),
      done('c2'),
      result(),
    );
    expect(outcomeOf(events).tool_calls.map(({ name, inputs }) => [name, inputs])).toEqual([
      ['Edit', { patch: one, filename: 'a.txt', file_path: 'a.txt' }],
      ['Edit', { patch: two }],
    ]);
    const changed = kindsOf(events, 'file_changed').map(({ data }) => [data.path, data.operation]);
    expect(changed).toEqual([
      ['/p/a.txt', 'created'],
      ['a.txt', 'modified'],
      ['b.txt', 'deleted'],
    ]);
  });

  test('edits come from the calls in a version that does not list them', () => {
    const events = stdout(
      turn(),
      said('a', '', [
        asks('c1', 'create', { path: 'a', file_text: 'xy' }),
        asks('c2', 'edit', { path: 'b', old_str: '1', new_str: '2' }),
        asks('c3', 'create', { path: 'c', file_text: 'x' }),
      ]),
      done('c1'),
      done('c2', { result: { content: 'ok', detailedContent: '\ndiff --git a/b b/b\n-1\n+2\n' } }),
      done('c3', { success: false, error: { message: 'exists', code: 'failure' } }),
      result(),
    );
    expect(kindsOf(events, 'file_changed').map(({ data }) => data)).toEqual([
      { path: 'a', operation: 'created', call_id: 'c1', source: 'tool', diff: null, size: 2 },
      {
        path: 'b',
        operation: 'modified',
        call_id: 'c2',
        source: 'tool',
        diff: 'diff --git a/b b/b\n-1\n+2\n',
        size: null,
      },
    ]);
  });

  test('a skill loaded by a call counts once; a skill requested by the user counts too', () => {
    const invoked = (name: string) => event('skill.invoked', { name, path: `/s/${name}/SKILL.md` });
    const events = filed(
      invoked('typed'),
      turn(),
      said('a', '', [asks('c1', 'skill', { skill: 'loaded' })]),
      done('c1'),
      invoked('loaded'),
      shutdown(),
    );
    expect(outcomeOf(events).skills_used).toEqual(['typed', 'loaded']);
    expect(kindsOf(events, 'skill_used').map(({ data }) => data)).toEqual([
      { skill: 'typed', call_id: null },
    ]);
  });
});

describe('sub-agents', () => {
  verifies('AG-12', 'calls and texts belong to the call that started the agent', () => {
    const sub = { agentId: 'g1' };
    const events = stdout(
      tools,
      turn(),
      said('a', 'Delegating.', [asks('c1', 'task', { prompt: 'look' })]),
      taken('c1', 'task'),
      event('subagent.started', { toolCallId: 'c1', agentName: 'explore' }, sub),
      turn('0', sub),
      {
        ...said('s1', 'Sub words.', [asks('c2', 'view', { path: 'a' })], { model: 'm-2' }),
        ...sub,
      },
      { ...done('c2'), ...sub },
      { ...said('s2', 'More sub words.'), agentId: 'nobody' },
      turnEnd(),
      event('session.error', { errorType: 'query', message: 'sub failed' }, sub),
      result(),
    );
    expect(outcomeOf(events).tool_calls.map(({ id, parent_id }) => [id, parent_id])).toEqual([
      ['c1', null],
      ['c2', 'c1'],
    ]);
    const { message, metrics, exit_reason } = outcomeOf(events);
    expect([message, metrics.steps, metrics.model_name, exit_reason]).toEqual([
      'Delegating.',
      1,
      'm-1',
      'ok',
    ]);
  });
});

describe('the end', () => {
  const abort = event('abort', { reason: 'user_abort' });
  const failure = event('session.error', {
    errorType: 'query',
    message: '500 no',
    statusCode: 500,
  });

  verifies(['AG-11', 'WA-9'], 'a session on a terminal waits after an answer without calls', () => {
    const ask = event('user.message', { content: 'go' });
    const answered = [ask, turn(), said('a', 'Done.'), turnEnd()];
    const calling = [turn('1'), said('b', 'More.', [asks('t1', 'bash')]), taken('t1', 'bash')];
    expect([
      ends(filed(...answered))[0],
      ends(filed(...answered, ask))[0],
      ends(filed(...answered, ...calling))[0],
      ends(filed(...answered, shutdown(), ...answered))[0],
      ends(stdout(...answered))[0],
    ]).toEqual(['ok', 'incomplete', 'incomplete', 'ok', 'incomplete']);
  });

  verifies('AG-11', 'an abort decides, with or without an end record with exit code 0', () => {
    const begin = [tools, turn(), said('a', 'Working.'), turnEnd(), turn('1'), turnEnd('1')];
    expect([ends(stdout(...begin, abort, result())), ends(stdout(...begin, abort))]).toEqual([
      ['cancelled', 'native_result', 'Working.'],
      ['cancelled', 'none', 'Working.'],
    ]);
    expect(problems(stdout(...begin, abort))).toEqual([
      'no_end_record the stream has no end record',
    ]);
    expect(ends(filed(...begin, abort, shutdown()))).toEqual([
      'cancelled',
      'native_result',
      'Working.',
    ]);
  });

  verifies('AG-11', 'a failure counts until the conversation continues', () => {
    const again = event('user.message', { content: 'again' });
    expect([
      ends(stdout(tools, turn(), failure, result(1))),
      ends(stdout(tools, turn(), failure)),
      ends(stdout(tools, turn(), failure, again, turn(), said('b', 'Fine.'), result())),
      ends(stdout(tools, turn(), abort, turn(), said('b', 'Fine.'), result())),
      ends(stdout(tools, turn(), said('b', 'Fine.'), result(2))),
      ends(stdout(tools, turn(), said('b', 'Fine.'), result('x'))),
      ends(filed(turn(), shutdown({ shutdownType: 'error', errorReason: 'broke' }))),
      ends(
        stdout(
          tools,
          turn(),
          event('session.error', { errorType: 'odd', message: 'x' }),
          result(1),
        ),
      ),
    ]).toEqual([
      ['provider_error', 'native_result', ''],
      ['provider_error', 'none', ''],
      ['ok', 'native_result', 'Fine.'],
      ['ok', 'native_result', 'Fine.'],
      ['agent_error', 'native_result', 'Fine.'],
      ['agent_error', 'native_result', 'Fine.'],
      ['agent_error', 'native_result', ''],
      ['agent_error', 'native_result', ''],
    ]);
  });

  verifies('AG-11', 'an interrupted call is cancelled after it was running', () => {
    const events = stdout(
      tools,
      turn(),
      said('a', '', [asks('c1', 'bash', { command: 'sleep 9' })]),
      taken('c1', 'bash'),
      event('agent.interrupted', { activity: 'tool_call', toolCallIds: ['c1'] }),
      abort,
    );
    expect(statuses(events)).toEqual([['c1', 'cancelled', null]]);
    expect(kindsOf(events, 'call_started').length).toBe(1);
  });

  test('retries carry the facts of the failed call', () => {
    const events = stdout(
      tools,
      turn(),
      event('model.call_failure', { statusCode: 429, retryAttempt: 0 }),
      event('assistant.turn_retry', { turnId: '0', reason: 'rate_limit' }),
      said('a', 'ok'),
      result(),
    );
    expect(kindsOf(events, 'provider_retried').map(({ data }) => data)).toEqual([
      {
        attempt: 1,
        max_attempts: null,
        kind: 'rate_limit',
        native_kind: 'rate_limit',
        status: 429,
        backoff_ms: null,
      },
    ]);
  });
});

describe('sessions', () => {
  const start = event('session.start', {
    sessionId: ID,
    copilotVersion: '1.0.102',
    selectedModel: 'm-1',
    context: { cwd: '/p' },
  });
  const first = [start, turn(), used(10), said('a', 'One.', [asks('c1', 'bash')]), done('c1')];
  const resume = event('session.resume', { eventCount: 9, selectedModel: 'm-1' }, {}, 30);
  const second = [
    turn('0', {}, 30),
    used(20, 31),
    said('b', 'Two.', [asks('c1', 'bash')]),
    done('c1', {}, 32),
  ];

  verifies(
    ['AG-10', 'AG-15'],
    'a resumed session shows all calls, and the cost of the last run',
    () => {
      const events = filed(...first, shutdown(), resume, ...second, shutdown());
      const { message, metrics, exit_reason, session_id } = outcomeOf(events);
      expect(statuses(events)).toEqual([
        ['c1', 'ok', null],
        ['c1', 'ok', null],
      ]);
      expect([message, metrics.steps, exit_reason, session_id]).toEqual(['Two.', 2, 'ok', ID]);
      expect(metrics.tokens).toMatchObject({
        input: 16,
        output: 5,
        cache_read: 4,
        reasoning: null,
      });
    },
  );

  verifies('AG-11', 'a resumed session that was cut is not ok, although its first run was', () => {
    const events = filed(...first, shutdown(), resume, ...second);
    expect(ends(events)).toEqual(['incomplete', 'none', 'Two.']);
  });

  verifies(
    'AG-3',
    'a call left open by the first run is not the call with the same id in the next',
    () => {
      const [s, t, u, m] = first;
      const events = filed(
        s,
        t,
        u,
        m,
        event('abort', { reason: 'x' }),
        shutdown(),
        resume,
        ...second,
      );
      expect(statuses(events)).toEqual([
        ['c1', 'cancelled', null],
        ['c1', 'ok', null],
      ]);
    },
  );

  verifies(
    ['AG-10', 'AG-15'],
    'since_ms leaves out earlier runs, but keeps the facts of the session',
    () => {
      const since_ms = Date.UTC(2026, 0, 1, 0, 0, 30);
      const timed = second.map((record) => ({ ...record, timestamp: resume.timestamp }));
      const end = { ...shutdown({ modelMetrics: { x: { usage: { inputTokens: 99 } } } }) };
      const out = drafts(
        copilot.session?.decoder({ since_ms }),
        ...first,
        shutdown(),
        resume,
        ...timed,
        { ...end, timestamp: resume.timestamp },
      );
      expect(out.map(({ kind }) => kind)).toEqual([
        'session_started',
        'step_started',
        'usage_reported',
        'message_finished',
        'call_requested',
        'call_started',
        'call_finished',
        'agent_ended',
      ]);
      expect(out[0]?.data).toMatchObject({ session_id: ID, model: 'm-1', cwd: '/p' });
    },
  );

  verifies('AG-10', 'a version without figures per call reports them at its end', () => {
    const modelMetrics = {
      a: { usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 1 } },
      b: { usage: { inputTokens: 1, outputTokens: 1 } },
    };
    const events = filed(start, turn(), said('a', 'One.'), shutdown({ modelMetrics }));
    expect(outcomeOf(events).metrics.tokens).toMatchObject({ input: 6, output: 3, cache_read: 4 });
    const again = filed(start, resume, turn(), shutdown({ modelMetrics }));
    expect(outcomeOf(again).metrics.tokens).toMatchObject({ input: null, output: null });
  });

  test('hooks are recorded with their outcome', () => {
    const events = filed(
      start,
      event('hook.start', { hookType: 'preToolUse' }),
      event('hook.end', { hookType: 'preToolUse', success: false, error: { message: 'no' } }),
      shutdown(),
    );
    expect(kindsOf(events, 'hook_finished').map(({ data }) => data)).toEqual([
      { name: 'preToolUse', event: 'preToolUse', exit_code: null, outcome: 'error', output: 'no' },
    ]);
  });

  verifies(
    'AG-15',
    'sessions are found where the CLI keeps them, and ids cannot point outside',
    async () => {
      const home = await mkdtemp(join(tmpdir(), 'copilot-'));
      try {
        const folder = join(home, '.copilot', 'session-state');
        await mkdir(join(folder, ID), { recursive: true });
        const path = join(folder, ID, 'events.jsonl');
        const old = join(folder, 'old.jsonl');
        await writeFile(path, '');
        await writeFile(old, '');
        const find = (session_id: string, env: NodeJS.ProcessEnv) =>
          copilot.session?.find({ session_id, cwd: home, env });
        expect([
          await find(ID, { HOME: home }),
          await find(ID, { HOME: '/nowhere', COPILOT_HOME: '.copilot' }),
          await find('old', { HOME: home }),
          await find('gone', { HOME: home }),
          await find(`../session-state/${ID}`, { HOME: home }),
        ]).toEqual([path, path, old, null, null]);
        expect(await copilot.session?.parts(path)).toEqual([{ path, parent_call_id: null }]);
      } finally {
        await rm(home, { recursive: true });
      }
    },
  );
});

/** Only the session file has the work folder, so the suite's own comparison would find other paths: two folders. */
verifies('AG-15', 'both channels of write-edit yield the same calls and files', async () => {
  const recordings = recordingsIn(testdata);
  const facts = async (scenario: string) => {
    const recording = recordings.find((one) => one.scenario === scenario);
    const outcome = outcomeOf(await wholeRun(copilot, recording!));
    const calls = outcome.tool_calls.map(({ duration_ms: _, ...call }) => call);
    const artifacts = outcome.artifacts.map(({ path, ...rest }) => ({
      ...rest,
      path: path.replace('/home/user/project/', ''),
    }));
    return { calls, artifacts, message: outcome.message };
  };
  expect(await facts('write-edit-session')).toEqual(await facts('write-edit'));
});

describe('other records', () => {
  verifies('AG-2', 'unknown types and records without data are problems', () => {
    const events = stdout(
      tools,
      turn(),
      event('session.of_the_future', {}),
      { type: 'assistant.message', timestamp: '2026-01-01T00:00:01.000Z' },
      { data: {} },
      { dir: 'agent->client', t: 1, msg: { jsonrpc: '2.0' } },
      event('tool.execution_complete', {}),
      event('assistant.message', { toolRequests: [1, {}], model: 'm-1' }),
      result(),
    );
    expect(problems(events)).toEqual([
      'unknown_record session.of_the_future',
      'bad_record assistant.message without data',
      'bad_record no type',
      'unknown_record a JSON-RPC message',
      'bad_record tool.execution_complete without toolCallId',
      'bad_record a tool request that is not an object',
      'bad_record a tool request without id or name',
    ]);
  });

  test('a thought is recorded once, though stdout repeats it', () => {
    const events = stdout(
      tools,
      turn(),
      event('assistant.reasoning_delta', { reasoningId: 'r', deltaContent: 'Hm' }),
      said('a', 'Yes.', [], { reasoningText: 'Hm.' }),
      event('assistant.reasoning', { reasoningId: 'r', content: 'Hm.' }),
      result(),
    );
    expect(kindsOf(events, 'thinking_finished').map(({ data }) => data.text)).toEqual(['Hm.']);
  });

  test('a message of the CLI to people is a notice, unless another record repeats it', () => {
    const events = stdout(
      tools,
      turn(),
      event('session.info', { infoType: 'file_created', message: '/p/a' }),
      event('session.info', { infoType: 'tip', message: 'Try this.' }),
      event('session.task_complete', { summary: 'All done.' }),
      result(),
    );
    expect(kindsOf(events, 'notice').map(({ data }) => data)).toEqual([
      { code: 'tip', text: 'Try this.' },
      { code: 'session.task_complete', text: 'All done.' },
    ]);
  });

  verifies('AG-10', "a host's log of the SDK is read, with its tokens", () => {
    const log = (msg: unknown, dir = 'event') => ({ dir, t: 1, msg });
    const figures = { model: 'm-1', inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 };
    const events = stdout(
      log({ sessionId: ID }, 'note'),
      log(event('session.start', { sessionId: ID, selectedModel: 'm-1' })),
      log(turn()),
      log(event('assistant.usage', figures)),
      log(said('a', 'Hi.')),
      log({ kind: 'approve-once' }, 'permission-response'),
      log(shutdown({ modelMetrics: { 'm-1': { usage: figures } } })),
      log({ errs: [] }, 'exit'),
    );
    expect([ends(events), problems(events)]).toEqual([['ok', 'native_result', 'Hi.'], []]);
    expect(outcomeOf(events).metrics.tokens).toMatchObject({ input: 6, output: 2, cache_read: 4 });
  });
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
  const base = ['--output-format', 'json', '--stream', 'off'];

  verifies('AG-18', 'the prompt is one argument, even if it looks like an option', () => {
    expect(copilot.launch(request)).toEqual({
      command: 'copilot',
      args: ['-p', request.prompt, ...base],
      env: {},
      stdin: null,
    });
    expect(copilot.launch({ ...request, prompt: '--help' }).args).toEqual([
      '--prompt=--help',
      ...base,
    ]);
  });

  verifies('AG-18', 'a prompt too long for an argument is passed on stdin', () => {
    const prompt = 'ą'.repeat(20_000);
    const { args, stdin } = copilot.launch({ ...request, prompt });
    expect([args, stdin === prompt]).toEqual([base, true]);
  });

  verifies('AG-18', 'every option of the request becomes a flag; its arguments come last', () => {
    const plan = copilot.launch({
      ...request,
      model: 'gpt-5.4',
      approve: 'all',
      resume: ID,
      stream: true,
      args: ['--deny-tool', 'write'],
      command: ['/opt/node', 'cli.js'],
    });
    expect(plan.command).toBe('/opt/node');
    expect(plan.args).toEqual([
      'cli.js',
      '-p',
      request.prompt,
      '--output-format',
      'json',
      '--stream',
      'on',
      '--model',
      'gpt-5.4',
      '--allow-all',
      `--resume=${ID}`,
      '--deny-tool',
      'write',
    ]);
    expect(copilot.launch({ ...request, approve: 'edits' }).args).toContain('--allow-tool=write');
  });
});
