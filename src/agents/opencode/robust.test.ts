/** Records of future versions, parts that are updated very often, and parallel sub-agents. */
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, malformed, outcomeOf, recordingsIn } from '../../../test/test-agent.ts';
import { wrongFacts } from '../../../test/truth.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { Drafts } from '../kit/drafts.ts';
import { Calls } from '../kit/opencode-family/calls.ts';
import type { Part } from '../kit/opencode-family/native.ts';
import { opencode } from './index.ts';

type Fields = Record<string, unknown>;

const SES = 'ses_e232ea426ffetHR1FGCly8FsMH';
const T0 = 1_794_706_000_000;

const lines = (records: readonly unknown[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
const decoded = (...records: unknown[]) => eventsOf(opencode, 'stdout', [lines(records)]);
const problems = (events: readonly Event[]) =>
  kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`);
const bus = (type: string, properties: Fields): Fields => ({ type, properties });
const message = (id: string, session_id: string, more: Fields = {}): Fields =>
  bus('message.updated', {
    info: { id, sessionID: session_id, role: 'assistant', time: { created: T0 }, ...more },
  });
const over = (id: string, session_id: string): Fields =>
  message(id, session_id, { time: { created: T0, completed: T0 + 9 }, finish: 'stop' });
const part = (id: string, message_id: string, session_id: string, fields: Fields): Fields =>
  bus('message.part.updated', {
    part: { id, messageID: message_id, sessionID: session_id, ...fields },
  });
const delta = (part_id: string, text: string): Fields =>
  bus('message.part.delta', { partID: part_id, field: 'text', delta: text });
const created = (id: string, parent?: string): Fields =>
  bus('session.created', { info: { id, parentID: parent, time: { created: T0 } } });

describe('future versions', () => {
  /** Adds unknown fields to every object. */
  function grown(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(grown);
    if (typeof value !== 'object' || value === null) return value;
    const known = Object.entries(value).map(([key, inner]) => [
      key,
      // A tool's input and metadata are not records of the CLI.
      ['input', 'metadata', 'data'].includes(key) ? inner : grown(inner),
    ]);
    return { ...Object.fromEntries(known), future: { kind: 'x', list: [1, null] }, revision: 7 };
  }

  const FUTURE: Fields[] = [
    { type: 'plan', timestamp: T0, sessionID: SES, plan: [] },
    bus('session.next.tool.called', { sessionID: SES, callID: 'c' }),
    part('prt_f', 'msg_f', SES, { type: 'hologram', text: 'no words of the model' }),
    { id: 'evt_f', aggregate_id: SES, seq: 1, type: 'session.dreamt.2', data: '{"a":1}' },
    { id: 'x', time_created: T0, mood: 'good' },
  ];
  const UNKNOWN = [
    'unknown_record plan',
    'unknown_record session.next.tool.called',
    'unknown_record part hologram',
    'unknown_record session.dreamt',
    'unknown_record a row of an unknown table',
  ];

  verifies('AG-2', 'an event without type and data is a separate problem', () => {
    const type = { toString: 1, valueOf: 1 };
    const events = decoded({ type: 'sync', syncEvent: { id: 'e', type, data: 'x' } });
    expect(problems(events)).toEqual([expect.stringMatching(/^bad_record .* without data$/)]);
  });

  const recordings = recordingsIn(`${import.meta.dirname}/testdata`).filter(
    ({ channel, truth }) => channel === 'stdout' && (truth?.calls.length ?? 0) > 0,
  );
  verifies('AG-2', 'unknown fields change nothing; unknown records are reported once each', () => {
    expect(recordings.length).toBeGreaterThan(5);
    for (const { scenario, bytes, truth } of recordings) {
      const records = bytes
        .toString('utf8')
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line));
      const calls = truth?.calls.map((call) => ({ ...call, input: call.input ?? {} })) ?? [];
      const events = decoded(...records.slice(0, 1).map(grown), ...FUTURE, ...records.map(grown));
      const outcome = outcomeOf(events);
      if (truth) expect(wrongFacts({ ...truth, calls }, outcome), scenario).toEqual([]);
      expect(problems(events), scenario).toEqual(UNKNOWN);
      expect(malformed(events), scenario).toEqual([]);
    }
  });

  verifies('AG-2', 'a call in an unknown state is a call, and ends with its end record', () => {
    const call = (state: Fields) =>
      part('prt_1', 'msg_1', SES, { type: 'tool', tool: 'bash', callID: 'c1', state });
    const input = { command: 'true' };
    const events = decoded(
      created(SES),
      message('msg_1', SES),
      call({ status: 'queued', input }),
      call({ status: 'paused', input, until: T0 }),
      call({ status: 'completed', input, output: '', metadata: { exit: 0 } }),
    );
    expect(problems(events)).toEqual([
      'unknown_record tool state queued',
      'unknown_record tool state paused',
    ]);
    expect(outcomeOf(events).tool_calls.map(({ id, status }) => [id, status])).toEqual([
      ['c1', 'ok'],
    ]);
  });
});

describe('a part that is updated very often', () => {
  const TIMES = 5_000;
  const output = (n: number) => 'line of output\n'.repeat(n);

  verifies(
    'RO-3',
    'a call that is updated thousands of times is one call, with its output once',
    () => {
      const call = (status: string, more: Fields) =>
        part('prt_1', 'msg_1', SES, {
          type: 'tool',
          tool: 'bash',
          callID: 'c1',
          state: { status, input: { command: 'make' }, time: { start: T0 }, ...more },
        });
      const done = { output: output(50), metadata: { exit: 0 }, time: { start: T0, end: T0 + 5 } };
      const events = decoded(
        created(SES),
        message('msg_1', SES),
        call('pending', { input: {} }),
        ...Array.from({ length: TIMES }, (_, n) =>
          call('running', { metadata: { output: output(Math.floor(n / 100) + 1) } }),
        ),
        call('completed', done),
        // A late update is not a second call.
        call('completed', done),
        call('running', { metadata: { output: 'late' } }),
      );
      const calls = outcomeOf(events).tool_calls;
      expect(calls.map(({ id, status, exit_code }) => [id, status, exit_code])).toEqual([
        ['c1', 'ok', 0],
      ]);
      const heard = kindsOf(events, 'call_progress').map(({ data }) => data.text);
      expect([heard.length, heard.join('')]).toEqual([50, output(50)]);
      expect(problems(events)).toEqual([]);
    },
  );

  verifies('RO-3', 'a text that is updated thousands of times is its last snapshot', () => {
    const text = (words: string, more: Fields = {}) =>
      part('prt_1', 'msg_1', SES, { type: 'text', text: words, ...more });
    const events = decoded(
      created(SES),
      message('msg_1', SES),
      ...Array.from({ length: TIMES }, (_, n) => text('x'.repeat(n % 400))),
      text('The end.', { time: { start: T0, end: T0 + 5 } }),
      text('The end.', { time: { start: T0, end: T0 + 5 } }),
      over('msg_1', SES),
    );
    const whole = kindsOf(events, 'message_finished').map(({ data }) => data.text);
    expect([whole, outcomeOf(events).message]).toEqual([['The end.'], 'The end.']);
  });
});

describe('unfinished texts', () => {
  const texts = (events: readonly Event[]) =>
    kindsOf(events, 'message_finished').map(({ data }) => data.text);

  verifies(
    'RO-3',
    'beyond the character limit they are reported in pieces, and none is lost',
    () => {
      const piece = 'abcdefgh'.repeat(128 * 1024);
      const begun = [0, 1].map((n) => part(`prt_${n}`, 'msg_1', SES, { type: 'text', text: '' }));
      const grown = Array.from({ length: 18 }, (_, n) =>
        delta(`prt_${n % 3 === 0 ? 0 : 1}`, piece),
      );
      const events = decoded(created(SES), message('msg_1', SES), ...begun, ...grown);
      expect(texts(events).join('')).toHaveLength(18 * piece.length);
      const longest = Math.max(...texts(events).map(({ length }) => length));
      expect(longest).toBeLessThanOrEqual(LIMITS.line_bytes_max + piece.length);
    },
  );

  verifies('RO-3', 'beyond the count limit the oldest is reported', () => {
    const parts = Array.from({ length: LIMITS.waiting_drafts_max + 5 }, (_, n) =>
      part(`prt_${n}`, 'msg_1', SES, { type: 'text', text: `text ${n}` }),
    );
    const later = bus('session.dreamt', {});
    const events = decoded(created(SES), message('msg_1', SES), ...parts, later);
    expect(texts(events)).toEqual(parts.map((_, n) => `text ${n}`));
    const before = events.findIndex(({ kind }) => kind === 'problem');
    expect(texts(events.slice(0, before))).toEqual(parts.slice(0, 5).map((_, n) => `text ${n}`));
  });

  verifies(
    'AG-2',
    'a piece of a text that is no longer held is a problem, not silently lost',
    () => {
      const parts = Array.from({ length: LIMITS.waiting_drafts_max + 1 }, (_, n) =>
        part(`prt_${n}`, 'msg_1', SES, { type: 'text', text: `text ${n}` }),
      );
      const late = [delta('prt_0', ' and more'), delta('prt_1', ' and more')];
      const events = decoded(created(SES), message('msg_1', SES), ...parts, ...late);
      expect(texts(events)).toContain('text 1 and more');
      expect(problems(events)).toContain('bad_record message.part.delta for an unknown part');
    },
  );

  verifies('RO-3', 'finished texts do not count towards the limit', () => {
    const long = 'abcdefgh'.repeat(128 * 1024);
    const finished = Array.from({ length: 12 }, (_, n) => [
      message(`msg_${n}`, SES),
      part(`prt_${n}`, `msg_${n}`, SES, { type: 'text', text: long }),
      over(`msg_${n}`, SES),
    ]);
    const begun = part('prt_last', 'msg_last', SES, { type: 'text', text: '' });
    const pieces = ['in ', 'three ', 'pieces'].map((text) => delta('prt_last', text));
    const last = [message('msg_last', SES), begun, ...pieces, over('msg_last', SES)];
    const events = decoded(created(SES), ...finished.flat(), ...last);
    expect(texts(events)).toEqual([...finished.map(() => long), 'in three pieces']);
  });
});

describe('parallel sub-agents', () => {
  const [A, B, C] = ['ses_a', 'ses_b', 'ses_c'];
  const task = (id: string, status: string, child: string, where = ['msg_1', SES]) =>
    part(`prt_${id}`, where[0] ?? '', where[1] ?? '', {
      type: 'tool',
      tool: 'task',
      callID: id,
      state: { status, input: { prompt: id }, output: 'ok', metadata: { sessionId: child } },
    });
  const read = (id: string, status: string, session_id: string) =>
    part(`prt_${id}`, `msg_${session_id}`, session_id, {
      type: 'tool',
      tool: 'read',
      callID: id,
      state: { status, input: { filePath: `/${id}` }, output: 'x' },
    });
  const text = (session_id: string, words: string, more: Fields = {}) =>
    part(`prt_t_${session_id}`, `msg_${session_id}`, session_id, {
      type: 'text',
      text: words,
      ...more,
    });

  verifies(['AG-12', 'RO-3'], 'each keeps its own calls and texts, however they interleave', () => {
    const events = decoded(
      created(SES),
      message('msg_1', SES),
      task('t1', 'running', A),
      task('t2', 'running', B),
      created(A, SES),
      created(B, SES),
      message(`msg_${A}`, A),
      message(`msg_${B}`, B),
      read('ra', 'running', A),
      read('rb', 'running', B),
      text(B, ''),
      delta(`prt_t_${B}`, 'B is '),
      read('ra', 'completed', A),
      task('t3', 'running', C, [`msg_${A}`, A]),
      created(C, A),
      message(`msg_${C}`, C),
      read('rc', 'completed', C),
      text(A, 'A is done.', { time: { start: T0, end: T0 + 1 } }),
      // The end of one must not cut off the other's text.
      over(`msg_${C}`, C),
      task('t3', 'completed', C, [`msg_${A}`, A]),
      over(`msg_${A}`, A),
      task('t1', 'completed', A),
      delta(`prt_t_${B}`, 'done.'),
      read('rb', 'completed', B),
      text(B, 'B is done.', { time: { start: T0, end: T0 + 2 } }),
      over(`msg_${B}`, B),
      task('t2', 'completed', B),
      part('prt_9', 'msg_1', SES, { type: 'text', text: 'Both.', time: { start: T0, end: T0 } }),
      over('msg_1', SES),
      bus('session.idle', { sessionID: SES }),
    );
    const { tool_calls, message: words, exit_reason } = outcomeOf(events);
    expect(tool_calls.map(({ id, status, parent_id }) => [id, status, parent_id])).toEqual([
      ['t1', 'ok', null],
      ['t2', 'ok', null],
      ['ra', 'ok', 't1'],
      ['rb', 'ok', 't2'],
      ['t3', 'ok', 't1'],
      ['rc', 'ok', 't3'],
    ]);
    const whole = kindsOf(events, 'message_finished').map(({ data }) => [
      data.parent_call_id,
      data.text,
      data.partial,
    ]);
    expect(whole).toEqual([
      ['t1', 'A is done.', false],
      ['t2', 'B is done.', false],
      [null, 'Both.', false],
    ]);
    expect([words, exit_reason, problems(events)]).toEqual(['Both.', 'ok', []]);
  });
});

describe('many open calls', () => {
  const tool = (id: string, callID: string, state: Fields, name = 'bash') =>
    ({ id, callID, tool: name, state }) as Part;
  const callsTo = (out: Draft[]) => {
    const to = new Drafts();
    to.begin(out, T0);
    return new Calls(to, () => ({}));
  };
  const running = (command: string) => ({ status: 'running', input: { command } });

  test('the time per record does not depend on their number', () => {
    const out: Draft[] = [];
    const calls = callsTo(out);
    for (let at = 0; at < 10_000; at++)
      calls.part(tool(`p${at}`, `c${at}`, running(`sleep ${at}`), 'task'), true);
    for (let at = 0; at < 10_000; at++)
      calls.part(tool(`q${at}`, `d${at}`, running(`wait ${at}`)), true);
    const before = cpuMs();
    for (let at = 0; at < 30_000; at++) {
      calls.part(tool(`r${at}`, `e${at}`, running('x')), true);
      calls.decide('c9999', true);
      calls.executed('x', 0);
      calls.claim('ses_none');
    }
    expect(cpuMs() - before).toBeLessThan(3_000);
  });

  test('open calls with the same id get different ids', () => {
    const out: Draft[] = [];
    const calls = callsTo(out);
    const ends = { status: 'completed', input: { command: 'x' }, output: '' };
    calls.part(tool('p1', 'c', running('1')), true);
    calls.part(tool('p2', 'c', running('2')), true);
    calls.part(tool('p1', 'c', ends), true);
    calls.part(tool('p3', 'c', running('3')), true);
    const ids = out.flatMap((draft) =>
      draft.kind === 'call_requested' ? [draft.data.call_id] : [],
    );
    expect(ids).toEqual(['c', 'c#2', 'c#3']);
  });

  test('a session belongs to the only open task without one', () => {
    const out: Draft[] = [];
    const calls = callsTo(out);
    const task = (id: string, sessionId?: string) =>
      tool(`p${id}`, id, { status: 'running', input: { a: 1 }, metadata: { sessionId } }, 'task');
    calls.part(task('c1', 'ses_1'), true);
    calls.part(task('c2'), true);
    calls.claim('ses_2');
    calls.claim('ses_3');
    calls.part(task('c4'), true);
    calls.part(task('c5'), true);
    calls.claim('ses_4');
    const parents = ['ses_1', 'ses_2', 'ses_3', 'ses_4'].map((id) => calls.parentOf(id));
    expect(parents).toEqual(['c1', 'c2', null, null]);
  });
});
