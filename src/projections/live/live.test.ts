import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMaker, EVENT_KINDS, type MakeEvent } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  type Data,
  faultsOf,
  inputOf,
  outputOf,
  textsOf,
  wire,
} from '../../../test/live-stream.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readText } from '../../live/protocol/messages.ts';
import type { Event } from '../../model/event.ts';
import type { LiveMessage } from '../../model/live.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import { LiveProjector, type LiveProjectorOptions } from './live.ts';

const session_id = 'r_1';
const T0 = 1_000_000;

function projector(options: Partial<LiveProjectorOptions> = {}) {
  return new LiveProjector({ session_id, call_timeout_ms: null, trace: null, ...options });
}

function run(events: readonly Event[], options: Partial<LiveProjectorOptions> = {}): LiveMessage[] {
  const live = projector(options);
  return events.flatMap((event) => live.push(event));
}

const at = (ms: number) => ({ at_ms: T0 + ms });
const types = (messages: readonly LiveMessage[]) => messages.map(({ type }) => type);
const dataOf = (messages: readonly LiveMessage[], type: string): Data[] =>
  messages.filter((message) => message.type === type).map(({ data }) => data);
const brief = ({ type, timestamp, data }: LiveMessage) =>
  `${Date.parse(timestamp) - T0} ${type} ${(data as Data).call_id ?? ''}`.trim();

test('a complete run has its start, texts, call with answer, and totals', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('thinking_finished', { text: 'hm' }),
    make('message_delta', { text: 'Hel' }),
    make('message_finished', { text: 'Hello.' }),
    make('call_requested'),
    make('call_started'),
    make('call_progress', { text: 'line', elapsed_ms: 1, stream: 'stdout' }),
    make('call_finished'),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(types(messages)).toEqual([
    'session_start',
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_stop',
    'tool_call_request',
    'tool_execution_status',
    'tool_execution_status',
    'tool_call_response',
    'session_end',
  ]);
  expect(textsOf(messages)).toEqual([
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Hello.' },
  ]);
  expect(messages[10]).toEqual({
    type: 'tool_call_request',
    timestamp: '1970-01-01T00:16:40.004Z',
    session_id,
    correlation_id: 'r_1/c1',
    message_id: 'r_1-11',
    seq: 11,
    ack_required: true,
    trace: null,
    data: {
      call_id: 'c1',
      name: 'Bash',
      native_name: 'bash',
      args: { command: 'npm test' },
      is_client_initiated: false,
      native_call_id: 'c1',
      parent_call_id: null,
      step: 0,
      reads: [],
      time_source: 'capture',
    },
  });
  expect(dataOf(messages, 'tool_call_response')).toEqual([
    {
      call_id: 'c1',
      result: { output: 'done', exit_code: 0, status: 'ok' },
      error: null,
      execution_time_ms: 12,
      time_source: 'capture',
    },
  ]);
  expect(dataOf(messages, 'session_end')[0]).toMatchObject({
    status: 'ok',
    reason: null,
    totals: { calls: 1, steps: 1, cost_usd: 0.0123, duration_ms: 1234, responses: 1 },
  });
});

verifies('LP-2', 'an input that is not an object is wrapped, and can be restored', () => {
  for (const input of [null, 'text', 7, [1, { a: 2 }], { __proto__: 1, args: null }]) {
    const make = createMaker();
    const events = [make('run_started'), make('call_requested', { input }), make('run_finished')];
    const messages = run(events);
    const [request] = messages.filter(({ type }) => type === 'tool_call_request');
    expect(inputOf(request as LiveMessage, messages)).toEqual(input);
    expect(wire(messages).wrong).toEqual([]);
  }
});

