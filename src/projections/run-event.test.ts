import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMaker, EVENT_KINDS, USAGE } from '../../test/build-events.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { forJson } from '../lib/foreign-text.ts';
import { utf8Bytes } from '../lib/utf8.ts';
import type { Event } from '../model/event.ts';
import type { RunEvent } from '../model/run-event.ts';
import { CONTENT_PREVIEW_MAX_BYTES } from '../model/words.ts';
import { createRunEventProjection, preRunFinished, serialiseRunEvent } from './run-event.ts';

function projectAll(events: readonly Event[], stream = false): RunEvent[] {
  const { project } = createRunEventProjection({ stream });
  return events.map(project).filter((record) => record !== null);
}

const finished = (output: string | null) => {
  const [record] = projectAll([createMaker()('call_finished', { output })]);
  return record as Extract<RunEvent, { type: 'tool_exec_finished' }>;
};

const MAPPED = [
  ['run_started', 'run_started'],
  ['step_started', 'step_started'],
  ['call_requested', 'tool_call_detected'],
  ['call_decided', 'tool_decision'],
  ['call_started', 'tool_exec_started'],
  ['call_finished', 'tool_exec_finished'],
  ['call_retried', 'tool_retry'],
  ['step_blocked', 'step_blocked'],
  ['provider_retried', 'provider_retry'],
  ['provider_failed', 'provider_error'],
  ['run_finished', 'run_finished'],
] as const;

describe('the mapping', () => {
  verifies('RE-8', 'every mapped kind becomes its one external type, with its data', () => {
    const make = createMaker();
    const records = projectAll(MAPPED.map(([kind]) => make(kind)));
    expect(records.map((record) => record.type)).toEqual(MAPPED.map(([, type]) => type));
    expect(records[2]).toEqual({
      schema_version: 'openagent.run_event.v1',
      sequence: 3,
      ts: '1970-01-01T00:16:40.002Z',
      run_id: 'r_1',
      step: 1,
      type: 'tool_call_detected',
      data: {
        tool_call_id: 'c1',
        tool: 'Bash',
        native_tool: 'bash',
        parent_tool_call_id: null,
        input_preview: '{"command":"npm test"}',
        truncated: false,
        original_bytes: null,
      },
    });
    expect(records[10]?.data).toEqual({
      exit_reason: 'ok',
      ok: true,
      final_output: 'Hello.',
      error: null,
      session_id: 's1',
      model: 'toy',
      usage: USAGE,
      cost_usd: 0.0123,
      duration_ms: 1234,
      tool_calls: 1,
      terminal_evidence: 'native_result',
      completeness: { grade: 'complete', gaps: [], filled: [] },
      agent_exit_code: 0,
      agent_signal: null,
      truncated: false,
      original_bytes: null,
    });
  });

  test('run_json_projection_ignores_unmapped_internal_event_kinds', () => {
    const make = createMaker();
    const mapped = new Set<string>(MAPPED.map(([kind]) => kind));
    const others = EVENT_KINDS.filter((kind) => !mapped.has(kind));
    const events = [make('run_started'), ...others.map((kind) => make(kind)), make('run_finished')];
    const unknown = { ...make('notice'), kind: 'from_the_future' } as unknown as Event;
    const inherited = { ...make('notice'), kind: 'constructor' } as unknown as Event;
    const records = projectAll([unknown, inherited, ...events]);
    expect(records.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'run_started'],
      [2, 'run_finished'],
    ]);
  });

  verifies('RE-17', 'root text deltas are records only when streaming was asked for', () => {
    const make = createMaker();
    const events = [
      make('message_delta', { text: 'Hi' }),
      make('message_delta', { text: 'sub', parent_call_id: 'c9' }),
      make('thinking_delta', { text: 'hm' }),
      make('message_delta', { text: '' }),
    ];
    expect(projectAll(events, false)).toEqual([]);
    expect(projectAll(events, true).map(({ type, data }) => ({ type, data }))).toEqual([
      {
        type: 'model_delta',
        data: { text: 'Hi', message_id: 'm1', truncated: false, original_bytes: null },
      },
    ]);
  });

  verifies(
    'RE-4',
    'sequence starts at 1 and grows by one, even if events are ignored in between',
    () => {
      const make = createMaker();
      const kinds = fc.array(fc.constantFrom(...EVENT_KINDS), { maxLength: 50 });
      fc.assert(
        fc.property(kinds, fc.boolean(), (list, stream) => {
          const records = projectAll(
            list.map((kind) => make(kind)),
            stream,
          );
          return records.every((record, index) => record.sequence === index + 1);
        }),
      );
    },
  );

  verifies('RE-9', 'unknown values are null and never omitted', () => {
    const make = createMaker();
    const [detected, done] = projectAll([
      make('call_requested', { input: null }),
      make('call_finished', { output: null, exit_code: null, duration_ms: null }),
    ]);
    expect(detected?.data).toMatchObject({ input_preview: null, parent_tool_call_id: null });
    expect(done?.data).toMatchObject({ content_preview: null, exit_code: null, duration_ms: null });
  });

  test('a time outside the range of dates becomes a valid date', () => {
    const make = createMaker();
    const times = [Number.NaN, -1, 9e15, 1].map((at_ms) => make('run_started', {}, { at_ms }));
    expect(projectAll(times).map((record) => record.ts)).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z',
      '1970-01-01T00:00:00.001Z',
    ]);
  });
});

