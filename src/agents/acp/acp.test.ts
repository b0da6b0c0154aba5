import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf, testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { findAgent } from '../registry.ts';
import { acp } from './index.ts';
import { isAllowed, outcomeFor, silentLogin } from './program/policy.ts';
import { tools } from './tools.ts';

testAgent(acp, join(import.meta.dirname, 'testdata'), {
  unseen: {
    usage: 'one of the programs reports tokens while it works, the others with the answer',
  },
});

type Fields = Record<string, unknown>;

const update = (fields: Fields): Fields => ({
  dir: 'agent->client',
  msg: { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: fields } },
});
const answer = (id: number, fields: Fields): Fields => ({
  dir: 'agent->client',
  msg: { jsonrpc: '2.0', id, ...fields },
});
const request = (id: number, method: string, params: Fields = {}): Fields => ({
  dir: 'client->agent',
  msg: { jsonrpc: '2.0', id, method, params },
});
const chunk = (text: string, more: Fields = {}): Fields =>
  update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, ...more });
const call = (toolCallId: string, fields: Fields): Fields =>
  update({ sessionUpdate: 'tool_call', toolCallId, ...fields });
const change = (toolCallId: string, fields: Fields): Fields =>
  update({ sessionUpdate: 'tool_call_update', toolCallId, ...fields });
const speaker = (name: string): Fields =>
  answer(0, { result: { protocolVersion: 1, agentInfo: { name, version: '1' } } });
const DONE = answer(9, { result: { stopReason: 'end_turn' } });

function read(...records: Fields[]): Event[] {
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  return eventsOf(acp, 'stdout', [Buffer.from(text)]);
}

const callOf = (...records: Fields[]) => {
  const [first] = kindsOf(read(...records), 'call_requested');
  const { tool, native_tool, row, input, parent_call_id } = first!.data;
  return { tool, native_tool, row, input, parent_call_id };
};

describe('names', () => {
  const NAMED: [string, Fields[], Fields][] = [
    [
      'of the protocol',
      [call('1', { name: 'read_file', title: 'Look', kind: 'other', rawInput: { path: 'a' } })],
      { tool: 'Read', native_tool: 'read_file', input: { path: 'a', file_path: 'a' } },
    ],
    [
      'of a vendor',
      [call('1', { title: 'x', _meta: { any: { toolName: 'Bash' } }, rawInput: { command: 'a' } })],
      { tool: 'Bash', native_tool: 'Bash', input: { command: 'a' } },
    ],
    [
      'of an MCP tool, in an id',
      [call('mcp_toy_add_it__7', { status: 'in_progress', title: 'add_it' })],
      { tool: 'mcp__toy__add_it', native_tool: 'mcp_toy_add_it', row: 'mcp' },
    ],
    [
      'of an MCP tool, as a title',
      [speaker('OpenCode'), call('1', { title: 'toy_add', kind: 'other', rawInput: { a: 1 } })],
      { tool: 'mcp__toy__add', native_tool: 'toy_add', row: 'mcp' },
    ],
    [
      'that is a command, not a tool',
      [call('1', { title: 'ls', kind: 'execute', status: 'in_progress' })],
      { tool: 'Bash', native_tool: 'execute', row: 'acp:kind:execute', input: { command: 'ls' } },
    ],
    [
      'of a kind alone',
      [call('1', { title: 'Look at a', kind: 'read', rawInput: { path: 'a' } })],
      { tool: 'Read', native_tool: 'read', row: 'acp:kind:read' },
    ],
    [
      'of a skill, in an id, and the skill from the title',
      [call('activate_skill__7', { status: 'in_progress', title: '"greet": How to greet.' })],
      { tool: 'Skill', native_tool: 'activate_skill', input: { skill: 'greet' } },
    ],
    [
      'of no known tool',
      [call('1', { title: 'Something else', rawInput: { a: 1 } })],
      { tool: 'other', native_tool: 'other', row: 'pass', input: { a: 1 } },
    ],
  ];
  for (const [what, records, expected] of NAMED) {
    verifies('AG-4', `a name ${what} is recovered`, () => {
      expect(callOf(...records)).toMatchObject(expected);
    });
  }

  verifies(
    'AG-5',
    "every tool of a known agent has the same name as in the agent's own folder",
    async () => {
      const rows = new Map(tools.rows.map((row) => [row.native, row]));
      for (const id of ['claude', 'copilot', 'gemini', 'opencode', 'qwen']) {
        const own = (await findAgent(id))!.tools.rows;
        for (const { native, tool, fields } of own) {
          const row = rows.get(native);
          expect({ id, native, tool: row?.tool }).toEqual({ id, native, tool });
          expect(row?.fields ?? {}, native).toMatchObject(fields ?? {});
        }
      }
    },
  );
});

