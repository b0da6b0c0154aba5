import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  eventsOf,
  kindsOf,
  malformed,
  outcomeOf,
  pipelineFor,
  type Recording,
  testAgent,
  wholeRun,
} from '../../../test/test-agent.ts';
import { type Truth, wrongFacts } from '../../../test/truth.ts';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { opencode } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');

/** Stdout of these does not have the work folder, which the session has. They are compared below, without it. */
const FOLDERLESS = ['apply-patch', 'multi-step-no-rg', 'serve-attach', 'write-edit'];

function rowsOf(session_dir: string): string | null {
  const path = join(session_dir, 'db-part.jsonl');
  const scenario = basename(dirname(session_dir));
  return existsSync(path) && !FOLDERLESS.includes(scenario) ? path : null;
}

testAgent(opencode, testdata, { sessionFile: rowsOf });

type Fields = Record<string, unknown>;

const SES = 'ses_e232ea426ffetHR1FGCly8FsMH';
const T0 = 1_794_706_000_000;

const lines = (...records: unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const stdout = (...records: unknown[]) => eventsOf(opencode, 'stdout', [lines(...records)]);
const filed = (...records: unknown[]) => eventsOf(opencode, 'session', [lines(...records)]);
const problems = (events: readonly Event[]) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const calls = (events: readonly Event[]) =>
  outcomeOf(events).tool_calls.map(({ id, name, status, exit_code }) => [
    id,
    name,
    status,
    exit_code,
  ]);

async function recorded(scenario: string, file: string): Promise<Event[]> {
  const path = join(testdata, scenario, file);
  const channel = file.startsWith('session') ? 'session' : 'stdout';
  const recording: Recording = { scenario, channel, path, bytes: readFileSync(path), truth: null };
  return wholeRun(opencode, recording);
}

/** If no channel has the arguments of a call, truth.json has null. */
function truthOf(scenario: string, channel: 'stdout' | 'session' | 'bus'): Truth {
  const text = readFileSync(join(testdata, scenario, 'truth.json'), 'utf8');
  const truth = JSON.parse(text)[channel] as Truth;
  const whole = truth.calls.map((call) => ({ ...call, input: call.input ?? {} }));
  return { ...truth, calls: whole };
}

/** A line of `run --format json`. */
const cli = (type: string, part: Fields, n = 0): Fields => ({
  type,
  timestamp: T0 + n,
  sessionID: SES,
  part: { id: `prt_${n}`, messageID: 'msg_1', sessionID: SES, ...part },
});
const begin = (n = 0, more: Fields = {}) => cli('step_start', { type: 'step-start', ...more }, n);
const finish = (reason: string, n = 90, more: Fields = {}) =>
  cli('step_finish', { type: 'step-finish', reason, ...more }, n);
const said = (text: string, n = 1, more: Fields = {}) =>
  cli('text', { type: 'text', text, time: { start: T0, end: T0 + n }, ...more }, n);
const used = (tool: string, state: Fields, n = 2) =>
  cli('tool_use', { type: 'tool', tool, callID: `call_${n}`, state }, n);
const time = { start: T0, end: T0 + 5 };

/** An event of the bus. */
const bus = (type: string, properties: Fields): Fields => ({ type, properties });
const assistant = (id: string, more: Fields = {}, session_id = SES): Fields =>
  bus('message.updated', {
    info: {
      id,
      sessionID: session_id,
      role: 'assistant',
      modelID: 'claude-sonnet',
      providerID: 'anthropic',
      time: { created: T0 },
      ...more,
    },
  });
const closed = (id: string, more: Fields = {}): Fields =>
  assistant(id, {
    time: { created: T0, completed: T0 + 60 },
    finish: 'stop',
    cost: 0.01,
    tokens: { input: 1000, output: 500, reasoning: 0, cache: { read: 0, write: 100 } },
    ...more,
  });
const part = (id: string, message_id: string, fields: Fields, session_id = SES): Fields =>
  bus('message.part.updated', {
    part: { id, sessionID: session_id, messageID: message_id, ...fields },
  });
const tool = (id: string, name: string, state: Fields, session_id = SES): Fields =>
  part(id, 'msg_1', { type: 'tool', tool: name, callID: `call_${id}`, state }, session_id);

/** JSON with every non-ASCII character escaped. */
const escaped = (json: string) =>
  json.replaceAll(/[\u0080-\uffff]/g, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

/** The final output of a session that is read as byte text. */
function saidInByteText(bytes: Buffer): string | undefined {
  const pipeline = new Pipeline({
    agent: opencode,
    info: recordedRun('r', 'opencode'),
    primary: 'session',
    now: null,
    byte_text: true,
  });
  const events = [...pipeline.push('session', bytes), ...pipeline.endOfInput('session')];
  const [end] = kindsOf(fromByteText([...events, ...pipeline.finish()]), 'run_finished');
  return end?.data.final_output;
}

describe('recordings in other shapes', () => {
  const scenarios = readdirSync(testdata).flatMap((name) =>
    name === 'renamed' ? readdirSync(join(testdata, name)).map((one) => `${name}/${one}`) : name,
  );
  for (const scenario of scenarios) {
    const folder = join(testdata, scenario, 'session');
    const name = existsSync(folder) && readdirSync(folder).find((one) => /^export-/.test(one));
    if (!name) continue;
    verifies(['AG-3', 'AG-15'], `${scenario}: the export has every fact`, async () => {
      const events = await recorded(scenario, join('session', name));
      expect(wrongFacts(truthOf(scenario, 'session'), outcomeOf(events))).toEqual([]);
      expect(malformed(events)).toEqual([]);
      expect(problems(events)).toEqual([]);
      const rows = outcomeOf(await recorded(scenario, 'session/db-part.jsonl'));
      const { tool_calls, message, artifacts } = outcomeOf(events);
      expect({ tool_calls, message, artifacts }).toEqual({
        tool_calls: rows.tool_calls,
        message: rows.message,
        artifacts: rows.artifacts,
      });
    });
  }

  for (const scenario of scenarios.filter((name) => name.startsWith('renamed/'))) {
    for (const [channel, file] of [
      ['stdout', 'stdout.jsonl'],
      ['session', 'session/db-part.jsonl'],
    ] as const) {
      verifies(['AG-3', 'AG-4'], `${scenario} ${channel}: every fact is right`, async () => {
        const events = await recorded(scenario, file);
        expect(wrongFacts(truthOf(scenario, channel), outcomeOf(events))).toEqual([]);
        expect(malformed(events)).toEqual([]);
        expect(problems(events)).toEqual([]);
      });
    }
  }

  for (const scenario of FOLDERLESS) {
    verifies(['AG-3', 'AG-15'], `${scenario}: rows and stream yield the same facts`, async () => {
      const facts = (events: readonly Event[]) => {
        const { tool_calls, message, artifacts } = outcomeOf(events);
        const files = artifacts.map(({ path, ...rest }) => [basename(path), rest]);
        return { tool_calls, message, files };
      };
      const rows = await recorded(scenario, 'session/db-part.jsonl');
      expect(wrongFacts(truthOf(scenario, 'session'), outcomeOf(rows))).toEqual([]);
      expect(malformed(rows)).toEqual([]);
      expect(problems(rows)).toEqual([]);
      expect(facts(rows)).toEqual(facts(await recorded(scenario, 'stdout.jsonl')));
    });
  }

  for (const [scenario, file] of [
    ['serve', 'event.jsonl'],
    ['serve', 'global-event.jsonl'],
    ['serve-attach', 'event.jsonl'],
  ] as const) {
    verifies('RO-2', `${scenario}/${file}: the bus has every fact once`, async () => {
      const events = await recorded(scenario, file);
      expect(wrongFacts(truthOf(scenario, 'bus'), outcomeOf(events))).toEqual([]);
      expect(malformed(events)).toEqual([]);
      expect(problems(events)).toEqual([]);
      const bytes = readFileSync(join(testdata, scenario, file));
      const sse = bytes.toString('utf8').replaceAll(/^(?=\{)/gm, 'data: ');
      expect(outcomeOf(eventsOf(opencode, 'stdout', [Buffer.from(sse)]))).toEqual(
        outcomeOf(events),
      );
    });
  }

  verifies('RO-2', 'a sync repeat adds nothing, but a sync without its event does', () => {
    const info = { id: SES, directory: '/p', version: '1', time: { created: T0 } };
    const plain = { id: 'evt_1', type: 'session.created', properties: { info } };
    const syncEvent = { id: 'evt_1', type: 'session.created.1', seq: 0, aggregateID: SES };
    const sync = { type: 'sync', syncEvent: { ...syncEvent, data: { info } } };
    const both = stdout({ payload: plain }, { payload: sync });
    expect(kindsOf(both, 'session_started').length).toBe(1);
    expect(kindsOf(stdout({ payload: sync }), 'session_started')).toHaveLength(1);
    const row = { id: 'evt_1', aggregate_id: SES, seq: 0, type: 'session.created.1' };
    const stored = filed({ ...row, data: JSON.stringify({ info }) });
    expect(kindsOf(stored, 'session_started')[0]?.data.cwd).toBe('/p');
  });

  verifies('AG-14', 'a truncated export yields its complete parts and a problem', async () => {
    const path = join(testdata, 'read', 'session');
    const name = readdirSync(path).find((one) => one.startsWith('export-')) ?? '';
    const bytes = readFileSync(join(path, name));
    const cut = eventsOf(opencode, 'session', [bytes.subarray(0, bytes.length - 400)]);
    expect(calls(cut)).toEqual([['call_002_0', 'Read', 'ok', null]]);
    expect(problems(cut)).toEqual(['torn_line the export ends before its last bracket']);
    const lone = eventsOf(opencode, 'session', [Buffer.from('{\nhello\n')]);
    expect(kindsOf(lone, 'problem').map(({ data }) => data.code)).toEqual(['not_json', 'not_json']);
  });

  verifies('AG-2', 'missing, duplicate or foreign lines never break the decoder', () => {
    const folder = join(testdata, 'write-edit', 'session');
    const name = readdirSync(folder).find((one) => one.startsWith('export-')) ?? '';
    const whole = readFileSync(join(folder, name), 'utf8').split('\n');
    const foreign = ['}', '{', '[', '],', 'null', '{}', '"x"', '{"type":"x"}', 'npm warn'];
    for (let n = 0; n < whole.length; n += 3) {
      const gone = whole.toSpliced(n, 1);
      const twice = whole.toSpliced(n, 0, whole[n] ?? '');
      const mixed = whole.toSpliced(n, 0, foreign[n % foreign.length] ?? '');
      for (const some of [gone, twice, mixed]) {
        const events = eventsOf(opencode, 'session', [Buffer.from(some.join('\n'))]);
        expect(malformed(events)).toEqual([]);
        expect(problems(events).filter((text) => text.startsWith('decoder_fault'))).toEqual([]);
      }
    }
  });

  verifies('AG-15', 'an export on one line or with escapes yields the same events', () => {
    const text = { id: 'prt_1', sessionID: SES, messageID: 'msg_1', type: 'text', time };
    const info = { id: 'msg_1', sessionID: SES, role: 'assistant', finish: 'stop' };
    const times = { created: T0, completed: T0 + 9 };
    const document = {
      info: { id: SES, directory: '/p', empty: {}, list: [{}, [], 'x', 1] },
      messages: [
        { info: { ...info, time: times }, parts: [{ ...text, text: 'Grün \u001b[1m→ 👋' }] },
      ],
    };
    for (const indent of [0, 2, 4]) {
      const plain = JSON.stringify(document, null, indent);
      for (const bytes of [Buffer.from(plain), Buffer.from(escaped(plain))]) {
        const events = eventsOf(opencode, 'session', [bytes]);
        expect(problems(events)).toEqual([]);
        expect(outcomeOf(events)).toMatchObject({ success: true, message: 'Grün \u001b[1m→ 👋' });
        expect(saidInByteText(bytes)).toBe('Grün \u001b[1m→ 👋');
      }
    }
  });

  verifies('AG-13', 'JSON in the texts of rows is also read as text when lines are bytes', () => {
    const message = { role: 'assistant', time: { created: T0, completed: T0 + 9 }, finish: 'stop' };
    const said = { type: 'text', text: 'Grün → 👋', time };
    const ids = { session_id: SES, time_created: T0 };
    for (const written of [(text: string) => text, escaped]) {
      const rows = lines(
        { id: 'msg_1', ...ids, data: written(JSON.stringify(message)) },
        { id: 'prt_1', message_id: 'msg_1', ...ids, data: written(JSON.stringify(said)) },
      );
      expect(saidInByteText(rows)).toBe('Grün → 👋');
    }
  });
});

describe('the bus of earlier versions', () => {
  const created = bus('session.created', {
    info: { id: SES, projectID: 'p', directory: '/p', version: '1.0.0', time: { created: T0 } },
  });
  const call = (status: string, more: Fields = {}) =>
    tool('t1', 'bash', { status, input: { command: 'ls' }, ...more });

  verifies(
    ['RO-2', 'RO-3'],
    'one tool in three states and its command.executed is one call',
    () => {
      const executed = bus('command.executed', { command: 'ls', exitCode: 2, stdout: '', time });
      const done = { output: 'x', title: 'ls', metadata: {}, time };
      for (const records of [
        [call('pending', { raw: '' }), call('running'), call('completed', done), executed],
        [call('pending', { raw: '' }), call('running'), executed, call('completed', done)],
      ]) {
        const events = stdout(created, assistant('msg_1'), ...records, call('completed', done));
        expect(calls(events)).toEqual([['call_t1', 'Bash', 'error', 2]]);
        expect(problems(events)).toEqual([]);
      }
    },
  );

  verifies('RO-3', 'a text in several snapshots is its last snapshot', () => {
    const text = (words: string, more: Fields = {}) =>
      part('p1', 'msg_1', { type: 'text', text: words, ...more });
    const grows = ['Hel', 'Hello wor', 'Hello world'];
    for (const more of [{}, { time: { start: T0 } }, { time }]) {
      const snapshots = grows.map((words) => text(words, more));
      for (const records of [
        [created, assistant('msg_1'), ...snapshots, closed('msg_1')],
        [created, ...snapshots],
      ]) {
        expect(outcomeOf(stdout(...records)).message).toBe('Hello world');
      }
    }
    const events = stdout(created, assistant('msg_1'), ...grows.map((words) => text(words)));
    const deltas = kindsOf(events, 'message_delta').map(({ data }) => data.text);
    expect(deltas).toEqual(['Hel', 'lo wor', 'ld']);
  });

  verifies(['RO-4', 'RO-5'], 'the last assistant message is final; tokens are summed', () => {
    const user = bus('message.updated', {
      info: { id: 'u1', sessionID: SES, role: 'user', time: { created: T0 } },
    });
    const records = [
      created,
      user,
      part('p0', 'u1', { type: 'text', text: 'the prompt' }),
      assistant('msg_1'),
      part('p1', 'msg_1', { type: 'text', text: 'first', time }),
      closed('msg_1', { finish: 'tool-calls' }),
      assistant('msg_2'),
      part('p2', 'msg_2', { type: 'text', text: ' one ', time }),
      part('p3', 'msg_2', { type: 'text', text: ' \n', time }),
      part('p4', 'msg_2', { type: 'text', text: 'two', time }),
      part('p5', 'msg_2', { type: 'text', text: 'not me', synthetic: true, time }),
      part('p6', 'msg_2', { type: 'text', text: 'nor me', ignored: true, time }),
      closed('msg_2'),
      closed('msg_2'),
      user,
      bus('session.idle', { sessionID: SES }),
    ];
    const outcome = outcomeOf(stdout(...records));
    expect(outcome.message.trim()).toBe('one \ntwo');
    expect(outcome).toMatchObject({ success: true, terminal_evidence: 'native_result' });
    expect(outcome.metrics).toMatchObject({
      model_name: 'anthropic/claude-sonnet',
      cost: 0.02,
      tokens: { input: 2000, output: 1000, cache_read: 0, cache_write: 200, reasoning: 0 },
    });
  });

  verifies('RO-2', 'permissions are read by both names, with the decision before the start', () => {
    const running = call('running');
    const done = call('completed', { output: '', metadata: { exit: 0 }, time });
    const old = [
      bus('permission.updated', { id: 'per_1', type: 'bash', pattern: 'ls', callID: 'call_t1' }),
      bus('permission.replied', { sessionID: SES, permissionID: 'per_1', response: 'once' }),
    ];
    const now = [
      bus('permission.asked', {
        id: 'per_1',
        permission: 'bash',
        patterns: ['ls'],
        tool: { messageID: 'msg_1', callID: 'call_t1' },
      }),
      bus('permission.replied', { sessionID: SES, requestID: 'per_1', reply: 'once' }),
    ];
    for (const records of [old, now]) {
      const events = stdout(created, running, ...records, done);
      const order = events.map(({ kind }) => kind).filter((kind) => /^(call|perm)/.test(kind));
      expect(order).toEqual([
        'call_requested',
        'permission_asked',
        'permission_answered',
        'call_decided',
        'call_started',
        'call_finished',
      ]);
      expect(kindsOf(events, 'permission_asked')[0]?.data).toEqual({
        request_id: 'per_1',
        call_id: 'call_t1',
        tool: 'Bash',
        reason: 'ls',
      });
    }
  });

  verifies('RO-2', 'a file edited without a call is still a change', () => {
    const events = stdout(
      created,
      bus('file.edited', { path: '/p/a', diff: { file: 'a', before: '', after: 'x' } }),
      bus('file.edited', { file: '/p/b' }),
      bus('file.edited', { file: '/p/c' }),
      bus('file.watcher.updated', { file: '/p/c', event: 'add' }),
      tool('t2', 'write', {
        status: 'completed',
        input: { filePath: '/p/b', content: 'x' },
        output: '',
        metadata: { filepath: '/p/b', exists: true },
        time,
      }),
    );
    const changes = outcomeOf(events).artifacts.map(({ path, operation }) => [path, operation]);
    expect(changes).toEqual([
      ['b', 'modified'],
      ['a', 'created'],
      ['c', 'created'],
    ]);
  });

  verifies(['RO-2', 'RO-6'], 'retries, slash commands and session errors are recorded', () => {
    const error = { name: 'ApiError', data: { message: 'overloaded', statusCode: 529 } };
    const status = { type: 'retry', attempt: 1, message: 'Rate limited', next: T0 + 2000 };
    const events = stdout(
      created,
      bus('session.status', { sessionID: SES, status: { type: 'busy' } }),
      assistant('msg_1'),
      bus('session.status', { sessionID: SES, status }),
      bus('command.executed', { name: 'hello', arguments: 'Bob', sessionID: SES }),
      bus('session.error', { sessionID: SES, error }),
      closed('msg_1', { error }),
      bus('session.status', { sessionID: SES, status: { type: 'idle' } }),
      bus('session.idle', { sessionID: SES }),
    );
    expect(problems(events)).toEqual([]);
    expect(kindsOf(events, 'agent_ended').length).toBe(1);
    const outcome = outcomeOf(events);
    expect(outcome).toMatchObject({
      success: false,
      exit_reason: 'provider_error',
      terminal_evidence: 'native_result',
    });
    expect(outcome.metrics).toMatchObject({ provider_retries: 1, provider_errors: 1 });
    const failures = [
      ...kindsOf(events, 'provider_retried'),
      ...kindsOf(events, 'provider_failed'),
    ];
    expect(failures.map(({ data }) => [data.kind, data.native_kind])).toEqual([
      ['rate_limit', 'Rate limited'],
      ['overloaded', 'ApiError'],
    ]);
    expect(kindsOf(events, 'notice').map(({ data }) => data.text)).toEqual(['/hello Bob']);
    const plain = bus('session.error', { error: { name: 'Oops', message: 'broke' } });
    expect(outcomeOf(stdout(created, plain))).toMatchObject({
      exit_reason: 'agent_error',
      error_details: { message: 'broke' },
    });
  });

  verifies('AG-2', 'unknown event types are counted, noise is not', () => {
    const events = stdout(created, bus('session.next.step', {}), bus('plugin.added', {}));
    expect(problems(events)).toEqual(['unknown_record session.next.step']);
    expect(problems(stdout(part('p', 'm', { type: 'hologram' })))).toEqual([
      'unknown_record part hologram',
    ]);
  });
});

describe('how calls end', () => {
  const REJECTED = 'The user rejected permission to use this specific tool call.';
  const failed = (error: string, name = 'bash') =>
    used(name, { status: 'error', input: {}, error });

  verifies(['AG-9', 'AG-11'], 'a refusal that nobody could answer ends the run as denied', () => {
    const stopped = stdout(begin(), said('I will.'), failed(REJECTED), finish('tool-calls'));
    expect(calls(stopped)).toEqual([['call_2', 'Bash', 'denied', null]]);
    expect(outcomeOf(stopped)).toMatchObject({
      success: false,
      exit_reason: 'denied',
      terminal_evidence: 'inferred',
      message: 'I will.',
    });
    const goes_on = [
      begin(100, { messageID: 'msg_2' }),
      finish('stop', 101, { messageID: 'msg_2' }),
    ];
    const after = stdout(begin(), failed(REJECTED), finish('tool-calls'), ...goes_on);
    expect(outcomeOf(after).exit_reason).toBe('ok');
    const advised = `${REJECTED.slice(0, -1)} with the following feedback: no`;
    const advice = stdout(begin(), failed(advised), finish('tool-calls'));
    expect(calls(advice)).toEqual([['call_2', 'Bash', 'denied', null]]);
    expect(outcomeOf(advice).exit_reason).toBe('incomplete');
    const question = stdout(begin(), failed('The user dismissed this question', 'question'));
    expect(calls(question)).toEqual([['call_2', 'AskUser', 'denied', null]]);
  });

  verifies('AG-11', 'a run ends only with a last step, whatever came before it', () => {
    const reason = (...records: unknown[]) => outcomeOf(stdout(...records)).exit_reason;
    expect(reason(begin(), finish('tool-calls'))).toBe('incomplete');
    expect(reason(begin(), finish('unknown'))).toBe('incomplete');
    expect(reason(begin(), finish('length'))).toBe('ok');
    expect(reason(begin(), finish('error'))).toBe('agent_error');
    expect(reason(begin(), finish('stop'), begin(100))).toBe('incomplete');
    const error = { name: 'APIError', data: { message: 'no', statusCode: 500 } };
    const line = { type: 'error', timestamp: T0, sessionID: SES, error };
    expect(reason(begin(), finish('stop'), line)).toBe('provider_error');
    expect(reason(line, begin(), finish('stop'))).toBe('ok');
    const aborted = { ...line, error: { name: 'MessageAbortedError', data: { message: 'x' } } };
    expect(reason(begin(), aborted)).toBe('cancelled');
  });

  verifies('AG-9', 'commands ended by the tool itself are timed out or cancelled', () => {
    const shell = (note: string, tag = 'shell') =>
      used('bash', {
        status: 'completed',
        input: { command: 'sleep 9' },
        output: `begin\n\n<${tag}_metadata>\n${note}\n</${tag}_metadata>`,
        metadata: { exit: null },
        time,
      });
    const late = 'bash tool terminated command after exceeding timeout 1000 ms';
    expect(calls(stdout(begin(), shell(late, 'bash')))[0]?.[2]).toBe('timeout');
    expect(calls(stdout(begin(), shell('User aborted the command')))[0]?.[2]).toBe('cancelled');
    expect(calls(stdout(begin(), failed('Tool execution aborted')))[0]?.[2]).toBe('cancelled');
  });

  verifies(
    ['AG-4', 'AG-6'],
    'names that depend on the call: patches, renamed and MCP calls',
    () => {
      const ok = (name: string, input: Fields, metadata: Fields = {}) =>
        stdout(begin(), used(name, { status: 'completed', input, output: '', metadata, time }));
      const tools = (events: readonly Event[]) =>
        kindsOf(events, 'call_requested').map(({ data }) => [
          data.tool,
          data.native_tool,
          data.row,
        ]);
      const add = '*** Begin Patch\n*** Add File: a\n+x\n*** End Patch';
      expect(tools(ok('apply_patch', { patchText: add }))).toEqual([
        ['Write', 'apply_patch', 'opencode:apply_patch'],
      ]);
      const bad = { tool: 'toy_add', error: 'Invalid input for tool toy_add: JSON parsing failed' };
      expect(tools(ok('invalid', bad))).toEqual([['mcp__toy__add', 'invalid', 'mcp']]);
      const none = { tool: 'toy_add', error: "Model tried to call unavailable tool 'toy_add'." };
      expect(tools(ok('invalid', none))).toEqual([['toy_add', 'invalid', 'pass']]);
      expect(tools(ok('toy_add_numbers', {}))).toEqual([
        ['mcp__toy__add_numbers', 'toy_add_numbers', 'mcp'],
      ]);
      expect(tools(ok('plan_exit', {}))).toEqual([['plan_exit', 'plan_exit', 'pass']]);
      const moved = { filePath: '/p/a', movePath: '/p/b', type: 'move' };
      const events = ok('apply_patch', { patchText: '*** Update File: a' }, { files: [moved] });
      expect(outcomeOf(events).artifacts.map(({ path, operation }) => [path, operation])).toEqual([
        ['/p/a', 'deleted'],
        ['/p/b', 'created'],
      ]);
    },
  );

  verifies('AG-3', 'calls with the same id are all kept, in sequence and in parallel', () => {
    const done = { status: 'completed', input: { pattern: 'x' }, output: '', time };
    const twice = stdout(
      begin(),
      cli('tool_use', { type: 'tool', tool: 'grep', callID: 'c', state: done }, 2),
      cli('tool_use', { type: 'tool', tool: 'glob', callID: 'c', state: done }, 3),
      cli('tool_use', { type: 'tool', tool: 'glob', callID: 'c', state: done }, 3),
    );
    expect(calls(twice)).toEqual([
      ['c', 'Grep', 'ok', null],
      ['c', 'Glob', 'ok', null],
    ]);
    const at = (id: string, name: string, state: Fields) =>
      part(id, 'msg_1', { type: 'tool', tool: name, callID: 'c', state });
    const running = { status: 'running', input: { pattern: 'x' }, time };
    const once = stdout(
      at('a', 'grep', running),
      at('b', 'glob', running),
      at('b', 'glob', done),
      at('a', 'grep', done),
    );
    expect(calls(once)).toEqual([
      ['c', 'Grep', 'ok', null],
      ['c#2', 'Glob', 'ok', null],
    ]);
    expect(problems(once)).toEqual([]);
    const pending = stdout(at('a', 'grep', { status: 'pending', input: {}, raw: '' }));
    expect(calls(pending)).toEqual([['c', 'Grep', 'cancelled', null]]);
  });
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: 'Say "hello"\n--now',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: 'node', entry: 'tacho' },
  };

  verifies('AG-18', 'the prompt is passed on stdin unchanged', () => {
    expect(opencode.launch(request)).toEqual({
      command: 'opencode',
      args: ['run', '--format', 'json', '--thinking'],
      env: {},
      stdin: 'Say "hello"\n--now',
    });
  });

  verifies('AG-18', 'model, session, approval and arguments become the flags of the CLI', () => {
    const more = { model: 'a/b', resume: SES, approve: 'all' as const, args: ['--agent', 'plan'] };
    const plan = opencode.launch({ ...request, ...more, command: ['npx', 'opencode-ai'] });
    expect([plan.command, ...plan.args].join(' ')).toBe(
      `npx opencode-ai run --format json --thinking --model a/b --session ${SES} --auto --agent plan`,
    );
    expect(opencode.launch({ ...request, approve: 'edits' }).env).toEqual({
      OPENCODE_PERMISSION: '{"edit":"allow"}',
    });
  });
});

test('a hundred thousand lines are decoded within a few seconds', () => {
  const state = {
    status: 'completed',
    input: { command: 'ls' },
    output: 'x',
    metadata: { exit: 0 },
  };
  const decoder = opencode.stream();
  const started = performance.now();
  for (let n = 0; n < 100_000; n++) {
    decoder.record(used('bash', { ...state, time }, n), []);
  }
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(pipelineFor(opencode, 'stdout').state.calls.open.count).toBe(0);
});
