import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { LIVE_TYPES } from '../../model/live-words.ts';
import type { HumanStyle } from '../human-parts.ts';
import { LiveHuman, type SeenMessage } from './human.ts';
import { LiveProjector } from './live.ts';

const plain = (text: string) => text;
const colour = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain };
const style: HumanStyle = { colour, unicode: false, width: 80 };

test('a session is shown with time, session and event', () => {
  const make = createMaker();
  const at = (at_ms: number) => ({ at_ms });
  const live = new LiveProjector({ session_id: 'r_abcdef', call_timeout_ms: null, trace: null });
  const human = new LiveHuman(style);
  const events = [
    make('run_started', {}, at(0)),
    make('message_finished', { role: 'user', text: 'Fix it.' }, at(1)),
    make('thinking_finished', { text: 'what now' }, at(1)),
    make('message_finished', { text: 'I look.\nThen I act.' }, at(2)),
    make('call_requested', {}, at(10)),
    make('call_progress', { text: 'building' }, at(20)),
    make('call_finished', { ok: false, status: 'error', exit_code: 3, output: 'no\n' }, at(6_000)),
    make(
      'call_requested',
      { call_id: 'c2', tool: 'Read', input: { file_path: 'a.txt' } },
      at(6_001),
    ),
    make('permission_asked', { call_id: 'c2', reason: 'Read a.txt?' }, at(6_002)),
    make('call_decided', { call_id: 'c2', decision: 'deny', reason: 'no' }, at(6_003)),
    make('call_finished', { call_id: 'c2', ok: false, status: 'denied', output: null }, at(6_004)),
    make('provider_failed', {}, at(6_005)),
    make('file_changed', {}, at(6_006)),
    make('run_finished', {}, at(6_007)),
  ];
  const text = events
    .flatMap((event) => live.push(event))
    .map((message) => human.project(message as unknown as SeenMessage))
    .join('');
  expect(text.split('\n')).toEqual([
    '00:00:00.000 r_abcdef   demo 1.0 toy /home/user/project',
    '00:00:00.001 r_abcdef   user: Fix it.',
    '00:00:00.001 r_abcdef   thinking: what now',
    '00:00:00.002 r_abcdef   I look.',
    '00:00:00.002 r_abcdef   Then I act.',
    '00:00:00.010 r_abcdef   > Bash npm test',
    '00:00:00.020 r_abcdef   | building',
    '00:00:05.010 r_abcdef   ... 5.0s Bash npm test',
    '00:00:06.000 r_abcdef   FAIL   Bash npm test (exit 3, 12ms)',
    '00:00:06.000 r_abcdef     no',
    '00:00:06.001 r_abcdef   > Read a.txt',
    '00:00:06.002 r_abcdef   ? Read a.txt: Read a.txt?',
    '00:00:06.003 r_abcdef   Read a.txt: cancelled no',
    '00:00:06.004 r_abcdef   denied Read a.txt (12ms)',
    '00:00:06.004 r_abcdef     Bash was not permitted: no',
    '00:00:06.005 r_abcdef   ! PROVIDER_ERROR: Overloaded',
    '00:00:06.006 r_abcdef   file changed a.txt',
    '00:00:06.007 r_abcdef   ok - 1 call, 1 failed, 1 denied - 125 tokens - $0.0123',
    '00:00:06.007 r_abcdef     1.2s',
    '',
  ]);
});

test('the error that ended a session is shown completely', () => {
  const why = 'the agent exited with code 41: set GEMINI_API_KEY, or choose another way to log in';
  const message = {
    type: 'session_end',
    timestamp: '2026-11-15T06:51:07.042Z',
    session_id: 'build-7',
    data: { status: 'agent_error', reason: why },
  };
  const [first, ...reason] = new LiveHuman(style).project(message).trimEnd().split('\n');
  expect(first).toMatch(/ build-7 +FAIL agent_error$/);
  expect(reason.map((line) => line.slice(24).trim()).join(' ')).toBe(why);
  expect(reason.every((line) => line.length <= 80)).toBe(true);
});

test('every line is escaped and has an end, for any message', () => {
  const foreign = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u001b[2J', 'a\r\nb', '\u202e', '\u0000', '\u2028'),
  );
  const value = fc.oneof(foreign, fc.integer(), fc.constant(null), fc.array(foreign));
  const names = [
    ...['call_id', 'name', 'args', 'status', 'details', 'progress', 'result', 'error', 'text'],
    ...['delta', 'content_type', 'reason', 'totals', 'news', 'message', 'error_code', 'agent'],
    ...['prompt', 'content', 'index', 'message_id', 'execution_time_ms'],
  ];
  const data = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(value, fc.dictionary(fc.constantFrom('text', 'kind', 'output', 'code'), value)),
  );
  const message = fc.record({
    type: fc.constantFrom(...LIVE_TYPES),
    timestamp: fc.constant('2026-03-03T10:00:00.037Z'),
    session_id: fc.oneof(foreign, fc.constant(null)),
    data,
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
      const human = new LiveHuman(style);
      for (const one of messages) {
        const text = human.project(one);
        expect(text).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u);
        expect(text === '' || text.endsWith('\n')).toBe(true);
      }
    }),
  );
});

test('a session is named by a unique prefix of its id; foreign ids are shown completely', () => {
  const human = new LiveHuman(style);
  const name = (session_id: string) => {
    const line = human.project({
      type: 'user_input',
      timestamp: '2026-11-15T06:51:07.042Z',
      session_id,
      data: { content: 'go' },
    });
    return /^\d\d:51:07\.042 (.*) input: go\n$/.exec(line)?.[1];
  };
  const first = `r_01m7fgt0mx${'a'.repeat(16)}`;
  const second = `s_01m7fgt0mx${'b'.repeat(16)}`;
  expect([first, second, first, 'build-7', 'x'.repeat(30)].map(name)).toEqual([
    '01m7fgt0mx',
    '01m7fgt0mxbb',
    '01m7fgt0mx',
    'build-7   ',
    'x'.repeat(24),
  ]);
});
