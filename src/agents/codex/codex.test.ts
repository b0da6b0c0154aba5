import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
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
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { codex } from './index.ts';
import { changesOfPatch } from './patch.ts';
import { keyOf } from './session.ts';
import { commandOfLine } from './shell-line.ts';
import { stream } from './stream.ts';

const testdata = join(import.meta.dirname, 'testdata');
const recordings = recordingsIn(testdata);

testAgent(codex, testdata, {
  unseen: { skills: 'the recordings read skills as files; one that the user named is below' },
});

type Fields = Record<string, unknown>;

const lines = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(codex, 'stdout', [lines(records)]);
const calls = (events: Event[]) =>
  outcomeOf(events).tool_calls.map(({ id, name, status, exit_code }) => [
    id,
    name,
    status,
    exit_code,
  ]);
const problems = (events: Event[]) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);

const begin = [{ type: 'thread.started', thread_id: 't1' }, { type: 'turn.started' }];
const usage = { input_tokens: 10, cached_input_tokens: 4, output_tokens: 2 };
const done = { type: 'turn.completed', usage };
const item = (phase: string, id: string, type: string, more: Fields) => ({
  type: `item.${phase}`,
  item: { id, type, ...more },
});

describe('stdout', () => {
  verifies(['AG-9', 'AG-11'], 'a command ends as its item says', () => {
    const command = (id: string, more: Fields) =>
      item('completed', id, 'command_execution', { command: 'x', aggregated_output: '', ...more });
    const events = stdout(
      ...begin,
      command('a', { exit_code: null, status: 'declined' }),
      command('b', { exit_code: 1, status: 'completed' }),
      command('c', { exit_code: null, status: 'in_progress' }),
      command('d', { exit_code: null, status: 'something' }),
      command('e', {
        exit_code: 124,
        status: 'failed',
        aggregated_output: 'command timed out after 10 milliseconds\n',
      }),
      done,
    );
    expect(calls(events)).toEqual([
      ['a', 'Bash', 'denied', null],
      ['b', 'Bash', 'error', 1],
      ['c', 'Bash', 'cancelled', null],
      ['d', 'Bash', 'unknown', null],
      ['e', 'Bash', 'timeout', 124],
    ]);
    expect(problems(events)).toEqual([]);
  });

  verifies('AG-3', 'a patch that is shown as it is written is one call', () => {
    const changes = [{ path: '/p/a.txt', kind: 'add' }];
    const written = item('updated', 'i', 'file_change', { changes: [], status: 'in_progress' });
    const whole = item('completed', 'i', 'file_change', { changes, status: 'completed' });
    expect(calls(stdout(...begin, written, written, whole, done))).toEqual([
      ['i', 'Write', 'ok', null],
    ]);
    expect(calls(stdout(...begin, written))).toEqual([['i', 'Edit', 'cancelled', null]]);
  });

  verifies('AG-3', 'every version of a todo list is a call', () => {
    const list = (phase: string, completed: boolean) =>
      item(phase, 'i', 'todo_list', { items: [{ text: 'x', completed }] });
    const events = stdout(
      ...begin,
      list('started', false),
      list('updated', true),
      list('completed', true),
      done,
    );
    expect(calls(events)).toEqual([
      ['i', 'TodoWrite', 'ok', null],
      ['i', 'TodoWrite', 'ok', null],
    ]);
    expect(calls(stdout(...begin, list('completed', true), done))).toHaveLength(1);
  });

  verifies('AG-3', 'a web search is one call, whichever of its two ids is read', () => {
    const search = { id: 'ws_1', query: 'toy', action: { type: 'search' } };
    const events = stdout(
      ...begin,
      { type: 'item.started', item: { ...search, type: 'web_search' } },
      { type: 'item.completed', item: { ...search, type: 'web_search' } },
      done,
    );
    expect(calls(events)).toEqual([['ws_1', 'WebSearch', 'ok', null]]);
  });

  verifies('AG-9', 'an MCP call that nobody can approve is refused', () => {
    const call = (id: string, message: string) =>
      item('completed', id, 'mcp_tool_call', {
        server: 'toy',
        tool: 'add',
        arguments: {},
        error: { message },
        status: 'failed',
      });
    const events = stdout(
      ...begin,
      call('a', 'user cancelled MCP tool call'),
      call('b', 'connection closed'),
      done,
    );
    expect(calls(events)).toEqual([
      ['a', 'mcp__toy__add', 'denied', null],
      ['b', 'mcp__toy__add', 'error', null],
    ]);
  });

  verifies('AG-10', 'the figures of a resumed thread are not the figures of the run', () => {
    const decoded = (resumed: boolean) => {
      const out: Draft[] = [];
      const decoder = stream({ resumed });
      for (const record of [...begin, done]) decoder.record(record, out);
      decoder.end(out);
      return out.filter((draft) => draft.kind === 'usage_reported').length;
    };
    expect([decoded(false), decoded(true)]).toEqual([1, 0]);
  });

  verifies('AG-11', 'errors other than retries are reported once, at the end of the turn', () => {
    const message = 'unexpected status 503 Service Unavailable';
    const events = stdout(
      ...begin,
      { type: 'error', message: `Reconnecting... 4/5 (${message})` },
      { type: 'error', message },
      { type: 'turn.failed', error: { message } },
    );
    expect(kindsOf(events, 'provider_retried').map(({ data }) => data)).toEqual([
      {
        attempt: 4,
        max_attempts: 5,
        kind: 'overloaded',
        native_kind: null,
        status: 503,
        backoff_ms: null,
      },
    ]);
    expect(kindsOf(events, 'provider_failed').map(({ data }) => data)).toEqual([
      { kind: 'overloaded', native_kind: null, status: 503, retryable: true, message },
    ]);
    expect(outcomeOf(events).exit_reason).toBe('provider_error');
  });

  verifies('AG-2', 'items of another version are problems and lose nothing else', () => {
    const events = stdout(
      ...begin,
      item('started', 'x', 'hologram', {}),
      { type: 'item.started' },
      done,
    );
    expect(problems(events)).toEqual([
      'unknown_record item.started/hologram',
      'bad_record item.started without an item or its id',
    ]);
    expect(outcomeOf(events).success).toBe(true);
  });
});

