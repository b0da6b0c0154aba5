import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import {
  eventsOf,
  filledIn,
  kindsOf,
  outcomeOf,
  pipelineFor,
  recordingsIn,
  testAgent,
} from '../../../test/test-agent.ts';
import { type Truth, wrongFacts } from '../../../test/truth.ts';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import type { LaunchRequest, SessionDecoderOptions } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { gemini } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
const ID = '11111111-2222-4333-8444-555555555555';

/** The main file of a recording. Sub-agents are one folder deeper. */
function sessionFile(session_dir: string): string | null {
  if (!existsSync(session_dir)) return null;
  const names = readdirSync(session_dir, { recursive: true, encoding: 'utf8' });
  const main = names.find((name) => /chats[\\/]session-[^\\/]*\.jsonl$/.test(name));
  return main === undefined ? null : join(session_dir, main);
}

testAgent(gemini, testdata, {
  sessionFile,
  unseen: { denials: 'no recording of a call that a policy refused; refusals are tested below' },
});

type Fields = Record<string, unknown>;
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
const init: Fields = { type: 'init', timestamp: at(0), session_id: ID, model: 'gemini-x' };
const said = (content: string, more: Fields = {}): Fields => ({
  type: 'message',
  timestamp: at(1),
  role: 'assistant',
  content,
  delta: true,
  ...more,
});
const use = (id: string, tool_name: string, parameters: unknown = {}): Fields => ({
  type: 'tool_use',
  timestamp: at(2),
  tool_name,
  tool_id: id,
  parameters,
});
const answered = (id: string, more: Fields = {}): Fields => ({
  type: 'tool_result',
  timestamp: at(3),
  tool_id: id,
  status: 'success',
  ...more,
});
const failed = (id: string, type: string, message: string): Fields =>
  answered(id, { status: 'error', output: message, error: { type, message } });
const stats = { total_tokens: 7, input_tokens: 5, output_tokens: 2, cached: 1, input: 4 };
const ended = (more: Fields = {}): Fields => ({
  type: 'result',
  timestamp: at(9),
  status: 'success',
  stats,
  ...more,
});

const bytes = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(gemini, 'stdout', [bytes(records)]);
const filed = (...records: unknown[]) => eventsOf(gemini, 'session', [bytes(records)]);
type Events = ReturnType<typeof stdout>;
const calls = (events: Events) =>
  outcomeOf(events).tool_calls.map(({ id, name, status, exit_code }) => [
    id,
    name,
    status,
    exit_code,
  ]);
const problems = (events: Events) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const end = (events: Events) => {
  const { exit_reason, metrics, error_details } = outcomeOf(events);
  return [exit_reason, metrics.provider_errors, error_details?.message ?? null];
};

