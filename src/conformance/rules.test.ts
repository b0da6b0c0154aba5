/** Each rule with streams that pass, streams that fail, and streams that are not judged. */
import { describe, expect, test } from 'vitest';
import { handshake, judged, START_MS, type Stream, stream } from '../../test/build-live.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { readText } from '../live/protocol/messages.ts';
import { Judge, type JudgeOptions } from './judge.ts';
import { LIVE_RULES } from './rules.ts';
import { SentStream } from './sent-stream.ts';
import type { Report } from './types.ts';

/** A stream with its options, or a complete report. */
type Fixture = Stream | [Stream, JudgeOptions] | (() => Report);
interface Fixtures {
  passes: Record<string, () => Fixture>;
  fails: Record<string, () => Fixture>;
  /** Not judged, with a reason. */
  open: Record<string, () => Fixture>;
}

const plain = () => stream().start().request().status().response().end();
const control = () => stream().control('heartbeat', {});

/** A stream as sent, and as received after `change`. */
function sentAndReceived(change: (text: string) => string | null): [Stream, JudgeOptions] {
  const sent = plain();
  const received = stream();
  for (const { text } of sent.lines) {
    const kept = change(text);
    if (kept !== null) received.raw(kept);
  }
  const against = new SentStream();
  for (const { text } of sent.lines) {
    const read = readText(text);
    if (read.fault === null) against.add(read.message);
  }
  return [received, { against }];
}

const arriving = (delay_ms: number, build: (made: Stream) => Stream) => {
  const made = stream();
  made.delay_ms = delay_ms;
  return build(made);
};

/** A report on minutes of messages that were not parsed from text. */
function hour(minutes: number, late: (at: number) => boolean, skip = 0): () => Report {
  return () => {
    const judge = new Judge();
    let seq = 0;
    for (let at = 0; at < minutes * 6_000 + 100; at++) {
      seq += at === skip && skip > 0 ? 2 : 1;
      const at_ms = START_MS + at * 10;
      const message = {
        type: 'message_stop',
        timestamp: new Date(at_ms).toISOString(),
        session_id: 's1',
        message_id: String(seq),
        seq,
        data: {},
      };
      const received_ms = at_ms + (late(at) ? 150 : 5);
      judge.push({ fault: null, message, text: String(seq), line: at + 1, received_ms });
    }
    return judge.report();
  };
}

const withMemory = (samples: readonly number[]) => () => {
  const judge = new Judge();
  for (const { text } of plain().lines) judge.push({ ...readText(text), line: 1 });
  for (const megabytes of samples) judge.memory(megabytes * 1024 * 1024);
  return judge.report();
};

const content = (made: Stream) =>
  made
    .start()
    .say('message_start', { message: { id: 'm1', role: 'assistant' } })
    .say('content_block_start', { message_id: 'm1', index: 0, content_type: 'text' })
    .say('content_block_delta', { message_id: 'm1', index: 0, delta: 'hi' })
    .say('content_block_stop', { message_id: 'm1', index: 0 })
    .say('message_stop', { message_id: 'm1' });

const traced = (id: string) => ({
  trace: { traceparent: `00-${id.repeat(32)}-${'1'.repeat(16)}-01` },
});
const unknownType = (made: Stream) => made.start().say('tool_call_start', { call_id: 'c1' });