describe('commands', () => {
  test('are shown without the shell that runs them', () => {
    const shown = [
      `/bin/bash -lc 'echo a; ls'`,
      '/bin/bash -lc ls',
      `bash -lc "echo 'x' \\"y\\" \\$HOME"`,
      `/bin/zsh -lc 'it'"'"'s'`,
      `/usr/bin/pwsh -NoProfile -Command 'Get-Date'`,
      `/bin/bash -lc 'a' b`,
      `/bin/bash -lc $CMD`,
      'ls -la',
      `/bin/bash -lc 'open`,
      '',
    ].map(commandOfLine);
    expect(shown).toEqual([
      'echo a; ls',
      'ls',
      `echo 'x' "y" $HOME`,
      `it's`,
      'Get-Date',
      `/bin/bash -lc 'a' b`,
      `/bin/bash -lc $CMD`,
      'ls -la',
      `/bin/bash -lc 'open`,
      '',
    ]);
  });

  verifies(
    'AG-8',
    'that only read one file are reads; others are commands with the files they read',
    () => {
      const tool = (command: string) => {
        const events = stdout(
          ...begin,
          item('started', 'i', 'command_execution', { command, status: 'in_progress' }),
        );
        const { data } = kindsOf(events, 'call_requested')[0] as (typeof events)[number] & {
          data: { tool: string; input: Fields; reads: string[] };
        };
        return [data.tool, data.input.file_path ?? null, data.reads.join()];
      };
      expect(tool(`/bin/bash -lc "sed -n '1,20p' src/a.ts"`)).toEqual([
        'Read',
        'src/a.ts',
        'src/a.ts',
      ]);
      expect(tool('head -n 5 a.txt')).toEqual(['Read', 'a.txt', 'a.txt']);
      expect(tool(`nl -ba 'my file'`)).toEqual(['Read', 'my file', 'my file']);
      expect(tool('cat a b')).toEqual(['Bash', null, 'a,b']);
      expect(tool('cat a | head')).toEqual(['Bash', null, 'a']);
      expect(tool('cat a > b')).toEqual(['Bash', null, 'a']);
      expect(tool('cd x && cat a')).toEqual(['Bash', null, 'x/a']);
      expect(tool('cat $FILE')).toEqual(['Bash', null, '']);
      expect(tool('grep x a')).toEqual(['Bash', null, 'a']);
      expect(tool(`sed -n 'w b' a`)).toEqual(['Bash', null, 'a']);
    },
  );
});

