/** `codex app-server`: read by the same decoder, which recognises its records. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  eventsOf,
  filledIn,
  kindsOf,
  outcomeOf,
  recordingsIn,
  testAgent,
} from '../../../test/test-agent.ts';
import { Pipeline } from '../../capture/pipeline.ts';
import { Reconciler } from '../../capture/reconcile.ts';
import { recordedRun } from '../../capture/run-info.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { codex } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata', 'app-server');

/** The capabilities that this stream has live and `exec --json` has not. */
const { shapes: _, ...agent } = codex;
const server: Agent = {
  ...agent,
  capabilities: {
    ...codex.capabilities,
    steps: 'live',
    text_deltas: 'live',
    denials: 'live',
    sub_agents: 'live',
    usage: 'live',
    model: 'live',
  },
};

testAgent(server, testdata, {
  unseen: { skills: 'they are read as files', decisions: 'the client’s answers are not in it' },
});

type Fields = Record<string, unknown>;

const lines = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const events = (...records: unknown[]) => eventsOf(codex, 'stdout', [lines(records)]);
const problems = (some: Event[]) =>
  kindsOf(some, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const calls = (some: Event[]) =>
  outcomeOf(some).tool_calls.map(({ id, name, status, parent_id }) => [
    id,
    name,
    status,
    parent_id,
  ]);

const say = (method: string, params: Fields) => ({ method, params });
const started = { id: 2, result: { thread: { id: 'r', parentThreadId: null }, model: 'm' } };
const turn = (threadId: string, id: string, rootTurnId = id) =>
  say('turn/started', { threadId, turn: { id, rootTurnId } });
const done = (threadId: string, id: string, status = 'completed') =>
  say('turn/completed', { threadId, turn: { id, status } });
const item = (phase: string, threadId: string, type: string, more: Fields) =>
  say(`item/${phase}`, { threadId, item: { type, ...more } });
const command = (phase: string, thread: string, id: string, status = 'completed') =>
  item(phase, thread, 'commandExecution', { id, command: 'make', status, exitCode: null });
const usage = (turnId: string, outputTokens: number) =>
  say('thread/tokenUsage/updated', {
    threadId: 'r',
    turnId,
    tokenUsage: { total: { outputTokens: 1000 }, last: { inputTokens: 1, outputTokens } },
  });

verifies(
  ['AG-3', 'AG-12'],
  'a sub-agent that speaks before its call names it belongs to that call',
  () => {
    const spawn = { id: 's', tool: 'spawnAgent', prompt: 'go', receiverThreadIds: [] };
    const some = events(
      started,
      turn('r', 't1'),
      item('started', 'r', 'collabAgentToolCall', { ...spawn, status: 'inProgress' }),
      turn('c', 't2', 't1'),
      command('started', 'c', 'a'),
      item('completed', 'r', 'collabAgentToolCall', {
        ...spawn,
        receiverThreadIds: ['c'],
        status: 'completed',
      }),
      command('completed', 'c', 'a'),
      command('completed', 'c', 'b'),
      item('completed', 'c', 'agentMessage', { id: 'm', text: 'child' }),
      done('c', 't2'),
      item('completed', 'r', 'agentMessage', { id: 'n', text: 'root' }),
      done('r', 't1'),
    );
    expect(problems(some)).toEqual([]);
    expect(calls(some)).toEqual([
      ['s', 'Task', 'ok', null],
      ['a', 'Bash', 'ok', 's'],
      ['b', 'Bash', 'ok', 's'],
    ]);
    expect(outcomeOf(some).message).toBe('root');
  },
);

verifies('AG-10', 'only the tokens of this run count on a resumed thread', () => {
  const some = events(
    started,
    usage('earlier', 500),
    turn('r', 't1'),
    usage('t1', 3),
    item('started', 'r', 'agentMessage', { id: 'n', text: '' }),
    item('completed', 'r', 'agentMessage', { id: 'n', text: 'ok' }),
    usage('t1', 4),
    done('r', 't1'),
  );
  const { metrics } = outcomeOf(some);
  expect([metrics.tokens.output, metrics.steps]).toEqual([7, 2]);
});

verifies('AG-9', 'recorded answers of the client are decisions', () => {
  const ask = (id: number, itemId: string) => ({
    id,
    method: 'item/commandExecution/requestApproval',
    params: { threadId: 'r', itemId, reason: null },
  });
  const some = events(
    { id: 2, method: 'thread/start', params: {} },
    started,
    turn('r', 't1'),
    command('started', 'r', 'a'),
    ask(2, 'a'),
    { id: 2, result: { decision: { acceptWithExecpolicyAmendment: {} } } },
    say('serverRequest/resolved', { threadId: 'r', requestId: 2 }),
    command('completed', 'r', 'a'),
    command('started', 'r', 'b'),
    ask(3, 'b'),
    { id: 3, result: { decision: 'decline' } },
    command('completed', 'r', 'b', 'declined'),
    done('r', 't1'),
  );
  expect(problems(some)).toEqual([]);
  expect(kindsOf(some, 'permission_asked').map(({ data }) => [data.call_id, data.tool])).toEqual([
    ['a', 'Bash'],
    ['b', 'Bash'],
  ]);
  expect(kindsOf(some, 'call_decided').map(({ data }) => [data.call_id, data.decision])).toEqual([
    ['a', 'allow'],
    ['b', 'deny'],
  ]);
  expect(calls(some)).toEqual([
    ['a', 'Bash', 'ok', null],
    ['b', 'Bash', 'denied', null],
  ]);
});

verifies(
  'AG-3',
  'tools that the recordings do not show are calls too; a user’s own command is not',
  () => {
    const some = events(
      started,
      turn('r', 't1'),
      item('completed', 'r', 'dynamicToolCall', {
        id: 'd',
        tool: 'lookup',
        arguments: { id: 1 },
        status: 'completed',
        success: false,
      }),
      item('completed', 'r', 'imageView', { id: 'v', path: '/p/a.png' }),
      say('turn/plan/updated', { threadId: 'r', plan: [{ step: 'x', status: 'pending' }] }),
      item('completed', 'r', 'commandExecution', { id: 'u', command: 'ls', source: 'userShell' }),
      done('r', 't1'),
    );
    expect(problems(some)).toEqual([]);
    expect(calls(some)).toEqual([
      ['d', 'lookup', 'error', null],
      ['v', 'view_image', 'ok', null],
      ['plan_1', 'TodoWrite', 'ok', null],
    ]);
  },
);

verifies('AG-2', 'messages of another version are problems and lose nothing else', () => {
  const some = events(
    started,
    turn('r', 't1'),
    say('hologram/shown', {}),
    item('started', 'r', 'hologram', { id: 'x' }),
    { id: 9, error: { code: -32600, message: 'no such thread' } },
    done('r', 't1'),
  );
  expect(problems(some)).toEqual([
    'unknown_record hologram/shown',
    'unknown_record item/started/hologram',
  ]);
  expect(outcomeOf(some).success).toBe(true);
});

verifies('AG-11', 'retries are identified by the server’s own flag', () => {
  const codexErrorInfo = { responseStreamDisconnected: { httpStatusCode: 503 } };
  const error = { message: 'Stream lost', additionalDetails: null, codexErrorInfo };
  const some = events(
    started,
    turn('r', 't1'),
    say('error', { threadId: 'r', turnId: 't1', willRetry: true, error }),
    say('turn/completed', { threadId: 'r', turn: { id: 't1', status: 'failed', error } }),
  );
  expect(kindsOf(some, 'provider_retried').map(({ data }) => data)).toEqual([
    {
      attempt: null,
      max_attempts: null,
      kind: 'overloaded',
      native_kind: 'responseStreamDisconnected',
      status: 503,
      backoff_ms: null,
    },
  ]);
  expect(kindsOf(some, 'provider_failed').map(({ data }) => data)).toEqual([
    {
      kind: 'overloaded',
      native_kind: 'responseStreamDisconnected',
      status: 503,
      retryable: true,
      message: 'Stream lost',
    },
  ]);
});

const info = recordedRun('r_00000000000000000000000000', codex.id);

/** The events of `record()`: the messages, then the additions from the session file. */
async function recorded(scenario: string): Promise<Event[]> {
  const pipeline = new Pipeline({ agent: codex, primary: 'stdout', now: null, info });
  const bytes = readFileSync(join(testdata, scenario, 'stdout.jsonl'), 'utf8');
  const some = bytes
    .trim()
    .split('\n')
    .flatMap((line, n) =>
      pipeline.record(JSON.parse(line), { channel: 'stdout', line: n + 1, offset: n + 1 }),
    );
  some.push(...pipeline.endOfInput('stdout'));
  const file = recordingsIn(join(testdata, '..')).find((one) => one.scenario === scenario);
  if (file === undefined) throw new Error(`${scenario} has no session file`);
  some.push(...(await filledIn(codex, pipeline, file)));
  some.push(...pipeline.finish());
  return some;
}

verifies('AG-3', 'a call that only the session file has matches no other call', () => {
  const mcp = { server: 'toy', tool: 'add', arguments: { a: 1 }, status: 'failed' };
  const pipeline = new Pipeline({ agent: codex, primary: 'stdout', now: null, info });
  const at_ms = Date.UTC(2026, 0, 1);
  const done = item('completed', 'r', 'mcpToolCall', { id: 'a', ...mcp });
  const shown = { ...done, emittedAtMs: at_ms };
  pipeline.push('stdout', lines([started, shown]));
  const reconciler = new Reconciler(codex, pipeline.state);
  const added = ['a', 'b'].flatMap((call_id) => {
    const tool = { native_tool: 'add', mcp: { server: 'toy', tool: 'add' } };
    const request = { call_id, ...tool, input: { a: 1 }, parent_call_id: null };
    const end = {
      call_id,
      status: 'error',
      exit_code: null,
      duration_ms: 1,
      output: null,
    } as const;
    return [
      ...reconciler.draft({ kind: 'call_requested', at_ms, data: request }),
      ...reconciler.draft({ kind: 'call_finished', at_ms, data: end }),
    ];
  });
  const ids = added.map(({ kind, data }) => [kind, (data as { call_id: string }).call_id]);
  expect(ids).toEqual([
    ['call_requested', 'b'],
    ['call_finished', 'b'],
  ]);
});

verifies(
  ['AG-3', 'AG-16'],
  'calls of the app-server and of the session file are matched',
  async () => {
    for (const { scenario, truth } of recordingsIn(testdata)) {
      const filed = recordingsIn(join(testdata, '..')).find((one) => one.scenario === scenario);
      const ids = new Set(
        [...(truth?.calls ?? []), ...(filed?.truth?.calls ?? [])].map((c) => c.id),
      );
      const some = await recorded(scenario);
      const outcome = outcomeOf(some);
      expect(outcome.tool_calls.map(({ id }) => id).sort(), scenario).toEqual([...ids].sort());
      const contradictions = problems(some).filter((text) => text.startsWith('contradiction'));
      expect(contradictions, scenario).toEqual([]);
    }
  },
);