verifies('LP-2', 'a value that is too deep or too long for one message arrives complete', () => {
  const make = createMaker();
  const deep = JSON.parse(`${'{"a":'.repeat(198)}1${'}'.repeat(198)}`);
  const long = { command: '\u0001é\ud800'.repeat(700_000) };
  const output = '\u0000'.repeat(2_500_000);
  const events = [
    make('run_started'),
    make('call_requested', { call_id: 'deep', input: deep }),
    make('call_requested', { call_id: 'long', input: long }),
    make('call_finished', { call_id: 'long', output }),
    make('message_finished', { text: output }),
    make('run_finished', { final_output: output, error: output }),
  ];
  const messages = run(events);
  expect(faultsOf(messages, session_id)).toEqual([]);
  const sizes = messages.map((message) => Buffer.byteLength(JSON.stringify(message)));
  expect(Math.max(...sizes)).toBeLessThan(LIMITS.live_message_bytes_max);
  const requests = messages.filter(({ type }) => type === 'tool_call_request');
  const inputs = requests.map((request) => inputOf(request, messages));
  expect(inputs).toEqual([deep, long]);
  const response = messages.find(({ type }) => type === 'tool_call_response') as LiveMessage;
  expect(outputOf(response, messages) === output).toBe(true);
  expect(textsOf(messages)[0]?.text === output).toBe(true);
});

verifies('LP-2', 'a failed call is an error with its code, output and exit code', () => {
  const make = createMaker();
  const cases = {
    error: 'TOOL_EXECUTION_FAILED',
    timeout: 'TOOL_TIMEOUT',
    denied: 'PERMISSION_DENIED',
    cancelled: 'CANCELLED',
  } as const;
  for (const [status, code] of Object.entries(cases) as [keyof typeof cases, string][]) {
    const messages = run([
      make('run_started'),
      make('call_requested', { call_id: status }),
      make('call_decided', { call_id: status, decision: 'deny', reason: 'not here' }),
      make('call_finished', { call_id: status, ok: false, status, exit_code: 3, output: 'no\n' }),
      make('run_finished'),
    ]);
    expect(faultsOf(messages, session_id)).toEqual([]);
    const [{ result, error }] = dataOf(messages, 'tool_call_response') as [Data];
    expect(result).toBe(null);
    expect(error).toMatchObject({ code, output: 'no\n', exit_code: 3, status });
    expect(error.message).toContain('not here');
  }
});

verifies('LP-3', 'times are those of the events, name their source, and never go back', () => {
  const make = createMaker();
  const live = projector();
  const messages = [
    ...live.push(make('run_started', {}, { ...at(0), at_source: 'native' })),
    ...live.push(make('call_requested', {}, at(10))),
    ...live.tick(T0 + 5_010),
    ...live.push(make('call_progress', {}, { ...at(4_000), at_source: 'native' })),
    ...live.push(make('notice', {}, { at_ms: Number.MAX_SAFE_INTEGER })),
    ...live.push(make('run_finished', {}, { at_ms: -5 })),
  ];
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(messages.slice(0, 4).map((m) => [brief(m), (m.data as Data).time_source])).toEqual([
    ['0 session_start', 'agent'],
    ['10 tool_call_request c1', 'capture'],
    ['5010 tool_execution_status c1', 'capture'],
    ['5010 tool_execution_status c1', 'clamped'],
  ]);
  expect(messages.at(-1)?.timestamp).toBe('9999-12-31T23:59:59.999Z');
});

verifies('LP-4', 'a record of a call without a request is preceded by a request', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('call_progress', { call_id: 'a' }),
    make('call_finished', { call_id: 'b', tool: 'Read' }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'tool_call_request')).toMatchObject([
    { call_id: 'a', inferred: true },
    { call_id: 'b', name: 'Read', inferred: true },
  ]);
});

verifies('LP-4', 'calls without an answer are answered before the session ends', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('call_requested', { call_id: 'a' }),
    make('call_requested', { call_id: 'b' }),
    make('call_finished', { call_id: 'a' }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'tool_call_response')[1]).toMatchObject({
    call_id: 'b',
    error: { code: 'CANCELLED', why: 'unanswered', made_by: 'tacho' },
  });
});