describe('patches', () => {
  test('show added, changed, moved and deleted files', () => {
    const text = `*** Begin Patch
*** Add File: a.txt
+one
+
*** Update File: b.txt
*** Move to: c.txt
@@
-x
+y
*** Delete File: d.txt
*** End Patch`;
    const rest = { to: null, content: null, diff: null };
    expect(changesOfPatch(text)).toEqual([
      { ...rest, path: 'a.txt', kind: 'add', content: 'one\n\n' },
      { ...rest, path: 'b.txt', kind: 'update', to: 'c.txt' },
      { ...rest, path: 'd.txt', kind: 'delete' },
    ]);
  });
});

let ordinal = 0;
const line = (type: string, payload: Fields) => ({
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, 0, ordinal++ % 1000)).toISOString(),
  type,
  payload,
});
const meta = line('session_meta', { id: 't1', cli_version: '1', cwd: '/p' });
const context = line('turn_context', { model: 'm', approval_policy: 'never' });
const event = (type: string, more: Fields = {}) => line('event_msg', { type, ...more });
const response = (type: string, more: Fields) => line('response_item', { type, ...more });
const asked = (call_id: string, name: string, args: unknown, more: Fields = {}) =>
  response('function_call', { call_id, name, arguments: JSON.stringify(args), ...more });
const answered = (call_id: string, output: unknown) =>
  response('function_call_output', { call_id, output });
const completed = (type: string, id: string, more: Fields) =>
  event('item_completed', { thread_id: 't1', item: { type, id, ...more } });
const over = event('task_complete', { last_agent_message: 'x' });
const filed = (...records: unknown[]) =>
  eventsOf(codex, 'session', [lines([meta, event('task_started'), context, ...records])]);

verifies('AG-3', 'a repeated item is not a second call; in another process it is', () => {
  const item = { id: 'item_0', type: 'command_execution', command: 'ls', exit_code: 0 };
  const begin = { type: 'item.started', item: { ...item, status: 'in_progress' } };
  const done = { type: 'item.completed', item: { ...item, status: 'completed' } };
  const turn = { type: 'turn.started' };
  const calls = (...records: unknown[]) =>
    outcomeOf(eventsOf(codex, 'stdout', [lines([turn, ...records])])).tool_calls.length;
  expect([calls(begin, done, begin, done), calls(done, done), calls(done, turn, done)]).toEqual([
    1, 1, 2,
  ]);
});