const FIXTURES: Readonly<Record<string, Fixtures>> = {
  '1.1': {
    passes: { 'a complete request': plain },
    fails: {
      'no args': () => stream().start().say('tool_call_request', { call_id: 'c', name: 'B' }),
      'is_client_initiated as text': () =>
        stream().start().say('tool_call_request', {
          call_id: 'c',
          name: 'B',
          args: {},
          is_client_initiated: 'no',
        }),
      microseconds: () =>
        stream().start().request('c1', { timestamp: '2026-03-03T10:00:00.000123Z' }),
      'an empty session': () => stream().start().request('c1', { session_id: '' }),
    },
    open: { 'no request': () => stream().start() },
  },
  '1.2': {
    passes: { 'a result': plain, 'an error': () => stream().start().request().failure() },
    fails: {
      'neither result nor error': () =>
        stream().start().request().response('c1', {}, { result: null }),
      both: () => stream().start().request().response('c1', {}, { error: {} }),
      'another correlation id': () =>
        stream().start().request().response('c1', { correlation_id: 'x' }),
      'another call': () => stream().start().request().response('c2'),
      'another session': () =>
        stream().start().request().start({ session_id: 's2' }).response('c1', { session_id: 's2' }),
    },
    open: { 'no response': () => stream().start() },
  },
  '1.3': {
    passes: {
      running: plain,
      progress: () =>
        stream()
          .start()
          .request()
          .status('c1', { progress: { percent: 40, note: 'half' } }),
    },
    fails: {
      'an unknown status': () => stream().start().request().status('c1', { status: 'in_progress' }),
      'no such call': () => stream().start().status(),
      'a number as text': () =>
        stream()
          .start()
          .request()
          .status('c1', { progress: { percent: '40' } }),
    },
    open: { 'no status': () => stream().start() },
  },
  '1.4': {
    passes: {
      'a complete confirmation': () =>
        stream()
          .start()
          .request()
          .say('tool_call_confirmation', { call_id: 'c1', request: {}, prompt: 'Run ls?' }),
    },
    fails: {
      'no prompt': () =>
        stream()
          .start()
          .request()
          .say('tool_call_confirmation', { call_id: 'c1', request: {}, prompt: '' }),
    },
    open: { 'no confirmation': plain },
  },
  '1.5': {
    passes: {
      'answered by message id': () =>
        unknownType(handshake(stream())).error('INVALID_MESSAGE_TYPE', { message_id: 's1-2' }),
      'answered by the older name': () =>
        unknownType(stream()).error('UNKNOWN_MESSAGE_TYPE', { seq: 2 }),
    },
    fails: {
      'no answer in a stream with answers': () => unknownType(handshake(stream())),
      'another message is answered': () =>
        unknownType(stream()).ack(1).error('INVALID_MESSAGE_TYPE', { message_id: 'other' }),
    },
    open: { 'no unknown type': plain, 'a stream without answers': () => unknownType(stream()) },
  },
  '2.1': {
    passes: {
      'the same': () => sentAndReceived((text) => text),
      'keys in another order': () =>
        sentAndReceived((text) =>
          JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse())),
        ),
    },
    fails: {
      'other arguments': () => sentAndReceived((text) => text.replace('"ls"', '"ls "')),
      'another correlation id': () => sentAndReceived((text) => text.replace('s1/c1', 's1/c9')),
      'a message is missing': () =>
        sentAndReceived((text) => (text.includes('running') ? null : text)),
      'one number with two contents': () =>
        plain().say('session_end', { status: 'other' }, { seq: 5 }),
    },
    open: { 'no sent stream': plain },
  },
  '2.2': {
    passes: { 'all fields': plain },
    fails: {
      missing: () => stream().say('session_start', {}),
      empty: () => stream().say('session_start', { agent: '' }),
      null: () => stream().say('session_start', { agent: null }),
    },
    open: { 'only garbage': () => stream().raw('{}x') },
  },
  '2.3': {
    passes: { 'the right types': plain },
    fails: {
      'a number as text': () =>
        stream().start().request().response('c1', {}, { execution_time_ms: '10' }),
      'a list for a map': () =>
        stream().start().say('tool_call_request', {
          call_id: 'c',
          name: 'B',
          args: [],
          is_client_initiated: true,
        }),
      'an invalid time': () => stream().start({ timestamp: '2026-13-03T10:00:00.000Z' }),
    },
    open: { 'only garbage': () => stream().raw('[]') },
  },
  '2.4': {
    passes: {
      'any text': () =>
        stream()
          .start()
          .request('c1')
          .response('c1', {}, { result: { text: 'é\u0000"\\ud800" 🙂' } }),
      bytes: () =>
        stream()
          .start()
          .request()
          .response('c1', {}, { result: { encoding: 'base64', data: '//4=' } }),
      'an emoji as two escapes': () =>
        stream().raw(plain().lines[0]!.text.replace('toy', '\\ud83d\\ude42')),
    },
    fails: {
      'a cut line': () => plain().raw('{"type":"session_end","time'),
      'an unpaired surrogate': () => stream().raw(plain().lines[0]!.text.replace('toy', '\\ud83d')),
      'bytes that are not base64': () =>
        stream()
          .start()
          .request()
          .response('c1', {}, { result: { encoding: 'base64', data: 'ÿþ' } }),
    },
    open: { 'an empty stream': stream },
  },
  '3.1': {
    passes: {
      'equal times': () =>
        stream().start().request('c1', { timestamp: '2026-03-03T10:00:00.010Z' }),
      'clocks that agree': () => arriving(20, (made) => handshake(made)),
    },
    fails: {
      'back in time': () =>
        stream().start().request('c1', { timestamp: '2026-03-03T09:59:59.999Z' }),
      microseconds: () => stream().start({ timestamp: '2026-03-03T10:00:00.000000Z' }),
      'an invalid day': () => stream().start({ timestamp: '2026-02-30T10:00:00.000Z' }),
      'arrived before it happened': () => arriving(-500, (made) => made.start()),
      'clocks that differ': () => arriving(150, (made) => handshake(made)),
    },
    open: { 'only garbage': () => stream().raw('x') },
  },
  '3.2': {
    passes: { 'in time': () => arriving(8, (made) => made.start().request().response().end()) },
    fails: {
      'too late for calls': () => arriving(30, (made) => made.start().request().response().end()),
      'before it happened': () => arriving(-500, (made) => made.start()),
    },
    open: { 'unknown arrival times': plain },
  },
  '3.3': {
    passes: { 'in order': plain, content: () => content(stream()) },
    fails: {
      'response before request': () => stream().start().response().request(),
      'status after the response': () => stream().start().request().response().status(),
      'stop without start': () =>
        stream().start().say('content_block_stop', { message_id: 'm1', index: 0 }),
      'two sessions with one correlation id': () =>
        stream()
          .start()
          .request()
          .start({ session_id: 's2' })
          .request('c1', { session_id: 's2', correlation_id: 's1/c1' }),
    },
    open: { 'no calls and no content': () => stream().start() },
  },
  '3.4': {
    passes: {
      'status at 5 s and every 10 s': () =>
        stream().start().request().wait(5_000).status().wait(9_900).status().wait(9_000).response(),
    },
    fails: {
      'silent for 20 s': () => stream().start().request().wait(20_000).response(),
      'silent after the first status': () =>
        stream().start().request().wait(4_000).status().wait(15_000).response(),
      'ended without a status': () => stream().start().request().wait(400_000).end(),
      'open and silent at the end': () =>
        stream()
          .start()
          .request()
          .wait(20_000)
          .say('session_state', {
            status: 'active',
            open_calls: ['c1'],
            last_seq: 2,
            counters: {},
          }),
    },
    open: { 'short calls': plain },
  },
  '4.1': {
    passes: {
      'a pair': plain,
      'interleaved pairs': () =>
        stream().start().request('a').request('b').response('b').response('a'),
    },
    fails: {
      'no response at the end of the stream': () => stream().start().request(),
      'no response at session_end': () => stream().start().request().end(),
      'two responses': () => stream().start().request().response().response(),
      'another correlation id': () =>
        stream().start().request().response('c1', { correlation_id: 'x' }),
      'before the request': () =>
        stream().start().request().response('c1', { timestamp: '2026-03-03T10:00:00.010Z' }),
      'a call id in use': () => stream().start().request().request().response(),
    },
    open: {
      'no calls': () => stream().start(),
      'open in a live stream': () => [stream().start().request(), { live: true }],
    },
  },
  '4.2': {
    passes: {
      'a complete session': plain,
      'a correct session_state': () =>
        stream()
          .start()
          .request()
          .say('session_state', {
            status: 'active',
            open_calls: ['c1'],
            last_seq: 2,
            counters: {},
          })
          .end(),
      'a session without an end in a stream that continues': () => [
        stream().start(),
        { live: true },
      ],
    },
    fails: {
      'no session_start': () => stream().request().response().end(),
      'after session_end': () => plain().request('c2'),
      'a second start': () => stream().start().start().end(),
      'no session_end': () => stream().start().request().response(),
      'no session_end for one of two sessions': () => {
        const made = plain();
        made.session = 's2';
        return made.start();
      },
      "another session's correlation id": () => {
        const made = stream().start().request().response();
        made.session = 's2';
        made.start().say('message_stop', {}, { correlation_id: 's1/c1' }).end();
        made.session = 's1';
        return made.end();
      },
      'a wrong session_state': () =>
        stream()
          .start()
          .say('session_state', {
            status: 'active',
            open_calls: ['c9'],
            last_seq: 1,
            counters: {},
          })
          .end(),
    },
    open: { 'no session': control },
  },
  '4.3': {
    passes: {
      'one id each': plain,
      'the trace is kept': () =>
        stream().start().request('c1', traced('a')).response('c1', traced('a')),
    },
    fails: {
      'one id for two calls': () =>
        stream().start().request('a').request('b', { correlation_id: 's1/a' }),
      'one id in two sessions': () =>
        stream()
          .start()
          .request()
          .start({ session_id: 's2' })
          .request('c1', { session_id: 's2', correlation_id: 's1/c1' }),
      'another trace': () =>
        stream().start().request('c1', traced('a')).response('c1', traced('b')),
      'a lost trace': () => stream().start().request('c1', traced('a')).response(),
      'an invalid traceparent': () =>
        stream()
          .start()
          .request('c1', { trace: { traceparent: 'x' } }),
    },
    open: { 'no calls': () => stream().start() },
  },
  '4.4': {
    passes: {
      'by number': () =>
        stream().start().error('DUPLICATE_CONFLICT', { seq: 1 }, { session_id: 's1' }),
      'by correlation id': () =>
        stream()
          .start()
          .request()
          .error('TOOL_TIMEOUT', { correlation_id: 's1/c1' }, { session_id: 's1' }),
    },
    fails: {
      'no cause': () => stream().start().error('DUPLICATE_CONFLICT', null),
      'a number beyond the session': () =>
        stream().start().error('DUPLICATE_CONFLICT', { seq: 9 }, { session_id: 's1' }),
      "another session's cause": () =>
        stream()
          .start()
          .request()
          .error('TOOL_TIMEOUT', { correlation_id: 's1/c1' }, { session_id: 's2' }),
    },
    open: {
      'no error': plain,
      'an error of the connection': () => stream().start().error('CONNECTION_LOST', null),
    },
  },
  '5.1': {
    passes: { 'an hour at 100 per second': () => hour(60, (at) => at % 50 === 0) },
    fails: {
      'one in ten is late': () => hour(60, (at) => at % 10 === 0),
      'one is lost': () => hour(60, () => false, 1_000),
    },
    open: { 'a minute': () => hour(2, () => false), 'unknown arrival times': plain },
  },
  '5.2': {
    passes: { flat: () => withMemory(Array.from({ length: 30 }, (_, at) => 20 + (at % 3))) },
    fails: {
      'over 50 MB': () => withMemory([20, 60]),
      growing: () => withMemory(Array.from({ length: 30 }, (_, at) => 10 + at)),
    },
    open: { 'no measurements': plain },
  },
  '6.1': {
    passes: {
      'the session continues': () =>
        stream().start().request().failure().request('c2').response('c2').end(),
    },
    fails: {
      'nothing after it': () => stream().start().request().failure(),
      'the session ends with it': () => stream().start().request().failure().end('failed'),
      'a failed call with a result': () =>
        stream().start().request().status('c1', { status: 'failed' }).response().end(),
    },
    open: {
      'no tool failed': plain,
      'the last message of a live stream': () => [
        stream().start().request().failure(),
        { live: true },
      ],
    },
  },
  '6.2': {
    passes: { 'all acknowledged': () => plain().ack(5), 'no acknowledgements known': plain },
    fails: {
      'requests no acknowledgement': () =>
        stream().start().request('c1', { ack_required: false }).response(),
      'a number is missing': () => stream().start().request('c1', { seq: 3 }).response(),
      'never acknowledged': () => stream().start().request().ack(1).response(),
      'not durable': () => plain().control('ack', { acked: [], durable: false }),
    },
    open: { 'nothing critical': () => stream().start() },
  },
  '7.1': {
    passes: {
      'numbers without a gap': plain,
      'a handshake': () => handshake(stream()),
      'a handshake that offers no types': () => handshake(stream(), '1.0', ['resume']),
      'the same message again': () => {
        const made = plain();
        return made.raw(made.lines[1]!.text);
      },
      'sessions side by side': () =>
        stream().start().start({ session_id: 's2' }).request().request('c1', { session_id: 's2' }),
    },
    fails: {
      garbage: () => plain().raw('garbage'),
      'a gap': () => stream().start().request('c1', { seq: 3 }),
      'a late message': () =>
        stream().start().request('c1', { seq: 3 }).status('c1', {}, { seq: 2 }),
      'a start at another number than 1': () => stream().start({ seq: 4 }),
      'different content': () => stream().start().start({ seq: 1 }),
      'another version': () => handshake(stream(), '2.0'),
      'a receiver that does not accept all types': () =>
        handshake(stream(), '1.0', ['session_start', 'session_end']),
      'an unknown type': () => unknownType(stream()),
    },
    open: { 'an empty stream': stream },
  },
  '7.2': {
    passes: {
      'all transports': () => [plain(), { transports: { stdio: true, tcp: true, pipe: true } }],
    },
    fails: {
      'one transport fails': () => [
        plain(),
        { transports: { stdio: true, tcp: false, pipe: true } },
      ],
      'one transport was not tested': () => [plain(), { transports: { stdio: true, tcp: true } }],
    },
    open: { 'no transport was tested': plain },
  },
};