verifies('LP-4', 'each call has one answer, and later results are news of the session', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('call_requested'),
    make('call_updated', { status: 'ok' }),
    make('call_finished'),
    make('call_finished', { output: 'again' }),
    make('call_updated', { exit_code: 3 }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'tool_execution_status')[0]?.details.kind).toBe('call_updated');
  expect(dataOf(messages, 'session_state').map(({ news }) => news)).toMatchObject([
    { kind: 'call_finished', call_id: 'c1', output: 'again' },
    { kind: 'call_updated', call_id: 'c1', exit_code: 3 },
  ]);
});

verifies('LP-5', 'each call has one correlation id, also when an agent reuses an id', () => {
  const make = createMaker();
  const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
  const call = () => [make('call_requested'), make('call_started'), make('call_finished')];
  const messages = run([make('run_started'), ...call(), ...call(), ...call()], { trace });
  const ids = messages.map(({ correlation_id }) => correlation_id).filter((id) => id !== null);
  expect([...new Set(ids)]).toEqual(['r_1/c1', 'r_1/c1#2', 'r_1/c1#3']);
  expect(messages.every((message) => message.trace === trace)).toBe(true);
  const other = new LiveProjector({ session_id: 'r_2', call_timeout_ms: null, trace: null });
  other.push(make('run_started'));
  expect(other.push(make('call_requested'))[0]?.correlation_id).toBe('r_2/c1');
});

verifies('LP-5', "a sub-agent's calls and texts name the call that started it", () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('call_requested', { call_id: 'task' }),
    make('call_requested', { call_id: 'inner', parent_call_id: 'task' }),
    make('message_delta', { parent_call_id: 'task', text: 'in' }),
    make('message_delta', { text: 'out' }),
    make('message_finished', { parent_call_id: 'task', text: 'inner' }),
    make('message_finished', { text: 'outer' }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'tool_call_request')[1]).toMatchObject({ parent_call_id: 'task' });
  const starts = dataOf(messages, 'message_start').map(({ message }) => message.parent_call_id);
  expect(starts).toEqual(['task', null]);
  expect(textsOf(messages).map(({ text }) => text)).toEqual(['inner', 'outer']);
});

verifies(
  'LP-6',
  'a silent call gets a status at 5 s and then every 10 s, in order with others',
  () => {
    const make = createMaker();
    const live = projector();
    live.push(make('run_started', {}, at(0)));
    live.push(make('call_requested', { call_id: 'a' }, at(0)));
    live.push(make('call_requested', { call_id: 'b' }, at(4_000)));
    expect(live.due_ms).toBe(T0 + 5_000);
    expect(live.tick(T0 + 4_999)).toEqual([]);
    expect(live.tick(T0 + 5_000).map(brief)).toEqual(['5000 tool_execution_status a']);
    expect(live.due_ms).toBe(T0 + 9_000);
    // A late tick: the statuses have the times at which they were due.
    expect(live.tick(T0 + 30_000).map(brief)).toEqual([
      '9000 tool_execution_status b',
      '15000 tool_execution_status a',
      '19000 tool_execution_status b',
      '25000 tool_execution_status a',
      '29000 tool_execution_status b',
    ]);
    // A status of the agent itself counts, too.
    live.push(make('call_progress', { call_id: 'a' }, at(34_000)));
    expect(live.tick(T0 + 43_999).map(brief)).toEqual(['39000 tool_execution_status b']);
    expect(live.push(make('call_finished', { call_id: 'a' }, at(44_000))).map(brief)).toEqual([
      '44000 tool_call_response a',
    ]);
  },
);

verifies(
  'LP-6',
  'a call over its time limit is answered with TOOL_TIMEOUT, and its own end is news',
  () => {
    const make = createMaker();
    const live = projector({ call_timeout_ms: 7_000 });
    const messages = [
      ...live.push(make('run_started', {}, at(0))),
      ...live.push(make('call_requested', {}, at(0))),
      ...live.push(make('call_started', {}, at(1))),
      ...live.tick(T0 + 60_000),
    ];
    expect(messages.slice(-2).map(brief)).toEqual([
      '5000 tool_execution_status c1',
      '7000 tool_call_response c1',
    ]);
    expect(messages.at(-1)?.data).toMatchObject({
      error: { code: 'TOOL_TIMEOUT', why: 'timeout' },
    });
    expect(live.due_ms).toBe(null);
    messages.push(
      ...live.push(make('call_progress', {}, at(61_000))),
      ...live.push(make('call_finished', { output: 'late' }, at(62_000))),
      ...live.push(make('run_finished', {}, at(63_000))),
    );
    expect(faultsOf(messages, session_id)).toEqual([]);
    expect(dataOf(messages, 'session_state')[0]?.news).toMatchObject({ output: 'late' });
  },
);

