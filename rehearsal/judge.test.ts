import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { judge } from './judge.ts';
import type { Observed } from './rehearse.ts';
import type { Scenario } from './scenarios.ts';

const SCENARIO: Scenario = {
  name: 'toy',
  prompt: 'Go.',
  approve: 'all',
  script: { turns: [] },
  expect: {
    exit: 0,
    exit_reason: 'ok',
    calls: [{ tool: 'Bash', status: 'error', exit_code: 3 }],
    final_text: 'done',
    usage: true,
    complete: true,
    files: { 'a.txt': null },
  },
};

const cut = { truncated: false, original_bytes: null };
const DETECTED = { native_tool: 'bash', parent_tool_call_id: null, input_preview: '{}', ...cut };
const DONE = { ok: false, exit_code: 3, duration_ms: 3, content_preview: '', ...cut };
const ENDED = {
  ok: true,
  final_output: 'done',
  error: null,
  session_id: 's',
  model: 'm',
  cost_usd: null,
  duration_ms: 5,
  tool_calls: 1,
  terminal_evidence: 'native_result',
  agent_exit_code: 0,
  agent_signal: null,
  ...cut,
};

function stream(
  change: { status?: string; usage?: object | null; grade?: string } = {},
  tool_call_id = 'c1',
): Buffer {
  const { status = 'error', usage = { input: 1, output: 1 }, grade = 'complete' } = change;
  const call = { tool_call_id, tool: 'Bash' };
  const started = { agent: 'toy', agent_version: null, model: null, session_id: null };
  const end = { ...ENDED, exit_reason: 'ok', usage, completeness: { grade, gaps: [] } };
  const lines: [string, object][] = [
    ['run_started', { ...started, cwd: null, fingerprint: null }],
    ['tool_call_detected', { ...call, ...DETECTED }],
    ['tool_exec_finished', { ...call, ...DONE, status }],
    ['run_finished', end],
  ];
  const records = lines.map(([type, data], i) => ({
    schema_version: 'openagent.run_event.v1',
    sequence: i + 1,
    ts: '2026-01-02T03:04:05.678Z',
    run_id: 'r_1',
    step: 0,
    type,
    data,
  }));
  return Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

function observed(change: Partial<Observed> = {}, stdout = stream()): Observed {
  const sha256 = createHash('sha256').update(SCENARIO.prompt).digest('hex');
  const request = { n: 1, at_ms: 0, method: 'POST', url: '/', status: 200, note: 'main 1' };
  return {
    report: {
      exit_code: 0,
      signal: null,
      duration_ms: 1,
      over_limit: false,
      acted: null,
      leftovers: [],
      after: { replay: 0, verify: 0 },
    },
    stdout,
    stderr: '',
    replay: stdout,
    events: '',
    requests: [{ ...request, user_texts: [{ bytes: 3, sha256 }] }],
    files: { 'a.txt': null },
    ...change,
  };
}

test('a rehearsal that went as expected has no deviations', () => {
  expect(judge(SCENARIO, SCENARIO.expect, observed())).toEqual([]);
});

test('wrong facts in the record are named', () => {
  const wrong = stream({ status: 'denied', usage: null, grade: 'partial' });
  expect(judge(SCENARIO, SCENARIO.expect, observed({}, wrong))).toEqual([
    'usage is null',
    'completeness is partial []',
    'calls is "Bash denied(3)", not "Bash error(3)"',
  ]);
});

test('corrections from the session file count', () => {
  const update = { call_id: 'c1', status: 'error', exit_code: null };
  const later = { ...update, status: null, exit_code: 3 };
  const events = [update, later].map((data) => JSON.stringify({ kind: 'call_updated', data }));
  const called_done = observed({ events: events.join('\n') }, stream({ status: 'ok' }));
  expect(judge(SCENARIO, SCENARIO.expect, called_done)).toEqual([]);
});

test('refusals without a decision have to be expected', () => {
  const refused = observed({}, stream({ status: 'denied' }));
  const calls = [{ tool: 'Bash', status: 'denied' }] as const;
  expect([
    judge(SCENARIO, { ...SCENARIO.expect, calls }, refused),
    judge(SCENARIO, { ...SCENARIO.expect, calls, denials: 0 }, refused),
  ]).toEqual([['denials is 0, not 1'], []]);
});

test('calls may be in any order only if that is expected', () => {
  const two = ['c1', 'c2'].map((id) => stream({ status: id === 'c1' ? 'error' : 'ok' }, id));
  const lines = two.map((one) => one.toString().split('\n'));
  const [first = [], second = []] = lines;
  const order = [first[0], ...first.slice(1, 3), ...second.slice(1, 3), first[3], ''];
  const stdout = Buffer.from(
    order
      .join('\n')
      .replace('"tool_calls":1', '"tool_calls":2')
      .split('\n')
      .map((line, i) => line.replace(/"sequence":\d+/, `"sequence":${i + 1}`))
      .join('\n'),
  );
  const calls = [
    { tool: 'Bash', status: 'ok' },
    { tool: 'Bash', status: 'error', exit_code: 3 },
  ] as const;
  expect([
    judge(SCENARIO, { ...SCENARIO.expect, calls }, observed({}, stdout)),
    judge(SCENARIO, { ...SCENARIO.expect, calls, any_order: true }, observed({}, stdout)),
  ]).toEqual([['calls is "Bash error, Bash ok(3)", not "Bash ok, Bash error(3)"'], []]);
});

test('deviations outside the record are named', () => {
  const { report } = observed();
  const around = observed({
    report: { ...report, exit_code: 70, leftovers: ['sleep 60'], after: { verify: 1 } },
    stderr: 'disk full\n',
    replay: Buffer.from('other\n'),
    events: '{"code":"contradiction"}',
    requests: [],
    files: { 'a.txt': 'x' },
  });
  expect(judge(SCENARIO, SCENARIO.expect, around)).toEqual([
    'exit code is 70, not 0',
    'stderr: disk full',
    'left behind: sleep 60',
    'replay differs from the output of the run',
    'exit code of verify is 1, not 0',
    'the prompt did not reach the model unchanged',
    'a.txt is "x", not null',
    'stream and session file contradict each other',
  ]);
});

test('after a kill of tacho, the recovered record counts and has to begin with the earlier output', () => {
  const killed: Scenario = { ...SCENARIO, act: 'kill_tacho' };
  const expected = { ...SCENARIO.expect, exit: null };
  const { report } = observed();
  const shown = stream().subarray(0, 300);
  const after = { report: { ...report, exit_code: null, acted: true }, replay: stream() };
  expect(judge(killed, expected, observed(after, shown))).toEqual([]);
  const other = Buffer.from(shown.toString().replace('"step":0', '"step":1'));
  expect(judge(killed, expected, observed(after, other))).toEqual([
    'the output before the kill differs from the record',
  ]);
});

test('an unknown session is a deviation unless it is expected', () => {
  const text = stream().toString().replace('"session_id":"s"', '"session_id":null');
  const nameless = observed({}, Buffer.from(text));
  expect([
    judge(SCENARIO, SCENARIO.expect, nameless),
    judge(SCENARIO, { ...SCENARIO.expect, session: false }, nameless),
  ]).toEqual([['session_id is unknown'], []]);
});

test('input to the agent has to be in the record once and in order', () => {
  const talk = ['more', null, 'again'];
  const of = (texts: readonly string[]) =>
    texts
      .map((text) => ({ role: 'user', text, synthetic: false }))
      .map((data) => JSON.stringify({ kind: 'message_finished', data }))
      .join('\n');
  const judged = (texts: readonly string[], stderr = '') =>
    judge({ ...SCENARIO, talk }, SCENARIO.expect, observed({ events: of(texts), stderr }));
  expect([
    judged(['Go.', 'more', 'again']),
    judged(['more', 'more', 'again']),
    judged(['more', 'again'], 'not taken: no\n'),
  ]).toEqual([[], ['input is ["more","more","again"], not ["more","again"]'], ['not taken: no']]);
});