describe('stdout', () => {
  verifies('AG-3', 'pieces of text make one message, and results end the turn', () => {
    const events = stdout(
      init,
      said('one '),
      said('two'),
      use('glob__1', 'glob', { pattern: '*' }),
      use('read_file__2', 'read_file', { file_path: 'a' }),
      answered('glob__1'),
      answered('read_file__2'),
      said('Done'),
      said('.'),
      ended(),
    );
    const outcome = outcomeOf(events);
    const texts = kindsOf(events, 'message_finished').map(({ data }) => data.text);
    expect([texts, outcome.message, outcome.metrics.steps]).toEqual([
      ['one two', 'Done.'],
      'Done.',
      2,
    ]);
    expect(kindsOf(events, 'message_delta').map(({ data }) => data.text)).toEqual([
      'one ',
      'two',
      'Done',
      '.',
    ]);
  });

  test('a complete message is recorded once', () => {
    const whole = stdout(init, said('all', { delta: false }), ended());
    const repeated = stdout(init, said('al'), said('l'), said('all', { delta: false }), ended());
    expect([outcomeOf(whole).message, outcomeOf(repeated).message]).toEqual(['all', 'all']);
  });

  verifies('AG-14', 'text before a cut is kept and marked as partial', () => {
    const events = stdout(init, said('half a'));
    const { data } = kindsOf(events, 'message_finished')[0]!;
    expect([data.text, data.partial, outcomeOf(events).exit_reason]).toEqual([
      'half a',
      true,
      'incomplete',
    ]);
  });

  verifies('AG-9', 'a policy, a hook and a person refuse; an unknown tool is an error', () => {
    const events = stdout(
      init,
      use('a', 'write_file', { file_path: 'x', content: '' }),
      use('b', 'run_shell_command', { command: 'rm x' }),
      use('c', 'run_shell_command', { command: 'rm y' }),
      use('d', 'write_file', { file_path: 'x', content: '' }),
      failed('a', 'policy_violation', 'Tool execution denied by policy. No.'),
      answered('b', {
        status: 'error',
        output: 'Tool execution blocked: no',
        error: { type: 'execution_failed', message: 'no' },
      }),
      failed('c', 'unhandled_exception', 'Tool "run_shell_command" was canceled by the user.'),
      failed('d', 'tool_not_registered', 'Tool "write_file" not found.'),
      ended(),
    );
    expect(calls(events)).toEqual([
      ['a', 'Write', 'denied', null],
      ['b', 'Bash', 'denied', null],
      ['c', 'Bash', 'denied', null],
      ['d', 'Write', 'error', null],
    ]);
    expect(outcomeOf(events).artifacts).toEqual([]);
  });

  verifies('AG-9', 'a command without output shows its exit code, signal or timeout', () => {
    const shows = (output: string, more: Fields = {}) =>
      calls(
        stdout(
          init,
          use('a', 'run_shell_command', { command: 'x' }),
          answered('a', { output, ...more }),
          ended(),
        ),
      )[0]?.slice(2);
    const kept = `\n\nOutput before cancellation:\n${'x'.repeat(2_000)}`;
    expect([
      shows('Command exited with code: 4'),
      shows('Command terminated by signal: 9'),
      shows('Command cancelled by user.'),
      shows(`Command cancelled by user.${kept}`),
      shows('Command was automatically cancelled because it exceeded the timeout of 5 minutes.'),
      shows(`Command was automatically cancelled because it exceeded the timeout of 5 …${kept}`),
      shows('Command cancelled by user.\nsays the command'),
      shows('Blocked: command substitution detected in shell command.'),
      shows('printed: Command exited with code: 4'),
      shows('x', { error: { type: 'unknown', message: 'gone' } }),
      shows('x', { status: 'strange' }),
    ]).toEqual([
      ['error', 4],
      ['error', null],
      ['cancelled', null],
      ['cancelled', null],
      ['timeout', null],
      ['timeout', null],
      ['ok', null],
      ['denied', null],
      ['ok', null],
      ['cancelled', null],
      ['unknown', null],
    ]);
  });

  verifies('AG-3', 'a result with a lost request is still a call, and counted once', () => {
    const events = stdout(init, answered('mcp_toy_add__1'), answered('mcp_toy_add__1'), ended());
    expect(calls(events)).toEqual([['mcp_toy_add__1', 'mcp__toy__add', 'ok', null]]);
    expect(problems(events)).toEqual([
      'duplicate_result a second result for mcp__toy__add mcp_toy_add__1',
    ]);
  });

  verifies('AG-6', 'server and tool of an MCP call are cut where the CLI cuts them', () => {
    const names = ['mcp_srv_a_b', 'mcp_srv', 'mcp_srv_', 'mcp__x'].map(
      (name) => calls(stdout(init, use('1', name), answered('1'), ended()))[0]?.[1],
    );
    expect(names).toEqual(['mcp__srv__a_b', 'mcp_srv', 'mcp_srv_', 'mcp__x']);
  });

  test('a written file is new unless an earlier call used it', () => {
    const write = (id: string, file_path: string) => [
      use(id, 'write_file', { file_path, content: 'new' }),
      answered(id),
    ];
    const events = stdout(
      init,
      use('1', 'read_file', { file_path: 'old' }),
      answered('1'),
      ...write('2', 'old'),
      ...write('3', 'new'),
      ...write('4', 'new'),
      use('5', 'replace', { file_path: 'made', old_string: '', new_string: 'x' }),
      answered('5'),
      ended(),
    );
    const source = 'tool';
    expect(outcomeOf(events).artifacts).toEqual([
      { path: 'old', operation: 'modified', size: 3, source },
      { path: 'new', operation: 'created', size: 3, source },
      { path: 'made', operation: 'created', size: null, source },
    ]);
  });

  verifies('AG-11', 'the end record decides how the run ended', () => {
    const error = (type: string, message: string) =>
      ended({ status: 'error', error: { type, message } });
    const quota = '[API Error: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]';
    const printed = (message: string, severity = 'error') => ({ type: 'error', severity, message });
    const invalid = 'Invalid stream: The model returned an empty response or malformed tool call.';
    const empty = 'The model returned an empty response with no text or thoughts. This may be …';
    const blocked = 'The model response was blocked due to safety settings.';
    expect([
      end(stdout(init, ended())),
      end(stdout(init, printed('Loop detected, stopping execution', 'warning'), ended())),
      end(stdout(init, error('unknown', quota))),
      end(stdout(init, error('FatalTurnLimitedError', 'Reached max session turns'))),
      end(stdout(init, error('FatalCancellationError', 'Operation cancelled.'))),
      end(stdout(init, error('no_space_left', 'disk full'))),
      end(stdout(init, printed(invalid), ended({ status: 'error' }))),
      end(stdout(init, printed(empty), ended({ status: 'error' }))),
      end(stdout(init, printed(blocked), ended({ status: 'error' }))),
      end(stdout(init, printed('Maximum session turns exceeded'), ended())),
      end(stdout(init, ended({ status: 'error' }))),
    ]).toEqual([
      ['ok', 0, null],
      ['ok', 0, null],
      ['provider_error', 1, quota],
      ['max_steps', 0, 'Reached max session turns'],
      ['cancelled', 0, 'Operation cancelled.'],
      ['agent_error', 0, 'disk full'],
      ['provider_error', 1, invalid],
      ['provider_error', 1, empty],
      ['provider_error', 1, blocked],
      ['max_steps', 0, 'Maximum session turns exceeded'],
      ['agent_error', 0, null],
    ]);
    const [failure] = kindsOf(stdout(init, error('unknown', quota)), 'provider_failed');
    expect(failure?.data).toEqual({
      kind: 'rate_limit',
      native_kind: 'RESOURCE_EXHAUSTED',
      status: 429,
      retryable: true,
      message: quota,
    });
  });

  verifies('AG-10', 'input excludes cached tokens, in earlier spellings too', () => {
    const tokens = (given: unknown) =>
      outcomeOf(stdout(init, ended({ stats: given }))).metrics.tokens;
    const rest = { cache_write: null, reasoning: 0 };
    expect(tokens(stats)).toEqual({ input: 4, output: 2, cache_read: 1, ...rest });
    expect(tokens({ input_tokens: 9, output_tokens: 2, cached: 3 })).toMatchObject({ input: 6 });
    expect(tokens({ input_tokens: 9 })).toMatchObject({ input: 9, output: null });
  });

  verifies('AG-2', 'records without required fields are problems', () => {
    const events = stdout(
      init,
      { type: 'message', role: 'robot', content: 'x' },
      { type: 'tool_use', tool_name: 'glob' },
      { type: 'tool_result' },
      { type: 'error' },
      { jsonrpc: '2.0' },
      [],
      { type: 'news' },
      ended(),
    );
    expect(problems(events)).toEqual([
      'bad_record message without role or content',
      'bad_record tool_use without tool_id or tool_name',
      'bad_record tool_result without tool_id',
      'bad_record error without message',
      'bad_record no type',
      'bad_record record is not an object',
      'unknown_record news',
    ]);
  });
});