verifies('LP-6', 'a call without activity for five minutes is closed as abandoned', () => {
  const make = createMaker();
  const live = projector();
  const messages = [
    ...live.push(make('run_started', {}, at(0))),
    ...live.push(make('call_requested', { call_id: 'task' }, at(0))),
    ...live.push(make('call_requested', { call_id: 'quiet' }, at(0))),
    // Activity of a sub-agent counts for the call that started it.
    ...live.push(make('message_delta', { parent_call_id: 'task' }, at(200_000))),
    ...live.tick(T0 + 499_999),
  ];
  const answers = dataOf(messages, 'tool_call_response');
  expect(answers).toMatchObject([
    {
      call_id: 'quiet',
      error: { code: 'CANCELLED', why: 'abandoned' },
      execution_time_ms: 300_000,
    },
  ]);
  messages.push(...live.tick(T0 + 500_000), ...live.push(make('run_finished', {}, at(500_001))));
  expect(dataOf(messages, 'tool_call_response')[1]?.call_id).toBe('task');
  expect(faultsOf(messages, session_id)).toEqual([]);
});

verifies(
  'LP-6',
  'a recording with a gap of days makes a bounded number of statuses, and counts the rest',
  () => {
    const make = createMaker();
    const day = 86_400_000;
    const calls = Array.from({ length: 20 }, (_, n) =>
      make('call_requested', { call_id: `c${n}` }, at(0)),
    );
    const end = make('run_finished', {}, at(30 * day));
    const one = run([make('run_started', {}, at(0)), calls[0] as Event, end], {
      abandoned_ms: null,
    });
    expect(dataOf(one, 'tool_execution_status')).toHaveLength(
      PROJECTION_LIMITS.live_made_statuses_max,
    );
    expect(dataOf(one, 'tool_execution_status').at(-1)?.details.note).toBeDefined();
    const many = run([make('run_started', {}, at(0)), ...calls, end], { abandoned_ms: null });
    expect(dataOf(many, 'tool_execution_status')).toHaveLength(
      PROJECTION_LIMITS.live_statuses_at_once_max,
    );
    expect(dataOf(many, 'session_end')[0]?.totals.statuses_left_out).toBeGreaterThan(0);
    expect(faultsOf(many, session_id)).toEqual([]);
  },
);

test('a projector that takes over continues after the sent messages', () => {
  const make = createMaker();
  const events = [
    make('run_started', {}, at(0)),
    make('call_requested', { call_id: 'a' }, at(0)),
    make('call_requested', { call_id: 'b' }, at(0)),
    make('call_finished', { call_id: 'a' }, at(9_000)),
    make('run_finished', {}, at(10_000)),
  ] as const;
  const first = projector({ call_timeout_ms: 6_000 });
  const sent = [...events.slice(0, 3).flatMap((event) => first.push(event))];
  sent.push(...first.tick(T0 + 8_000));
  const second = projector({ call_timeout_ms: null });
  for (const event of events.slice(0, 3)) second.push(event);
  for (const message of sent) second.restore(message);
  const rest = events.slice(3).flatMap((event) => second.push(event));
  expect(faultsOf([...sent, ...rest], session_id)).toEqual([]);
  expect(dataOf([...sent, ...rest], 'tool_call_response')).toHaveLength(2);
});