describe('session files', () => {
  verifies('AG-9', 'a call without an item ends with the status in its answer', () => {
    const answers = {
      denied: [
        'exec_command failed for `/bin/bash -lc ls`: SandboxDenied { message: "x", output: ExecToolCallOutput { exit_code: 1, stdout: y } }',
        'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
        'approval policy is OnFailure; reject command',
        'Command blocked by PreToolUse hook: no',
      ],
      error: [
        'exec_command failed: CreateProcess { message: "No such file" }',
        'exec_command failed: CreateProcess { message: "Rejected(\\"Failed to create unified exec process: No such file or directory (os error 2)\\")" }',
        'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nrejected by user',
        'Exit code: 3\nWall time: 0 seconds\nOutput:\n',
        '{"output":"patch rejected by user","metadata":{"exit_code":1}}',
      ],
      ok: ['Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nunsupported call: x'],
      cancelled: ['Wall time: 1.2 seconds\naborted by user'],
      timeout: ['command timed out after 10 milliseconds'],
    };
    for (const [status, texts] of Object.entries(answers)) {
      for (const text of texts) {
        const events = filed(asked('c', 'exec_command', { cmd: 'x' }), answered('c', text), over);
        expect(outcomeOf(events).tool_calls[0]?.status, text).toBe(status);
      }
    }
  });

  verifies('AG-9', 'a command that continues ends with its item or its last status', () => {
    const start = [
      asked('c', 'exec_command', { cmd: 'x' }),
      answered('c', 'Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n'),
      asked('w', 'write_stdin', { session_id: 7, chars: '' }),
    ];
    const end = answered('w', 'Wall time: 1.0 seconds\nProcess exited with code 5\nOutput:\n');
    const ended = completed('CommandExecution', 'c', {
      command: ['/bin/bash', '-lc', 'x'],
      status: 'failed',
      exit_code: 5,
      aggregated_output: 'all of it',
    });
    const events = filed(...start, ended, end, over);
    expect(calls(events)).toEqual([
      ['c', 'Bash', 'error', 5],
      ['w', 'write_stdin', 'error', 5],
    ]);
    expect(outcomeOf(events).tool_calls[0]?.outputs).toBe('all of it');
    expect(calls(filed(...start, over))[0]).toEqual(['c', 'Bash', 'ok', null]);
    const killed = completed('CommandExecution', 'c', {
      command: ['/bin/bash', '-lc', 'x'],
      process_id: '7',
      status: 'failed',
      exit_code: -1,
      aggregated_output: '',
    });
    expect(calls(filed(...start, over, killed))[0]).toEqual(['c', 'Bash', 'cancelled', -1]);
    expect(problems(events)).toEqual([]);
  });

  verifies('AG-3', 'a script is a call only if none of its actions is shown as one', () => {
    const script = (call_id: string, input: string) =>
      response('custom_tool_call', { call_id, name: 'exec', input });
    const answer = (call_id: string, text: string) =>
      response('custom_tool_call_output', { call_id, output: [{ type: 'input_text', text }] });
    const nested = completed('FileChange', 'exec-1', {
      changes: { '/p/a.txt': { type: 'add', content: 'hé\n' } },
      status: 'completed',
    });
    const events = filed(
      script('s1', 'await tools.apply_patch("…")'),
      nested,
      answer('s1', 'Script completed\nOutput:\n'),
      script('s2', 'text(1)'),
      answer('s2', 'Script running with cell ID 1'),
      asked('w', 'wait', { cell_id: '1' }),
      answered('w', 'Script completed'),
      over,
    );
    expect(calls(events)).toEqual([
      ['exec-1', 'Write', 'ok', null],
      ['w', 'wait', 'ok', null],
      ['s2', 'exec', 'ok', null],
    ]);
    const late = completed('CommandExecution', 'exec-2', {
      command: ['/bin/bash', '-lc', 'make all'],
      status: 'completed',
      exit_code: 0,
      aggregated_output: '',
    });
    const left = filed(
      script('s3', 'await tools.exec_command({ cmd: "make all", yield_time_ms: 300 })'),
      answer('s3', 'Script completed\nOutput:\n{"session_id":7}'),
      script('s4', 'try { await tools.exec_command({ cmd: "rm" }) } catch {}'),
      answer('s4', 'Script completed\nOutput:\n'),
      late,
      over,
    );
    expect(calls(left)).toEqual([
      ['exec-2', 'Bash', 'ok', 0],
      ['s4', 'exec', 'ok', null],
    ]);
    expect(outcomeOf(events).artifacts).toEqual([
      // The size is known only if bytes and characters are the same.
      { path: 'a.txt', operation: 'created', size: null, source: 'tool' },
    ]);
    expect(calls(filed(script('s', 'await tools.x()')))).toEqual([
      ['s', 'exec', 'cancelled', null],
    ]);
  });

  verifies('AG-8', 'a skill named by the user is recorded as used', () => {
    const text = '<skill>\n<name>toy-greeter</name>\n<path>/p/SKILL.md</path>\n# x\n</skill>';
    const content = [{ type: 'input_text', text }];
    const events = filed(response('message', { role: 'user', content }), over);
    expect(outcomeOf(events).skills_used).toEqual(['toy-greeter']);
  });

  verifies('AG-10', 'token counts of earlier versions are added once each', () => {
    const count = (total: number, last: number) =>
      event('token_count', {
        info: {
          total_token_usage: { input_tokens: total },
          last_token_usage: { input_tokens: last, cached_input_tokens: 0, output_tokens: 1 },
        },
      });
    const events = filed(
      count(5, 5),
      count(5, 5),
      count(12, 7),
      event('token_count', { info: null }),
      over,
    );
    expect(outcomeOf(events).metrics.tokens).toEqual({
      input: 12,
      output: 2,
      cache_read: 0,
      cache_write: null,
      reasoning: null,
    });
  });

  verifies('AG-3', 'events of earlier versions are read as items', () => {
    const events = filed(
      asked('c', 'shell', { command: ['bash', '-lc', 'cat a.txt'] }),
      event('exec_command_end', {
        call_id: 'c',
        command: ['bash', '-lc', 'cat a.txt'],
        exit_code: 0,
        aggregated_output: 'x',
      }),
      answered('c', '{"output":"x","metadata":{"exit_code":0}}'),
      event('mcp_tool_call_end', {
        call_id: 'm',
        invocation: { server: 'toy', tool: 'add', arguments: {} },
        result: { Err: 'gone' },
      }),
      response('local_shell_call', {
        call_id: 'l',
        action: { type: 'exec', command: ['git', 'log', '--format=%h %s'] },
      }),
      answered('l', 'Exit code: 128\nOutput:\n'),
      over,
    );
    expect(calls(events)).toEqual([
      ['c', 'Read', 'ok', 0],
      ['m', 'mcp__toy__add', 'error', null],
      ['l', 'Bash', 'error', 128],
    ]);
    expect(outcomeOf(events).tool_calls[2]?.inputs).toMatchObject({
      command: `git log '--format=%h %s'`,
    });
    expect(problems(events)).toEqual([]);
  });

  verifies('AG-11', 'the last turn decides; a turn that only began has no end', () => {
    const aborted = event('turn_aborted', { reason: 'interrupted' });
    expect(outcomeOf(filed(over)).exit_reason).toBe('ok');
    expect(outcomeOf(filed(over, event('task_started'), aborted)).exit_reason).toBe('cancelled');
    expect(outcomeOf(filed(over, event('task_started'))).exit_reason).toBe('incomplete');
    const failed = [
      event('error', { message: 'exceeded retry limit, last status: 429 Too Many Requests' }),
      event('task_complete', { last_agent_message: null }),
    ];
    expect(outcomeOf(filed(...failed)).exit_reason).toBe('provider_error');
  });

  verifies(
    'AG-10',
    'only the own turns of a forked session count, whatever times the copy has',
    () => {
      const [old_id, new_id] = ['01a1dcc5-3178-7203-be2e', '01a1e000-0000-7000-8000'];
      const turn = (turn_id: string, text: string, input_tokens: number) => [
        event('task_started', { turn_id }),
        line('turn_context', { turn_id, model: 'm' }),
        event('item_completed', {
          thread_id: old_id,
          item: { type: 'UserMessage', id: `u ${text}`, content: [{ type: 'text', text }] },
        }),
        line('token_usage_record', { usage: { input_tokens } }),
        line('response_item', {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text }],
        }),
        event('task_complete', { last_agent_message: text }),
      ];
      const readFork = (forked: object, own_turn: string) => {
        const events = eventsOf(codex, 'session', [
          lines([
            line('session_meta', { id: new_id, ...forked }),
            line('session_meta', { id: old_id }),
            ...turn('01a1dcc5-319f-7470-acfb', 'old', 100),
            ...turn(own_turn, 'own', 7),
          ]),
        ]);
        const ended = events.find((one) => one.kind === 'run_finished');
        const said = events.filter((one) => one.kind === 'message_finished');
        return {
          session_id: ended?.data.session_id,
          input: ended?.data.usage?.input,
          answers: said.filter((one) => one.data.role === 'assistant').map((one) => one.data.text),
        };
      };
      const fork = { forked_from_id: old_id };
      expect([
        readFork(fork, '01a1e000-0001-7000-8000'),
        readFork(fork, 'turn-2'),
        readFork({}, '01a1e000-0001-7000-8000'),
      ]).toEqual([
        { session_id: new_id, input: 7, answers: ['own'] },
        { session_id: new_id, input: 7, answers: ['own'] },
        { session_id: new_id, input: 107, answers: ['old', 'own'] },
      ]);
    },
  );

  verifies('AG-10', 'only the new turns of a resumed session count', () => {
    const resumed = recordings.find(
      ({ scenario, channel }) => scenario === 'resume' && channel === 'session',
    );
    const since_ms = Date.parse('2026-11-15T01:15:34.000Z');
    const decoder = codex.session?.decoder({ since_ms });
    const pipeline = new Pipeline({ ...pipelineOptions(), ...(decoder && { decoder }) });
    const events = [
      ...pipeline.push('session', resumed?.bytes ?? Buffer.alloc(0)),
      ...pipeline.endOfInput('session'),
      ...pipeline.finish(),
    ];
    const outcome = outcomeOf(events);
    expect(calls(events)).toEqual([['call_mock_0007', 'Bash', 'ok', 0]]);
    expect(outcome.metrics.tokens).toEqual({
      input: 173,
      output: 44,
      cache_read: 13917,
      cache_write: 0,
      reasoning: 0,
    });
    expect([outcome.metrics.steps, outcome.metrics.model_name, outcome.message]).toEqual([
      2,
      'gpt-5.5',
      'Second run done.',
    ]);
  });

  verifies('AG-13', 'JSON inside texts is also read as text when lines are read as bytes', () => {
    const records = [
      meta,
      context,
      response('function_call', {
        call_id: 'c',
        name: 'exec_command',
        arguments: '{"cmd":"echo \\u00fc é \\ud83d\\ude80"}',
      }),
      over,
    ];
    const pipeline = new Pipeline({ ...pipelineOptions(), byte_text: true });
    const events = [
      ...pipeline.push('session', lines(records)),
      ...pipeline.endOfInput('session'),
      ...pipeline.finish(),
    ];
    const commands = kindsOf(fromByteText(events), 'call_requested').map(({ data }) => data.input);
    expect(commands).toEqual([{ cmd: 'echo ü é 🚀', command: 'echo ü é 🚀' }]);
  });
});

