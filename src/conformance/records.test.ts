/** The rules for records of runs and for transcripts, each with records that pass and records that fail. */
import { describe, expect, test } from 'vitest';
import { RecordJudge, type RecordLine, type RecordRule } from './records.ts';
import { RUN_EVENT_RULES } from './run-event-rules.ts';
import { TRANSCRIPT_RULES } from './transcript-rules.ts';

type Fields = Record<string, unknown>;

const lineOf = (value: Fields | string, at: number): RecordLine => ({
  line: at + 1,
  value: typeof value === 'string' ? null : value,
  fault: typeof value === 'string' ? value : null,
  schema_fault: typeof value !== 'string' && value.odd === true ? 'odd is not allowed' : null,
});

function verdictOf(rules: readonly RecordRule[], id: string, values: readonly (Fields | string)[]) {
  const judge = new RecordJudge('test', rules);
  for (const [at, value] of values.entries()) judge.push(lineOf(value, at));
  return judge.report().rules.find((rule) => rule.id === id)?.verdict;
}

const record = (sequence: number, type: string, data: Fields = {}, more: Fields = {}): Fields => ({
  sequence,
  ts: `2026-03-03T10:00:00.0${sequence}0Z`,
  run_id: 'r_1',
  step: sequence > 1 ? 1 : 0,
  type,
  data,
  ...more,
});
const call = { tool_call_id: 'c1' };
const RUN = [
  record(1, 'run_started'),
  record(2, 'tool_call_detected', call),
  record(3, 'tool_exec_started', call),
  record(4, 'tool_exec_finished', call),
  record(5, 'run_finished', { ok: true, exit_reason: 'ok' }),
];

/** Rule → streams that break at least this rule. */
const BROKEN_RUNS: Readonly<Record<string, (Fields | string)[][]>> = {
  'RE-3': [[...RUN, 'not JSON']],
  'RE-4': [RUN.slice(1), [...RUN.slice(0, 2), ...RUN.slice(3)]],
  'RE-5': [
    [record(1, 'run_started', {}, { ts: '2026-03-03T10:00:00Z' })],
    [RUN[1] as Fields, RUN[0] as Fields],
  ],
  'RE-6': [[...RUN, record(6, 'x', {}, { run_id: 'r_2' })]],
  'RE-7': [[...RUN, record(6, 'x', {}, { step: 0 })]],
  'RE-10': [[record(1, 'x', { deep: [{ text: 'é'.repeat(2049) }] })]],
  'RE-11': [
    [record(1, 'tool_exec_started', call)],
    RUN.slice(0, 3),
    [...RUN, record(6, 'tool_exec_finished', call)],
  ],
  'RE-12': [
    RUN.slice(0, 4),
    [...RUN, record(6, 'step_started')],
    [record(1, 'run_finished', { ok: true, exit_reason: 'timeout' })],
  ],
  'RE-25': [[record(1, 'x', {}, { odd: true })]],
};

const said = (index: number, more: Fields = {}): Fields => ({
  index,
  tool_calls: [],
  parent_tool_call_id: null,
  ...more,
});
const TRANSCRIPT: Fields = {
  success: true,
  exit_reason: 'ok',
  start_time_ms: 5,
  end_time_ms: 9,
  messages: [
    said(0, { tool_calls: [{ id: 'c1', start_time_ms: 5, end_time_ms: null }] }),
    said(1, { parent_tool_call_id: 'c1' }),
  ],
};
const changed = (more: Fields) => [[{ ...TRANSCRIPT, ...more }]];
const BROKEN_TRANSCRIPTS: Readonly<Record<string, (Fields | string)[][]>> = {
  'TR-1.1': [['not JSON']],
  'TR-1.2': changed({ odd: true }),
  'TR-1.3': changed({ messages: [said(1)] }),
  'TR-1.4': [
    ...changed({ messages: [said(0, { tool_calls: [{ id: 'c' }, { id: 'c' }] })] }),
    ...changed({ messages: [said(0, { parent_tool_call_id: 'c9' })] }),
  ],
  'TR-1.5': [
    ...changed({ end_time_ms: 4 }),
    ...changed({
      messages: [said(0, { tool_calls: [{ id: 'c', start_time_ms: 2, end_time_ms: 1 }] })],
    }),
  ],
  'TR-1.6': changed({ success: false }),
};

describe.each([
  ['run-event', RUN_EVENT_RULES, RUN, BROKEN_RUNS],
  ['transcript', TRANSCRIPT_RULES, [TRANSCRIPT], BROKEN_TRANSCRIPTS],
] as const)('%s', (_, rules, whole, broken) => {
  test('every rule has records that break it', () => {
    expect(Object.keys(broken)).toEqual(rules.map(({ id }) => id));
  });
  test.each(rules.map(({ id }) => id))('%s passes valid records and fails broken ones', (id) => {
    expect(verdictOf(rules, id, whole)).toBe('passed');
    expect(verdictOf(rules, id, [])).toBe('not judged');
    for (const values of broken[id] ?? []) expect(verdictOf(rules, id, values)).toBe('failed');
  });
});