describe('truncation', () => {
  test('run_json_projection_truncates_large_fields_with_metadata', () => {
    const make = createMaker();
    const [detected, done, end] = projectAll([
      make('call_requested', { input: { command: 'x'.repeat(10_000) } }),
      make('call_finished', { output: 'ą'.repeat(5000) }),
      make('run_finished', { final_output: 'y'.repeat(4097), error: 'z'.repeat(5000) }),
    ]);
    expect(detected?.data).toMatchObject({
      input_preview: `{"command":"${'x'.repeat(4084)}`,
      truncated: true,
      original_bytes: 10_014,
    });
    expect(done?.data).toMatchObject({
      content_preview: 'ą'.repeat(2048),
      truncated: true,
      original_bytes: 10_000,
    });
    expect(end?.data).toMatchObject({
      final_output: 'y'.repeat(4096),
      error: 'z'.repeat(4096),
      truncated: true,
      original_bytes: 5000,
    });
  });

  verifies('RE-10', 'a string of exactly the limit is not cut', () => {
    expect(finished('x'.repeat(4096)).data).toMatchObject({
      truncated: false,
      original_bytes: null,
    });
    expect(finished('x'.repeat(4097)).data).toMatchObject({
      truncated: true,
      original_bytes: 4097,
    });
  });

  verifies('RE-10', 'no character is cut in two', () => {
    const { data } = finished(`${'x'.repeat(4093)}🚀`);
    expect(data).toMatchObject({ content_preview: 'x'.repeat(4093), original_bytes: 4097 });
    expect(finished(`${'x'.repeat(4092)}🚀`).data.truncated).toBe(false);
  });

  verifies(
    'RE-10',
    'nested strings are cut too, and types without the keys get them then only',
    () => {
      const make = createMaker();
      const long = 'n'.repeat(6000);
      const [step, plain, end] = projectAll([
        make('step_started', { allowed_tools: ['Bash', long] }),
        make('step_started', { allowed_tools: ['Bash'] }),
        make('run_finished', { completeness: { grade: 'partial', gaps: [long], filled: [] } }),
      ]);
      expect(step?.data).toEqual({
        step_id: null,
        step_index: 1,
        allowed_tools: ['Bash', 'n'.repeat(4096)],
        enforcement_mode: null,
        truncated: true,
        original_bytes: 6000,
      });
      expect(Object.keys(plain?.data ?? {})).toEqual([
        'step_id',
        'step_index',
        'allowed_tools',
        'enforcement_mode',
      ]);
      expect(end?.data).toMatchObject({
        completeness: { grade: 'partial', gaps: ['n'.repeat(4096)], filled: [] },
        truncated: true,
        original_bytes: 6000,
      });
    },
  );

  verifies('RE-10', 'the preview of any text is well-formed and within the limit', () => {
    const unit = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(unit, fc.integer({ min: 1, max: 400 }), fc.nat(8), (text, times, pad) => {
        const whole = 'p'.repeat(pad) + text.repeat(times);
        const { data } = finished(whole);
        const preview = data.content_preview ?? '';
        expect(utf8Bytes(preview)).toBeLessThanOrEqual(CONTENT_PREVIEW_MAX_BYTES);
        expect(preview.isWellFormed()).toBe(true);
        expect(whole.toWellFormed().startsWith(preview)).toBe(true);
        const cut = utf8Bytes(whole) > CONTENT_PREVIEW_MAX_BYTES;
        expect(data.truncated).toBe(cut);
        expect(data.original_bytes).toBe(cut ? utf8Bytes(whole) : null);
        if (cut) expect(utf8Bytes(preview)).toBeGreaterThan(CONTENT_PREVIEW_MAX_BYTES - 4);
      }),
    );
  });
});