function pipelineOptions() {
  const info = recordedRun('r_00000000000000000000000000', 'codex');
  return { agent: codex, primary: 'session' as const, now: null, info };
}

/** The events of a run: its stream, then the additions from its session file. */
async function reconciled(scenario: string): Promise<Event[] | null> {
  const of = (channel: string) =>
    recordings.find((one) => one.scenario === scenario && one.channel === channel);
  const [live, file] = [of('stdout'), of('session')];
  if (live === undefined || file === undefined) return null;
  const pipeline = new Pipeline({
    ...pipelineOptions(),
    primary: 'stdout',
    now: () => Date.UTC(2026, 10, 16),
  });
  const events = [...pipeline.push('stdout', live.bytes), ...pipeline.endOfInput('stdout')];
  events.push(...(await filledIn(codex, pipeline, file)));
  events.push(...pipeline.finish());
  return events;
}

describe('stdout and session file together', () => {
  verifies(['AG-3', 'AG-16'], 'every call is recorded once, though the ids differ', async () => {
    for (const { scenario, channel, truth } of recordings) {
      if (channel !== 'session' || truth === null) continue;
      const events = await reconciled(scenario);
      if (events === null || scenario === 'resume') continue;
      const outcome = outcomeOf(events);
      const alike = (list: readonly { status: string }[]) => list.map((call) => call.status).sort();
      expect(alike(outcome.tool_calls), scenario).toEqual(alike(truth.calls));
      expect(
        problems(events).filter((text) => text.startsWith('contradiction')),
        scenario,
      ).toEqual([]);
      expect(outcome.metrics.model_name, scenario).toBe(truth.model);
      expect(outcome.skills_used, scenario).toEqual(truth.skills_used);
      expect(outcome.exit_reason, scenario).toBe(truth.exit_reason);
    }
  });

  verifies('AG-3', 'a patch given to the shell is the patch in the stream', () => {
    const patch = '*** Begin Patch\n*** Add File: notes/n.txt\n+x\n*** End Patch';
    const changes = [{ path: '/home/user/project/notes/n.txt', kind: 'add' }];
    const shown = { tool: 'Write', native_tool: 'file_change', input: { changes } };
    const given = (command: string) => ({
      tool: 'Bash',
      native_tool: 'exec_command',
      input: { command },
    });
    const keys = [
      shown,
      given(`apply_patch <<'EOF'\n${patch}\nEOF`),
      given(`cd notes && apply_patch <<'EOF'\n${patch}\nEOF`),
      given(`cat <<'EOF'\n${patch}\nEOF`),
    ].map(keyOf);
    expect(keys.map((key) => key === keys[0])).toEqual([true, true, true, false]);
  });

  verifies('AG-12', 'a sub-agent’s calls belong to the call that the stream showed', async () => {
    const outcome = outcomeOf((await reconciled('subagent')) ?? []);
    expect(outcome.tool_calls.map(({ id, name, parent_id }) => [id, name, parent_id])).toEqual([
      ['item_0', 'Task', null],
      ['item_1', 'wait', null],
      ['call_search_1', 'tool_search', null],
      ['call_mock_0010', 'Read', 'item_0'],
    ]);
  });
});

