import { expect, test } from 'vitest';
import { checkRunEvents } from './check-run-event.ts';

const cut = { truncated: false, original_bytes: null };
const DATA: Record<string, Record<string, unknown>> = {
  run_started: {
    agent: 'toy',
    agent_version: null,
    model: null,
    session_id: null,
    cwd: '/w',
    fingerprint: null,
  },
  tool_call_detected: {
    tool_call_id: 'c1',
    tool: 'Bash',
    native_tool: 'bash',
    parent_tool_call_id: null,
    input_preview: '{}',
    ...cut,
  },
  tool_exec_started: { tool_call_id: 'c1', tool: 'Bash' },
  tool_exec_finished: {
    tool_call_id: 'c1',
    tool: 'Bash',
    ok: true,
    status: 'ok',
    exit_code: 0,
    duration_ms: 3,
    content_preview: 'hi',
    ...cut,
  },
  run_finished: {
    exit_reason: 'ok',
    ok: true,
    final_output: 'done',
    error: null,
    session_id: null,
    model: null,
    usage: null,
    cost_usd: null,
    duration_ms: 5,
    tool_calls: 1,
    terminal_evidence: 'native_result',
    completeness: { grade: 'complete', gaps: [] },
    agent_exit_code: 0,
    agent_signal: null,
    ...cut,
  },
};
const ALL = Object.keys(DATA);

function stream(types: readonly string[], change: (line: Line, n: number) => object = (l) => l) {
  const lines = types.map((type, i) =>
    change(
      {
        schema_version: 'openagent.run_event.v1',
        sequence: i + 1,
        ts: '2026-01-02T03:04:05.678Z',
        run_id: 'r_1',
        step: i > 0 ? 1 : 0,
        type,
        data: DATA[type] ?? {},
      },
      i,
    ),
  );
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
interface Line {
  schema_version: string;
  sequence: number;
  ts: string;
  run_id: string;
  step: number;
  type: string;
  data: Record<string, unknown>;
}

test('a valid stream has no violations', () => {
  expect(checkRunEvents(stream(ALL))).toEqual([]);
});

test('a stream without its end is a violation, unless tacho itself was killed', () => {
  const torn = Buffer.concat([stream(ALL.slice(0, 3)), Buffer.from('{"schema_ver')]);
  expect(checkRunEvents(torn)).toEqual([
    'stdout does not end with a newline',
    'there is no run_finished',
  ]);
  expect(checkRunEvents(torn, { cut: true })).toEqual([]);
});

test('wrong order, unpaired records and a second end are violations', () => {
  const order = ['run_started', 'tool_exec_started', 'tool_call_detected', 'run_finished'];
  expect(checkRunEvents(stream([...order, 'run_finished']))).toEqual([
    'line 2: call c1: tool_exec_started before tool_call_detected',
    'line 3: call c1: tool_call_detected comes too late or twice',
    'line 4: call c1 is still open',
    'line 5: run_finished after run_finished',
    'line 5: call c1 is still open',
  ]);
});

test('envelope faults, missing keys, long strings and unknown types are reported with their line', () => {
  const changed = stream(ALL, (line, n) => {
    if (n === 0) return { ...line, data: { agent: 'x'.repeat(5000) } };
    if (n === 1) return { ...line, sequence: 7, ts: '2025-01-02T03:04:05Z' };
    if (n === 2) return { ...line, type: 'surprise' };
    return n === 3 ? { ...line, extra: 1 } : { ...line, run_id: 'r_2', step: 0 };
  });
  expect(checkRunEvents(changed)).toEqual([
    'line 1: run_started lacks agent_version',
    'line 1: run_started lacks model',
    'line 1: run_started lacks session_id',
    'line 1: run_started lacks cwd',
    'line 1: run_started lacks fingerprint',
    'line 1: run_started has a string of 5000 bytes',
    'line 2: sequence is 7',
    'line 2: ts is 2025-01-02T03:04:05Z',
    'line 2: ts 2025-01-02T03:04:05Z is before 2026-01-02T03:04:05.678Z',
    'line 3: type is surprise',
    'line 4: keys are schema_version,sequence,ts,run_id,step,type,data,extra',
    'line 5: run_id changes to r_2',
    'line 5: step is 0',
  ]);
});

test('invalid JSON, blank lines, control characters and bad UTF-8 are violations', () => {
  const bytes = Buffer.concat([Buffer.from('hello\n\n\u001b[1m\n'), Buffer.from([0xff, 0x0a])]);
  expect(checkRunEvents(bytes)).toEqual([
    'stdout is not valid UTF-8',
    'stdout has a control character',
    'line 1: is no JSON',
    'line 2: is no JSON',
    'line 3: is no JSON',
    'line 4: is no JSON',
    'there is no run_finished',
  ]);
});