test('errors name the message that caused them', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('provider_retried'),
    make('call_requested'),
    make('call_finished'),
    make('provider_failed'),
    make('problem', { code: 'torn_line', detail: 'cut' }),
    make('run_finished', { ok: false, exit_reason: 'provider_error', error: 'Overloaded' }),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'error').map(({ caused_by, severity }) => [severity, caused_by])).toEqual(
    [
      ['warning', { correlation_id: null, message_id: 'r_1-1', seq: 1 }],
      ['error', { correlation_id: 'r_1/c1', message_id: 'r_1-4', seq: 4 }],
      ['warning', { correlation_id: null, message_id: 'r_1-5', seq: 5 }],
    ],
  );
  expect(messages.at(-1)?.data).toMatchObject({ status: 'provider_error', reason: 'Overloaded' });
});

test('a permission request shows the question and its subject, then the decision', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('call_requested', { call_id: 'c1#2', native_call_id: 'c1' }),
    make('permission_asked', { reason: 'Run npm test?' }),
    make('permission_answered', { decision: 'allow', source: 'user' }),
    make('permission_asked', { call_id: null }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(dataOf(messages, 'tool_call_confirmation')).toMatchObject([
    {
      call_id: 'c1#2',
      prompt: 'Run npm test?',
      request: { name: 'Bash', args: { command: 'npm test' } },
    },
  ]);
  expect(dataOf(messages, 'tool_execution_status')[0]).toMatchObject({
    status: 'running',
    details: { decision: 'allow', source: 'user' },
  });
  expect(dataOf(messages, 'session_state')[0]?.news.kind).toBe('permission_asked');
});

test('pieces that do not add up to the text are followed by the complete text', () => {
  const make = createMaker();
  const messages = run([
    make('run_started'),
    make('message_delta', { text: 'Helo' }),
    make('message_finished', { text: 'Hello.' }),
    make('message_delta', { text: 'never ended' }),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  expect(textsOf(messages).map(({ text }) => text)).toEqual(['Hello.', 'never ended']);
  expect(dataOf(messages, 'message_stop').map(({ partial }) => partial)).toEqual([false, true]);
});

const step = fc.record({
  kind: fc.constantFrom(...EVENT_KINDS.filter((kind) => kind !== 'run_finished')),
  call_id: fc.constantFrom('a', 'b', 'c', ''),
  parent_call_id: fc.constantFrom('a', null),
  message_id: fc.constantFrom('m1', 'm2', null),
  text: fc.string(),
  input: fc.json().map((text): unknown => JSON.parse(text)),
  decision: fc.constantFrom('allow', 'deny', 'require_approval'),
  status: fc.constantFrom('ok', 'error', 'denied', 'timeout', 'cancelled', 'unknown'),
  role: fc.constantFrom('assistant', 'user', 'system'),
  leap: fc.integer({ min: -2_000, max: 40_000 }),
  tick: fc.boolean(),
});

verifies(['LP-3', 'LP-4', 'LP-6'], 'any sequence of events makes a valid session', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const make: MakeEvent = createMaker();
      const live = projector({ call_timeout_ms: 60_000 });
      const messages: LiveMessage[] = [];
      let now = T0;
      for (const { kind, leap, tick, ...data } of steps) {
        now += leap;
        if (tick) messages.push(...live.tick(now));
        messages.push(...live.push(make(kind, data as never, { at_ms: now })));
      }
      messages.push(...live.push(make('run_finished', {}, { at_ms: now })));
      messages.push(...live.tick(now + 1e9), ...live.push(make('notice')));
      expect(faultsOf(messages, session_id)).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('a call id that is too long for the protocol is shortened in the same way in all messages of its call', () => {
  const make = createMaker();
  const ids = ['a', 'b'].map((end) => `${'x'.repeat(5_000)}${end}`);
  const messages = run([
    make('run_started'),
    ...ids.map((call_id) => make('call_requested', { call_id })),
    ...ids.map((call_id) => make('call_finished', { call_id })),
    make('run_finished'),
  ]);
  expect(faultsOf(messages, session_id)).toEqual([]);
  const asked = dataOf(messages, 'tool_call_request').map(({ call_id }) => call_id);
  expect(new Set(asked).size).toBe(2);
  expect(dataOf(messages, 'tool_call_response').map(({ call_id }) => call_id)).toEqual(asked);
  for (const message of messages) expect(readText(JSON.stringify(message)).fault).toBe(null);
});