describe('location of session files', () => {
  test('session files are found by thread id, with those of sub-agents', async () => {
    const home = await mkdtemp(join(tmpdir(), 'tacho-codex-'));
    try {
      const write = async (day: string, time: string, id: string, more: Fields) => {
        const folder = join(home, 'sessions', ...day.split('-'));
        await mkdir(folder, { recursive: true });
        const path = join(folder, `rollout-${day}T${time}-${id}.jsonl`);
        const base_instructions = { text: 'x'.repeat(id === 'long' ? 100_000 : 1) };
        const payload = { session_id: 'root', id, ...more, base_instructions };
        await writeFile(path, `${JSON.stringify({ type: 'session_meta', payload })}\n`);
        return path;
      };
      const today = new Date().toISOString().slice(0, 10);
      const main = await write(today, '10-00-00', 'root', {});
      const child = await write(today, '10-00-01', 'child', { parent_thread_id: 'root' });
      const long = await write(today, '10-00-02', 'long', { parent_thread_id: 'child' });
      await write(today, '09-00-00', 'before', { parent_thread_id: 'root' });
      const other = await write(today, '10-00-03', 'other', { session_id: 'other' });
      await utimes(main, 1, 1);
      await utimes(other, 2, 2);
      const archive = join(home, 'archived_sessions');
      await mkdir(archive);
      const archived = join(archive, basename(other).replace('other', 'archived'));
      await copyFile(other, archived);
      await utimes(archived, 3, 3);
      const find = (session_id: string) =>
        codex.session?.find({ session_id, cwd: '/p', env: { CODEX_HOME: home } });
      expect(await find('root')).toBe(main);
      expect(await find('archived')).toBe(archived);
      expect(await find('../root')).toBeNull();
      expect(await find('nothing')).toBeNull();
      const env = { HOME: '/nowhere', CODEX_HOME: home };
      const listed: unknown[] = [];
      for await (const file of codex.session?.list?.({ env }) ?? []) listed.push(file);
      expect(listed).toEqual([
        { path: archived, session_id: 'archived', modified_ms: 3_000 },
        { path: other, session_id: 'other', modified_ms: 2_000 },
        { path: main, session_id: 'root', modified_ms: 1_000 },
      ]);
      const parts = await codex.session?.parts(main);
      expect(parts?.map(({ path }) => path)).toEqual([main, child, long]);
    } finally {
      await rm(home, { recursive: true });
    }
  });
});

