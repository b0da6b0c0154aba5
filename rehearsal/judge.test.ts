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
const CALL = { tool_call_id: 'c1', tool: 'Bash' };
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

function stream(change: { status?: string; usage?: object | null; grade?: string } = {}): Buffer {
  const { status = 'error', usage = { input: 1, output: 1 }, grade = 'complete' } = change;
  const started = { agent: 'toy', agent_version: null, model: null, session_id: null };
  const end = { ...ENDED, exit_reason: 'ok', usage, completeness: { grade, gaps: [] } };
  const lines: [string, object][] = [
    ['run_started', { ...started, cwd: null, fingerprint: null }],
    ['tool_call_detected', { ...CALL, ...DETECTED }],
    ['tool_exec_finished', { ...CALL, ...DONE, status }],
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

test('a rehearsal that went as expected has no reasons against it', () => {
  expect(judge(SCENARIO, SCENARIO.expect, observed())).toEqual([]);
});

test('what the record says wrongly is named', () => {
  const wrong = stream({ status: 'denied', usage: null, grade: 'partial' });
  expect(judge(SCENARIO, SCENARIO.expect, observed({}, wrong))).toEqual([
    'usage is null',
    'completeness is partial []',
    'calls is "Bash denied(3)", not "Bash error(3)"',
  ]);
});

test('what happened around the record is named', () => {
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
    'replay is not what the run printed',
    'exit code of verify is 1, not 0',
    'the prompt did not reach the model as it was given',
    'a.txt is "x", not null',
    'stream and session file contradict each other',
  ]);
});

test('of a tacho that was killed, the recovered record counts and has to begin with what was shown', () => {
  const killed: Scenario = { ...SCENARIO, act: 'kill_tacho' };
  const expected = { ...SCENARIO.expect, exit: null };
  const { report } = observed();
  const shown = stream().subarray(0, 300);
  const after = { report: { ...report, exit_code: null, acted: true }, replay: stream() };
  expect(judge(killed, expected, observed(after, shown))).toEqual([]);
  const other = Buffer.from(shown.toString().replace('"step":0', '"step":1'));
  expect(judge(killed, expected, observed(after, other))).toEqual([
    'what was shown before the kill is not what was kept',
  ]);
});