const header = (second = 0): Fields => ({
  sessionId: ID,
  projectHash: 'h',
  startTime: at(second),
  kind: 'main',
});
const asked = (id: string, second: number, text: string): Fields => ({
  id,
  timestamp: at(second),
  type: 'user',
  content: [{ text }],
});
const reply = (id: string, second: number, more: Fields = {}): Fields => ({
  id,
  timestamp: at(second),
  type: 'gemini',
  content: '',
  thoughts: [],
  tokens: { input: 10, output: 1, cached: 4, thoughts: 2, tool: 0, total: 13 },
  model: 'gemini-x',
  ...more,
});
const answer = (id: string, name: string, response: Fields): Fields => ({
  functionResponse: { id, name, response },
});
const item = (id: string, name: string, more: Fields = {}): Fields => ({
  id,
  name,
  args: {},
  status: 'success',
  timestamp: at(5),
  result: [answer(id, name, { output: 'answer' })],
  resultDisplay: 'shown',
  displayName: name,
  ...more,
});
const shell = (output: string, more: Fields = {}): Fields =>
  item('s', 'run_shell_command', {
    args: { command: 'x' },
    result: [answer('s', 'run_shell_command', { output })],
    ...more,
  });

describe('session files', () => {
  verifies('AG-3', 'a message that is appended again reports only new facts', () => {
    const first = reply('m', 2, { content: 'Hm.', thoughts: [{ subject: 'A', description: 'b' }] });
    const events = filed(
      header(),
      asked('u', 1, 'go'),
      first,
      { ...first, toolCalls: [item('1', 'glob', { status: 'executing' })] },
      { ...first, toolCalls: [item('1', 'glob'), item('2', 'glob')] },
      { ...first, toolCalls: [item('1', 'glob'), item('2', 'glob')], tokens: { input: 20 } },
    );
    const outcome = outcomeOf(events);
    expect(calls(events)).toEqual([
      ['1', 'Glob', 'ok', null],
      ['2', 'Glob', 'ok', null],
    ]);
    expect(kindsOf(events, 'thinking_finished').map(({ data }) => data.text)).toEqual(['A\nb']);
    expect([outcome.message, outcome.metrics.steps, outcome.metrics.tokens.input]).toEqual([
      'Hm.',
      1,
      20,
    ]);
    expect(problems(events)).toEqual(['no_end_record the stream has no end record']);
  });

  test('a changed text replaces the earlier one', () => {
    const events = filed(
      header(),
      reply('m', 1, { content: 'a' }),
      reply('m', 1, { content: 'a b' }),
    );
    expect([outcomeOf(events).message, outcomeOf(events).metrics.steps]).toEqual(['a b', 1]);
  });

  verifies('AG-9', 'the exit code is read from the last lines sent to the model', () => {
    const code = (output: string, more: Fields = {}) =>
      calls(filed(header(), reply('m', 1, { toolCalls: [shell(output, more)] })))[0]?.slice(2);
    const wrapped = (text: string) => `<untrusted_context>\n${text}\n</untrusted_context>`;
    expect([
      code(wrapped('Output: a\nExit Code: 3\nProcess Group PGID: 7')),
      code(
        `${wrapped('Output: a\nExit Code: 4')}\n\n<hook_context>noted</hook_context>\n\n[System] x`,
      ),
      code('Output: a\nExit Code: 127'),
      code(wrapped('Output: x\nExit Code: 3\nmore\nProcess Group PGID: 7')),
      code(wrapped('Output: (empty)\nSignal: 15\nProcess Group PGID: 7')),
      code('Stdout: x\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)'),
      code(wrapped('Command was automatically cancelled because it exceeded the timeout of 1')),
      code('Command was cancelled by user before it could complete. There was no output.'),
      code('', { status: 'cancelled', result: [] }),
      code('Command injection detected: command substitution syntax ($(), backticks, <() or >())'),
      code(wrapped('Output: Command injection detected: command substitution syntax')),
    ]).toEqual([
      ['error', 3],
      ['error', 4],
      ['error', 127],
      ['ok', null],
      ['error', null],
      ['ok', 0],
      ['timeout', null],
      ['cancelled', null],
      ['cancelled', null],
      ['denied', null],
      ['ok', null],
    ]);
  });

  verifies('AG-9', 'a refusal is recognised by the text of the answer', () => {
    const refused = (error: string, status = 'error') =>
      calls(
        filed(
          header(),
          reply('m', 1, {
            toolCalls: [item('1', 'glob', { status, result: [answer('1', 'glob', { error })] })],
          }),
        ),
      )[0]?.[2];
    expect([
      refused('Tool execution denied by policy. No.'),
      refused('[Operation Cancelled] Reason: User did not allow tool call', 'cancelled'),
      refused('Tool "glob" not found.'),
    ]).toEqual(['denied', 'denied', 'error']);
  });

  verifies('AG-3', 'a call with only an answer is one call', () => {
    const error = 'Tool "run_shell_command" was canceled by the user.';
    const said_no = answer('s', 'run_shell_command', { error });
    const records = [
      header(),
      reply('m', 1),
      { ...asked('u', 2, ''), content: [said_no] },
      { ...asked('v', 3, ''), content: [said_no] },
    ];
    expect(calls(filed(...records))).toEqual([['s', 'Bash', 'denied', null]]);
    const later = reply('m', 1, { toolCalls: [shell('x')] });
    expect(calls(filed(...records, later))).toEqual([['s', 'Bash', 'denied', null]]);
  });

  verifies(
    'AG-3',
    'an id in another turn of the model is another call; a repeated one is not',
    () => {
      const first = reply('m', 1, { toolCalls: [item('1', 'glob')] });
      const another = reply('n', 2, { toolCalls: [item('1', 'glob')] });
      const { tokens: _, ...companion } = another;
      expect(calls(filed(header(), first, another))).toHaveLength(2);
      expect(calls(filed(header(), first, companion))).toHaveLength(1);
    },
  );

  verifies('AG-6', 'the display name identifies the server of an MCP call', () => {
    const displayName = 'b_c (my_srv MCP Server)';
    const toolCalls = [item('1', 'mcp_my_srv_b_c', { displayName })];
    const events = filed(header(), reply('m', 1, { toolCalls }));
    expect(calls(events)[0]?.[1]).toBe('mcp__my_srv__b_c');
  });

  verifies('AG-11', 'a rolled back prompt does not end well, though a text is last', () => {
    const done = reply('m', 2, { content: 'Done.' });
    const restated = { $set: { messages: [asked('u', 1, 'go'), done] } };
    const one = [header(), asked('u', 1, 'go'), done];
    expect(outcomeOf(filed(...one)).exit_reason).toBe('ok');
    const failed_later = filed(...one, header(3), restated, asked('v', 4, 'more'), restated);
    expect([outcomeOf(failed_later).exit_reason, outcomeOf(failed_later).metrics.steps]).toEqual([
      'incomplete',
      1,
    ]);
  });

  verifies('AG-3', 'a patch yields messages that were never appended, but no summary', () => {
    const summary = { id: 's', timestamp: at(1), type: 'gemini', content: [{ text: 'Got it.' }] };
    const old = reply('m', 1, { toolCalls: [item('1', 'glob')] });
    const events = filed(header(), { $set: { messages: [summary, old] } }, old);
    expect([calls(events).length, outcomeOf(events).metrics.steps]).toEqual([1, 1]);
    expect(outcomeOf(events).message).toBe('');
  });

  verifies('AG-2', 'unknown patches, records and types are problems; notices are not', () => {
    const events = filed(
      header(),
      { $set: { colour: 'red' } },
      { $unset: {} },
      { $set: { messages: [{ type: 'gemini' }] } },
      { id: 'x', type: 'robot', content: '' },
      { id: 'y', type: 'info', content: 'Update available', timestamp: at(1) },
      { $rewindTo: 'x' },
      { what: 1 },
      [],
      reply('m', 1, { toolCalls: [{}, 5] }),
      reply('n', 2, { content: 'ok' }),
    );
    expect(problems(events)).toEqual([
      'unknown_record $set/colour',
      'unknown_record $unset',
      'bad_record $set message without id',
      'unknown_record robot',
      'bad_record no type',
      'bad_record record is not an object',
      'bad_record tool call without id or name',
      'bad_record tool call without id or name',
    ]);
    expect(kindsOf(events, 'notice').map(({ data }) => data)).toEqual([
      { code: 'info', text: 'Update available' },
      { code: 'rewind', text: null },
    ]);
  });

  /** Events of the file from a time on, beside a stream or alone. */
  function readBack(bytes: Buffer, options: SessionDecoderOptions): Event[] {
    const pipeline = new Pipeline({
      agent: gemini,
      primary: 'session',
      now: null,
      decoder: gemini.session!.decoder(options),
      info: recordedRun('r_00000000000000000000000000', gemini.id),
    });
    return [
      ...pipeline.push('session', bytes),
      ...pipeline.endOfInput('session'),
      ...pipeline.finish(),
    ];
  }

  verifies(['AG-10', 'AG-16'], 'only this run of a resumed session counts', () => {
    const bytes = readFileSync(sessionFile(join(testdata, 'resume', 'session'))!);
    const truths = JSON.parse(readFileSync(join(testdata, 'resume', 'truth.json'), 'utf8'));
    const run = truths.session_runs[1] as Truth;
    const since_ms = Date.parse('2026-11-15T01:24:15.000Z');
    expect(wrongFacts(run, outcomeOf(readBack(bytes, { since_ms })))).toEqual([]);
    // stdout reports the end of a live run, and with it the tokens.
    const unsaid = { usage: null, ok: null, exit_reason: null, terminal_evidence: null };
    const events = readBack(bytes, { since_ms, stream_usage: true });
    expect(wrongFacts({ ...run, ...unsaid }, outcomeOf(events))).toEqual([]);
    expect(kindsOf(events, 'agent_ended')).toEqual([]);
    expect(kindsOf(events, 'usage_reported')).toEqual([]);
  });

  verifies(
    ['AG-10', 'AG-16'],
    'an interrupted run has the tokens of its file, even if text precedes the interrupted call',
    () => {
      const path = sessionFile(join(testdata, 'interrupted-tool', 'session'))!;
      const silent = readFileSync(path, 'utf8');
      const spoken = silent.replace('"content":"","thoughts"', '"content":"I run it.","thoughts"');
      expect(spoken).not.toBe(silent);
      for (const text of [silent, spoken]) {
        const events = readBack(Buffer.from(text), { since_ms: 0, stream_usage: false });
        expect(kindsOf(events, 'agent_ended')).toEqual([]);
        expect(
          kindsOf(events, 'usage_reported')
            .map(({ data }) => data.usage)
            .slice(1),
        ).toEqual([{ input: 5180, output: 25, cache_read: 0, cache_write: null, reasoning: 0 }]);
      }
    },
  );

  verifies(['AG-10', 'AG-16'], 'tokens are filled in if the stream was cut', async () => {
    const [stream, file] = recordingsIn(testdata, { sessionFile }).filter(
      ({ scenario }) => scenario === 'interrupted-tool',
    );
    const pipeline = pipelineFor(gemini, 'stdout');
    pipeline.push('stdout', stream!.bytes);
    pipeline.endOfInput('stdout');
    const filled = await filledIn(gemini, pipeline, file!);
    expect(
      kindsOf(filled, 'usage_reported')
        .map(({ data }) => data.usage)
        .slice(1),
    ).toEqual([{ input: 5180, output: 25, cache_read: 0, cache_write: null, reasoning: 0 }]);
  });
});