describe('calls', () => {
  const SHELL = { kind: 'execute', title: 'x', rawInput: { command: 'x' } };

  verifies('AG-9', 'an exit code in any field makes a completed command an error', () => {
    const places: Fields[] = [
      { rawOutput: { exitCode: 3 } },
      { rawOutput: { exit_code: 3 } },
      { rawOutput: { output: 'x', metadata: { exit: 3 } } },
      { rawOutput: { contents: [{ type: 'shell_exit', exitCode: 3 }] } },
      { _meta: { terminal_exit: { terminal_id: 't', exit_code: 3 } } },
    ];
    const ends = places.map((place) => {
      const events = read(call('1', SHELL), change('1', { status: 'completed', ...place }), DONE);
      const { status, exit_code } = kindsOf(events, 'call_finished')[0]!.data;
      return { status, exit_code };
    });
    expect(ends).toEqual(places.map(() => ({ status: 'error', exit_code: 3 })));
  });

  verifies('AG-9', 'a refusal by the agent itself is recognised by its text', () => {
    const words = 'Tool execution for "helper" denied by policy.';
    const content = [{ type: 'content', content: { type: 'text', text: words } }];
    const events = read(call('1', SHELL), change('1', { status: 'failed', content }), DONE);
    expect(kindsOf(events, 'call_finished')[0]?.data).toMatchObject({
      status: 'denied',
      output: words,
    });
  });

  verifies('AG-9', 'calls of a cancelled turn are cancelled', () => {
    const cancelled = answer(9, { result: { stopReason: 'cancelled' } });
    const events = read(call('1', SHELL), change('2', { status: 'cancelled' }), cancelled);
    expect(kindsOf(events, 'call_finished').map(({ data }) => data.status)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(kindsOf(events, 'problem')).toEqual([]);
    expect(kindsOf(events, 'run_finished')[0]?.data.exit_reason).toBe('cancelled');
  });

  verifies('AG-3', 'a reused id is another call', () => {
    const done = change('1', { status: 'completed' });
    const events = read(call('1', SHELL), done, call('1', SHELL), done, done, DONE);
    expect(outcomeOf(events).tool_calls.map(({ id, status }) => ({ id, status }))).toEqual([
      { id: '1', status: 'ok' },
      { id: '1', status: 'ok' },
    ]);
    expect(kindsOf(events, 'problem')).toEqual([]);
  });

  verifies('AG-12', "a sub-agent's calls and texts belong to the call that started it", () => {
    const task = { _meta: { toolName: 'agent' }, rawInput: { prompt: 'p' } };
    const of = { _meta: { parentToolCallId: '1' } };
    const events = read(
      chunk('Root.'),
      call('1', task),
      call('2', { ...SHELL, ...of }),
      chunk('Sub.', of),
      change('2', { status: 'completed' }),
      change('1', { status: 'completed' }),
      chunk('End.'),
      DONE,
    );
    const outcome = outcomeOf(events);
    expect(outcome.tool_calls.map((one) => one.parent_id)).toEqual([null, '1']);
    expect({ message: outcome.message, steps: outcome.metrics.steps }).toEqual({
      message: 'End.',
      steps: 2,
    });
  });

  verifies('AG-6', 'a plan is a written todo list, unless a call has reported it', () => {
    const plan = update({ sessionUpdate: 'plan', entries: [{ content: 'a', status: 'pending' }] });
    const todo = call('1', { name: 'todo_write', rawInput: { todos: [] } });
    const events = read(plan, todo, plan, change('1', { status: 'completed' }), plan, DONE);
    expect(outcomeOf(events).tool_calls.map(({ id, name }) => ({ id, name }))).toEqual([
      { id: 'plan-1', name: 'TodoWrite' },
      { id: '1', name: 'TodoWrite' },
    ]);
  });

  verifies('RO-5', 'the changes listed in version 2 are file changes', () => {
    const changes = [
      { operation: 'create', path: '/p/a' },
      { operation: 'delete', path: '/p/b' },
    ];
    const content = [{ type: 'diff', changes }];
    const events = read(change('1', { kind: 'edit', status: 'completed', content }), DONE);
    const files = kindsOf(events, 'file_changed').map(({ data }) => [data.path, data.operation]);
    expect(files).toEqual([
      ['/p/a', 'created'],
      ['/p/b', 'deleted'],
    ]);
  });
});

describe('the run', () => {
  const usage = { inputTokens: 100, outputTokens: 5, cachedReadTokens: 40 };
  const spent = (total: number, name = 'toy', resumed = false) => {
    const result = { stopReason: 'end_turn', usage: { ...usage, totalTokens: total } };
    const records = [speaker(name), chunk('x'), answer(9, { result }), answer(10, { result })];
    const decoder = acp.stream({ resumed });
    const drafts: Parameters<typeof decoder.record>[1] = [];
    for (const record of records) decoder.record(record, drafts);
    const last = drafts.filter((draft) => draft.kind === 'usage_reported').at(-1);
    return last?.kind === 'usage_reported' ? last.data.usage.input : null;
  };

  verifies('AG-10', 'the total shows whether the input includes cached tokens', () => {
    expect([spent(105), spent(145)]).toEqual([120, 200]);
  });

  verifies('AG-10', 'figures of a session are never summed, nor used for a resumed run', () => {
    expect([spent(105, 'Copilot'), spent(105, 'Copilot', true), spent(105, 'OpenCode')]).toEqual([
      60,
      null,
      null,
    ]);
  });

  verifies('AG-11', 'a run that stops at a refused permission is denied', () => {
    const asked = {
      dir: 'agent->client',
      msg: {
        jsonrpc: '2.0',
        id: 7,
        method: 'session/request_permission',
        params: {
          toolCall: { toolCallId: '1', kind: 'execute', title: 'x' },
          options: [{ optionId: 'no', kind: 'reject_once' }],
        },
      },
    };
    const refused = {
      dir: 'client->agent',
      msg: { jsonrpc: '2.0', id: 7, result: { outcome: { outcome: 'selected', optionId: 'no' } } },
    };
    const ends = [
      read(asked, refused, DONE),
      read(asked, refused, change('1', { status: 'failed' }), DONE),
      read(asked, refused, chunk('Then not.'), DONE),
    ].map((events) => {
      const { exit_reason } = kindsOf(events, 'run_finished')[0]!.data;
      return [exit_reason, ...outcomeOf(events).tool_calls.map(({ status }) => status)];
    });
    expect(ends).toEqual([
      ['denied', 'denied'],
      ['denied', 'denied'],
      ['ok', 'denied'],
    ]);
  });

  verifies(
    'AG-9',
    "without the client's answers, a call that was asked about and never ran was refused",
    () => {
      const params = { toolCall: { toolCallId: '1', kind: 'execute', title: 'x' }, options: [] };
      const asked = { jsonrpc: '2.0', id: 7, method: 'session/request_permission', params };
      const ended = { jsonrpc: '2.0', id: 9, result: { stopReason: 'end_turn' } };
      const outcome = outcomeOf(read(asked, chunk('Then not.'), ended));
      expect(outcome.tool_calls.map(({ status }) => status)).toEqual(['denied']);
      expect(outcome.exit_reason).toBe('ok');
    },
  );

  verifies('AG-11', 'errors are classified by the request that they answer', () => {
    const ends = [
      [request(1, 'session/new'), answer(1, { error: { code: -32000, message: 'log in' } })],
      [request(1, 'session/prompt'), answer(1, { error: { code: -32603, message: 'API' } })],
      [request(1, 'session/prompt'), answer(1, { error: { code: -32602, message: 'bad' } })],
      [request(1, 'session/set_mode'), answer(1, { error: { code: -32602, message: 'x' } }), DONE],
    ].map((records) => {
      const { exit_reason, error } = kindsOf(read(...records), 'run_finished')[0]!.data;
      return { exit_reason, error };
    });
    expect(ends).toEqual([
      { exit_reason: 'agent_error', error: 'log in' },
      { exit_reason: 'provider_error', error: 'API' },
      { exit_reason: 'agent_error', error: 'bad' },
      { exit_reason: 'ok', error: null },
    ]);
  });

  verifies('AG-11', "a status in an error's details is from the model API", () => {
    const error = { code: -32603, message: 'Internal error', data: { details: '400 bad request' } };
    const events = read(request(1, 'session/prompt'), answer(1, { error }));
    expect(kindsOf(events, 'provider_failed')[0]?.data).toEqual({
      kind: 'invalid_request',
      native_kind: null,
      status: 400,
      retryable: false,
      message: 'Internal error: 400 bad request',
    });
  });

  verifies('AG-10', 'the history of a loaded session is not part of the run', () => {
    const events = read(
      request(1, 'session/load', { sessionId: 's', cwd: '/p' }),
      chunk('Old.'),
      call('1', { title: 'x', rawInput: { a: 1 } }),
      answer(1, { result: {} }),
      chunk('New.'),
      DONE,
    );
    const { message, tool_calls, session_id } = outcomeOf(events);
    expect({ message, tool_calls, session_id }).toEqual({
      message: 'New.',
      tool_calls: [],
      session_id: 's',
    });
  });
});

describe('the client', () => {
  const REQUEST: LaunchRequest = {
    prompt: 'do it\n"quoted"',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: ['gemini', '--acp'],
    command: null,
    self: { node: '/node', entry: '/entry.js' },
  };

  verifies('AG-18', 'the program and its arguments follow those of the client', () => {
    const { args } = REQUEST;
    expect([
      acp.launch(REQUEST),
      acp.launch({
        ...REQUEST,
        model: 'm',
        resume: 's',
        approve: 'all',
        command: ['x', 'y'],
        args,
      }),
    ]).toEqual([
      {
        command: '/node',
        args: ['/entry.js', '--approve', 'default', '--', 'gemini', '--acp'],
        env: {},
        stdin: REQUEST.prompt,
      },
      {
        command: '/node',
        args: [
          ...['/entry.js', '--approve', 'all', '--model', 'm', '--resume', 's', '--'],
          ...['x', 'y', 'gemini', '--acp'],
        ],
        env: {},
        stdin: REQUEST.prompt,
      },
    ]);
    expect(() => acp.launch({ ...REQUEST, args: [] })).toThrow('name the program');
  });

  verifies('LP-14', 'with --accept-input the prompt is the first of several lines', () => {
    const { args, stdin } = acp.launch({ ...REQUEST, accept_input: true });
    expect(args).toEqual(['/entry.js', '--approve', 'default', '--input', '--', 'gemini', '--acp']);
    const talk = acp.input?.();
    expect([stdin, talk?.say('more', 'id'), talk?.interrupt()]).toEqual([
      `${JSON.stringify({ say: REQUEST.prompt })}\n`,
      '{"say":"more"}\n',
      '{"interrupt":true}\n',
    ]);
  });

  verifies('AG-9', 'the policy answers permission requests', () => {
    const kinds = ['edit', 'read', 'execute', 'delete', null];
    const table = (['default', 'edits', 'all'] as const).map((mode) =>
      kinds.map((kind) => isAllowed(mode, kind)),
    );
    expect(table).toEqual([
      [false, false, false, false, false],
      [true, true, false, false, false],
      [true, true, true, true, true],
    ]);
    const options = ['allow_always', 'allow_once', 'reject_always'].map((kind) => ({
      optionId: kind.toUpperCase(),
      kind,
    }));
    expect([outcomeFor(true, options), outcomeFor(false, options), outcomeFor(true, null)]).toEqual(
      [
        { outcome: 'selected', optionId: 'ALLOW_ONCE' },
        { outcome: 'selected', optionId: 'REJECT_ALWAYS' },
        { outcome: 'cancelled' },
      ],
    );
  });

  verifies('AG-18', 'a login uses a key in the environment, and no person', () => {
    const methods = [
      { id: 'browser', name: 'Log in' },
      { id: 'env', type: 'env_var', vars: [{ name: 'TOY_KEY' }] },
    ];
    const keyed = [{ id: 'key', _meta: { 'api-key': { provider: 'toy' } } }];
    expect([
      silentLogin(methods, {}),
      silentLogin(methods, { TOY_KEY: 'x' }),
      silentLogin(keyed, {}),
      silentLogin('none', {}),
    ]).toEqual([null, 'env', 'key', null]);
  });
});

describe('agents that break the rules', () => {
  const begin = [
    request(1, 'session/new', { cwd: '/p' }),
    answer(1, { result: { sessionId: 's' } }),
    request(9, 'session/prompt', { sessionId: 's', prompt: [{ type: 'text', text: 'go' }] }),
  ];
  const read_as = (...records: Fields[]) => {
    const events = read(...begin, ...records);
    const { success, exit_reason, message } = outcomeOf(events);
    const problems = kindsOf(events, 'problem').map(({ data }) => [data.code, data.detail]);
    return { success, exit_reason, message, problems };
  };
  const fine = { success: true, exit_reason: 'ok', message: 'mine' };

  verifies('AG-2', 'messages of another session are counted and do not belong to the run', () => {
    const params = { sessionId: 'other', update: { sessionUpdate: 'agent_message_chunk' } };
    const alien = { dir: 'agent->client', msg: { method: 'session/update', params } };
    expect(read_as(alien, chunk('mine'), DONE)).toEqual({
      ...fine,
      problems: [['unknown_record', 'session/update of another session']],
    });
  });

  verifies('AG-11', 'the first answer to a prompt ends the turn', () => {
    const again = answer(9, { result: { stopReason: 'cancelled' } });
    expect(read_as(chunk('mine'), DONE, again)).toEqual({
      ...fine,
      problems: [['bad_record', 'a second answer to the prompt']],
    });
  });

  verifies('AG-13', 'a message over the limit is a problem', () => {
    const long = { dir: 'agent-oversize', msg: 'a message of 9 bytes, sha256 x' };
    expect(read_as(long, chunk('mine'), DONE)).toEqual({
      ...fine,
      problems: [['oversize_line', 'a message of 9 bytes, sha256 x']],
    });
  });
});