const request: LaunchRequest = {
  prompt: 'do "it"\n$now',
  model: null,
  approve: 'default',
  resume: null,
  stream: false,
  args: [],
  command: null,
  self: { node: 'node', entry: 'cli' },
};

verifies('AG-18', 'the command line depends only on the request', () => {
  expect(codex.launch(request)).toEqual({
    command: 'codex',
    args: ['exec', '--json', '-'],
    env: {},
    stdin: 'do "it"\n$now',
  });
  const full = {
    ...request,
    model: 'gpt-5.5',
    approve: 'edits',
    resume: 't1',
    args: ['-c', 'a=b'],
    command: ['node', 'codex.js'],
  } as const;
  expect(codex.launch(full)).toEqual({
    command: 'node',
    args: [
      'codex.js',
      'exec',
      '--json',
      '--sandbox',
      'workspace-write',
      '--model',
      'gpt-5.5',
      '-c',
      'a=b',
      'resume',
      't1',
      '-',
    ],
    env: {},
    stdin: 'do "it"\n$now',
  });
  expect(codex.launch({ ...request, approve: 'all' }).args).toContain(
    '--dangerously-bypass-approvals-and-sandbox',
  );
});

test('a recording without times yields null times', () => {
  const bytes = readFileSync(join(import.meta.dirname, 'testdata/read/stdout.jsonl'));
  const { metrics, tool_calls } = outcomeOf(eventsOf(codex, 'stdout', [bytes]));
  const { start_time_ms, end_time_ms, duration_ms } = metrics;
  expect([start_time_ms, end_time_ms, duration_ms]).toEqual([null, null, null]);
  expect(tool_calls.map((call) => call.duration_ms)).toEqual(tool_calls.map(() => null));
});