describe('location of sessions', () => {
  const chats = join('.gemini', 'tmp', 'project', 'chats');
  const inHome = async (use_home: (home: string) => Promise<void>) => {
    const home = await mkdtemp(join(tmpdir(), 'tacho-gemini-'));
    try {
      await mkdir(join(home, chats), { recursive: true });
      await use_home(home);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };

  verifies('AG-15', 'a session is found by its whole id, in the configured home', () =>
    inHome(async (home) => {
      const name = (id: string) => join(home, chats, `session-2026-01-01T00-00-${id}.jsonl`);
      const other = { ...header(), sessionId: `${ID.slice(0, 8)}-other` };
      await writeFile(name('a-11111111'), `${JSON.stringify(header())}\n`);
      await writeFile(name('b-11111111'), `${JSON.stringify(other)}\n`);
      const find = (session_id: string, env: NodeJS.ProcessEnv) =>
        gemini.session!.find({ session_id, cwd: '/p', env });
      expect(await find(ID, { GEMINI_CLI_HOME: home, HOME: '/nowhere' })).toBe(name('a-11111111'));
      expect(await find(ID, { HOME: home })).toBe(name('a-11111111'));
      expect(await find('11111111-none', { HOME: home })).toBe(null);
      expect(await find('../../etc/passwd', { HOME: home })).toBe(null);
    }),
  );

  verifies(['AG-12', 'AG-15'], 'sub-agents are found with the calls that started them', () =>
    inHome(async (home) => {
      const from = sessionFile(join(testdata, 'subagent', 'session'))!;
      const folder = join(home, chats);
      await cp(join(from, '..'), folder, { recursive: true });
      const main = join(folder, readdirSync(folder).find((name) => name.startsWith('session-'))!);
      const parent = '14a88fed-2ee7-4e44-a4b5-208f48949815';
      const child = join(folder, parent, 'ff3857f4-3316-45fc-8de9-2abb2fe40c4f.jsonl');
      await writeFile(join(folder, parent, 'lost-agent.jsonl'), '');
      expect(await gemini.session!.parts(main)).toEqual([
        { path: main, parent_call_id: null },
        { path: child, parent_call_id: 'invoke_agent__fc_mock_0002' },
        {
          path: join(folder, parent, 'lost-agent.jsonl'),
          parent_call_id: null,
          unclaimed: { in: main, bytes: (await stat(main)).size },
        },
      ]);
      expect(await gemini.session!.parts(child)).toEqual([{ path: child, parent_call_id: null }]);
    }),
  );

  verifies('AG-12', 'text of a sub-agent with an unknown call does not belong to the run', () => {
    const decoder = gemini.session!.decoder();
    const drafts: Parameters<typeof decoder.record>[1] = [];
    const part = { path: 'child', parent_call_id: null };
    decoder.record({ ...header(), kind: 'subagent' }, drafts, part);
    decoder.record(asked('u', 1, 'go'), drafts, part);
    const toolCalls = [item('1', 'glob')];
    decoder.record(reply('m', 2, { content: 'child', toolCalls }), drafts, part);
    decoder.end(drafts);
    expect(drafts.map(({ kind }) => kind)).toEqual(['call_requested', 'call_finished']);
  });
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: '-p "quoted"\n$(no)',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: 'node', entry: 'tacho' },
  };

  verifies('AG-18', 'the prompt is passed on stdin unchanged, and options become flags', () => {
    const prompt = request.prompt;
    expect(gemini.launch(request)).toEqual({
      command: 'gemini',
      args: ['--output-format', 'stream-json'],
      env: {},
      stdin: prompt,
    });
    const all = gemini.launch({
      ...request,
      command: ['npx', 'gemini'],
      model: 'gemini-2.5-pro',
      approve: 'all',
      resume: 'latest',
      args: ['--skip-trust'],
    });
    expect([all.command, ...all.args].join(' ')).toBe(
      'npx gemini --output-format stream-json --model gemini-2.5-pro --approval-mode yolo --resume latest --skip-trust',
    );
    expect(gemini.launch({ ...request, approve: 'edits' }).args).toContain('auto_edit');
  });
});

verifies(['WA-1', 'WA-9'], 'the folder of a session is in a file beside its sessions', async () => {
  const project = join(testFolder(), 'shop');
  const chats = join(project, 'chats');
  await mkdir(chats, { recursive: true });
  const path = join(chats, 'session-2026-01-01T00-00-11111111.jsonl');
  const cwd = () => {
    const decoder = gemini.session?.decoder({ path });
    const drafts: Draft[] = [];
    decoder?.record({ sessionId: ID, startTime: at(0), kind: 'main' }, drafts);
    decoder?.end(drafts);
    return drafts.flatMap(({ kind, data }) => (kind === 'session_started' ? [data.cwd] : []));
  };
  expect(cwd()).toEqual([null]);
  await writeFile(join(project, '.project_root'), '/home/user/shop');
  expect(cwd()).toEqual(['/home/user/shop']);
  await writeFile(join(project, '.project_root'), 'shop');
  expect(cwd()).toEqual([null]);
});