describe('serialiseRunEvent', () => {
  verifies('RE-3', 'a line is ASCII-safe JSON without control characters except its end', () => {
    const unit = fc.string({ unit: 'binary', maxLength: 200 });
    fc.assert(
      fc.property(unit, (text) => {
        const record = finished(`${text}\u001b[31m\u007f\u009b\u2028\u2029\ud800`);
        const line = forJson(serialiseRunEvent(record)).toString('utf8');
        expect(line.slice(0, -1)).not.toMatch(/[\0-\x1f\x7f-\x9f\u2028\u2029]/);
        expect(line.isWellFormed()).toBe(true);
        expect(line.endsWith('}\n')).toBe(true);
        expect(JSON.parse(line)).toEqual(record);
      }),
    );
  });

  verifies('RE-3', 'lone surrogates become U+FFFD everywhere', () => {
    const record = finished('x');
    const bad = { ...record, run_id: 'r\udfff', data: { ...record.data, 'k\ud800': ['\ud83d'] } };
    expect(JSON.parse(serialiseRunEvent(bad))).toEqual({
      ...record,
      run_id: 'r\ufffd',
      data: { ...record.data, 'k\ufffd': ['\ufffd'] },
    });
    const text = finished('literal \\ud800 stays');
    expect(JSON.parse(serialiseRunEvent(text))).toEqual(text);
  });

  test('the seven keys are in order, whatever their order in the record', () => {
    const { schema_version, ...rest } = finished('x');
    const line = serialiseRunEvent({ ...rest, schema_version } as RunEvent);
    expect(Object.keys(JSON.parse(line))).toEqual([
      'schema_version',
      'sequence',
      'ts',
      'run_id',
      'step',
      'type',
      'data',
    ]);
  });
});

verifies('RE-13', 'a failure before the run is one complete run_finished record', () => {
  expect(preRunFinished('demo is not installed', 0)).toEqual({
    schema_version: 'openagent.run_event.v1',
    sequence: 1,
    ts: '1970-01-01T00:00:00.000Z',
    run_id: '',
    step: 0,
    type: 'run_finished',
    data: {
      exit_reason: 'pre_run_error',
      ok: false,
      final_output: '',
      error: 'demo is not installed',
      session_id: null,
      model: null,
      usage: null,
      cost_usd: null,
      duration_ms: null,
      tool_calls: 0,
      terminal_evidence: 'none',
      completeness: { grade: 'unavailable', gaps: ['not_started'], filled: [] },
      agent_exit_code: null,
      agent_signal: null,
      truncated: false,
      original_bytes: null,
    },
  });
});