function reportOf(fixture: Fixture): Report {
  if (typeof fixture === 'function') return fixture();
  const [made, options] = Array.isArray(fixture) ? fixture : [fixture, {}];
  return judged(made.lines, options);
}
const ruleIn = (report: Report, id: string) => report.rules.find((rule) => rule.id === id);

verifies('CF-1', 'there is one rule per criterion, each with streams that pass and fail', () => {
  const ids = LIVE_RULES.map(({ id }) => id);
  expect(ids.join(' ')).toBe(
    '1.1 1.2 1.3 1.4 1.5 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4 4.1 4.2 4.3 4.4 5.1 5.2 6.1 6.2 7.1 7.2',
  );
  expect(Object.keys(FIXTURES).sort()).toEqual([...ids].sort());
  for (const { passes, fails, open } of Object.values(FIXTURES))
    for (const kind of [passes, fails, open]) expect(Object.keys(kind)).not.toEqual([]);
});

for (const [id, { passes, fails, open }] of Object.entries(FIXTURES)) {
  describe(`rule ${id}`, () => {
    for (const [name, make] of Object.entries(passes))
      test(`passes: ${name}`, () => {
        const rule = ruleIn(reportOf(make()), id);
        expect(rule).toMatchObject({
          verdict: 'passed',
          failures: rule?.threshold === 1 ? [] : rule?.failures,
          reason: null,
        });
      });
    for (const [name, make] of Object.entries(fails))
      test(`fails: ${name}`, () => {
        const rule = ruleIn(reportOf(make()), id);
        expect(rule).toMatchObject({ verdict: 'failed', reason: null });
        expect(rule?.failures.length).toBeGreaterThan(0);
        for (const { why } of rule?.failures ?? [])
          expect(why).not.toMatch(/undefined|NaN|\[object/);
      });
    for (const [name, make] of Object.entries(open))
      test(`is not judged, with a reason: ${name}`, () => {
        expect(ruleIn(reportOf(make()), id)).toMatchObject({
          verdict: 'not judged',
          reason: expect.stringMatching(/.../),
          rate: null,
          checked: 0,
        });
      });
  });
}
