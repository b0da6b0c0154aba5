/** The judge as a whole: its report, and its bounded memory. */
import { expect, test } from 'vitest';
import { judged, type Line, type Stream, stream } from '../../test/build-live.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { LIMITS } from '../lib/limits.ts';
import { readText } from '../live/protocol/messages.ts';
import { Judge } from './judge.ts';
import { CONFORMANCE_LIMITS } from './limits.ts';
import { LIVE_RULES } from './rules.ts';
import { isSampled } from './sample.ts';

const ruleOf = (report: ReturnType<typeof judged>, id: string) =>
  report.rules.find((rule) => rule.id === id);

verifies('CF-3', 'no rule passes an empty stream, and each gives a reason', () => {
  const report = judged([]);
  expect(report.verdict).toBe('not judged');
  expect(report.rules.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual(
    LIVE_RULES.map(({ id }) => `${id} not judged`),
  );
  expect(report.rules.filter(({ reason }) => !reason)).toEqual([]);
});

verifies(
  'CF-3',
  'criteria that a plain stream cannot show are not judged, or reported as judged in part',
  () => {
    const report = judged(stream().start().request().response().end().lines);
    const open = report.rules.filter(({ verdict }) => verdict === 'not judged').map(({ id }) => id);
    expect(open).toEqual([
      '1.3',
      '1.4',
      '1.5',
      '2.1',
      '3.2',
      '3.4',
      '4.4',
      '5.1',
      '5.2',
      '6.1',
      '7.2',
    ]);
    expect(ruleOf(report, '3.1')).toMatchObject({
      verdict: 'passed',
      unjudged: [expect.stringContaining('clock difference')],
    });
    expect(ruleOf(report, '6.2')).toMatchObject({
      verdict: 'passed',
      unjudged: [expect.stringContaining('acknowledgements')],
    });
  },
);

test('times of the capture are reported as not judged', () => {
  const made = stream().say('session_start', { agent: 'toy', time_source: 'capture' });
  expect(ruleOf(judged(made.lines), '3.1')?.unjudged.join()).toContain('1 timestamps');
});

verifies(
  'CF-2',
  'a rule reports its checks, failures and rate, and the first failures with their lines',
  () => {
    const made = stream().start();
    for (let at = 1; at <= 15; at++) made.response(`c${at}`);
    const rule = ruleOf(judged(made.lines), '1.2');
    expect(rule).toMatchObject({
      checked: 15,
      failed: 15,
      rate: 0,
      threshold: 1,
      verdict: 'failed',
    });
    expect(rule?.failures).toHaveLength(CONFORMANCE_LIMITS.failures_max);
    expect(rule?.failures[0]).toEqual({
      line: 2,
      session_id: 's1',
      seq: 2,
      why: 'no earlier tool_call_request with call_id c1',
    });
  },
);

test('a duplicate message is counted and does not fail a rule', () => {
  const made = stream().start().request().response().end();
  for (const { text } of [...made.lines]) made.raw(text);
  const report = judged(made.lines);
  expect(report).toMatchObject({ verdict: 'passed', duplicates: 4 });
});

test('a call that is open at the end fails in a file, but not in a live stream', () => {
  const made = stream().start().request();
  expect(judged(made.lines, { live: true })).toMatchObject({ verdict: 'passed', open_calls: 1 });
  expect(judged(made.lines)).toMatchObject({ verdict: 'failed' });
});

test('a live stream may continue a session that began before it', () => {
  const made = stream().say('message_stop', {}, { seq: 900 }).say('message_stop', {}, { seq: 901 });
  expect(judged(made.lines, { live: true }).verdict).toBe('passed');
  expect(judged(made.lines).verdict).toBe('failed');
});

verifies('CF-1', 'numbers in messages of a client are not numbers of the session', () => {
  const made = stream().start();
  const common = { session_id: 's1', correlation_id: null, ack_required: null, trace: null };
  const input = (seq: number) => {
    const timestamp = new Date(made.now_ms).toISOString();
    const said = { message_id: `u${seq}`, seq, data: { content: 'stop' } };
    made.put({ type: 'user_input', timestamp, ...common, ...said });
  };
  input(2);
  made.request();
  input(1);
  input(3);
  made.response().end();
  expect(judged(made.lines)).toMatchObject({ verdict: 'passed', faulty: 0, duplicates: 0 });
});

verifies('CF-1', 'sessions beyond the limit are not judged, and the report says so', () => {
  const made = stream();
  made.step_ms = 0;
  const count = LIMITS.live_sessions_max + 5;
  for (let at = 0; at < count; at++) made.start({ session_id: `s${at}` });
  for (let at = 0; at < count; at++) made.request('c1', { session_id: `s${at}` });
  for (let at = 0; at < count; at++) made.response('c1', { session_id: `s${at}` });
  for (let at = 0; at < LIMITS.live_sessions_max; at++) {
    made.session = `s${at}`;
    made.end();
  }
  const report = judged(made.lines);
  expect(report).toMatchObject({ verdict: 'passed', sessions: LIMITS.live_sessions_max });
  expect(report.over_limits).toEqual([expect.stringContaining('15 messages of sessions')]);
  expect(ruleOf(report, '4.2')?.unjudged).not.toEqual([]);
});

verifies('CF-1', 'calls beyond the limit are not judged, and the report says so', () => {
  const made = stream().start();
  made.step_ms = 0;
  const count = LIMITS.live_open_calls_max + 3;
  for (let at = 0; at < count; at++) made.request(`c${at}`);
  for (let at = 0; at < count; at++) made.response(`c${at}`);
  made.end();
  const report = judged(made.lines);
  expect(report.over_limits).toEqual([expect.stringContaining('3 calls')]);
  expect(report.rules.filter(({ verdict }) => verdict === 'failed')).toEqual([]);
});

/** A judge of a live stream, and a function that pushes lines of a sender. */
function live() {
  const judge = new Judge({ live: true });
  let line = 0;
  const push = (sender: string, { lines }: { lines: Line[] }) => {
    for (const { text } of lines.splice(0)) judge.push({ ...readText(text), line: ++line, sender });
  };
  return { judge, push };
}

verifies(
  ['LP-15', 'CF-4'],
  'in a live stream only sessions without a sender are dropped, and a returning session is judged by its known state',
  () => {
    const { judge, push } = live();
    const honest = stream()
      .start()
      .request()
      .say('message_start', { message: { id: 'm', role: 'assistant' } });
    push('a', honest);
    const [others, count] = [stream(), 2 * LIMITS.live_sessions_max];
    const fill = (name: string) => {
      for (let at = 0; at < count; at++) {
        others.session = `${name}${at}`;
        push('b', others.start().request(`c${at}`).failure(`c${at}`));
        judge.hold(others.session, false);
      }
    };
    fill('first');
    expect(judge.isOpen('s1')).toBe(true);
    judge.hold('s1', false);
    fill('second');
    expect(judge.isOpen('s1')).toBe(false);
    const open_calls = ['c1'];
    honest.say('session_state', { status: 'active', open_calls, last_seq: 3, counters: {} });
    honest.status().response().say('message_stop', { message_id: 'm' }).end();
    push('a', honest);
    const report = judge.report();
    expect(report.rules.filter(({ verdict }) => verdict === 'failed')).toEqual([]);
    expect(report.over_limits).toEqual([expect.stringMatching(/^\d+ sessions dropped before/)]);
  },
);

test('in a live stream the session that was silent longest is dropped first', () => {
  const { judge, push } = live();
  const made = stream();
  for (let at = 0; at < LIMITS.live_sessions_max; at++) {
    made.session = `s${at}`;
    push('a', made.start());
    judge.hold(made.session, false);
  }
  made.session = 's0';
  push('a', made.say('message_stop', {}));
  made.session = 'new';
  push('b', made.start());
  expect(['s0', 's1', 's2', 'new'].filter((id) => judge.isOpen(id))).toEqual(['new']);
  push('b', made.end());
  expect(judge.isOpen('new')).toBe(false);
  // A dropped session does not count as open, even when it is held.
  for (const id of ['s0', 's1', 's2']) judge.hold(id, true);
  expect(['s0', 's1', 's2'].filter((id) => judge.isOpen(id))).toEqual(['s0', 's2']);
});

verifies(['LP-15', 'LP-5'], 'in a live stream a sender affects only its own sessions', () => {
  const share = (sender: string) => {
    const { judge, push } = live();
    const same = { correlation_id: 'same' };
    const first = stream().start().request('c1', same);
    push('a', first);
    const second = stream();
    second.session = 's2';
    push(sender, second.start().request('c1', same).response('c1', same).end());
    push('a', first.response('c1', same).end());
    const failed = judge.report().rules.filter(({ verdict }) => verdict === 'failed');
    return failed.map(({ id }) => id);
  };
  expect(share('b')).toEqual([]);
  expect(share('a')).toEqual(['3.3', '4.2', '4.3']);
});

verifies('LP-5', 'a correlation id belongs to the first call that uses it', () => {
  const has = (correlation_id: string) => ({ correlation_id });
  const why = ({ lines }: Stream) =>
    ruleOf(judged(lines), '4.3')?.failures.map((failure) => failure.why);
  const taken = 'correlation_id same belongs to call c1';
  const first = stream().start().request('c1', has('same')).request('c2', has('same'));
  first.status('c1', {}, has('same')).response('c2', has('same'));
  const before = [`${taken} of session s1`, `${taken}, not to c2`];
  expect(why(first)).toEqual(before);
  // When an answered call is requested again, the correlation id it owned becomes free, and no other.
  first.request('c2', has('other')).response('c2', has('other'));
  first.request('c3', has('same'));
  expect(why(first)).toEqual([...before, `${taken} of session s1`]);
  first.response('c1', has('same')).request('c1', has('new')).response('c1', has('new'));
  first.request('c4', has('same'));
  expect(why(first)).toHaveLength(3);
});

verifies(
  'CF-1',
  'a bounded number of answered calls is remembered, and the oldest are forgotten',
  () => {
    const made = stream().start();
    made.step_ms = 0;
    for (let at = 0; at <= LIMITS.calls_remembered_max; at++)
      made.request(`c${at}`).response(`c${at}`);
    made.request('x', { correlation_id: 's1/c0' }).request('y', { correlation_id: 's1/c1' });
    const { failures } = ruleOf(judged(made.lines), '4.3') ?? {};
    expect(failures?.map(({ why }) => why)).toEqual([
      'correlation_id s1/c1 belongs to call c1 of session s1',
    ]);
  },
);

const long = (at: number) => `${'x'.repeat(1_000)}${at}`;

/** Messages that take room, and the number of them that exceeds one sender's share. */
const OPENINGS = {
  calls: [2_200, (made: Stream, at: number) => made.request(long(at))],
  texts: [
    4_200,
    (made: Stream, at: number) =>
      made.say('message_start', { message: { id: long(at), role: 'assistant' } }),
  ],
  blocks: [
    4_200,
    (made: Stream, at: number) =>
      made.say('content_block_start', { message_id: long(at), index: 0, content_type: 'text' }),
  ],
} as const;

verifies(
  ['LP-15', 'CF-1'],
  'in a live stream the open calls and blocks of one sender leave room for others',
  () => {
    const { judge, push } = live();
    const made = stream();
    made.step_ms = 0;
    const fill = (sender: string, what: keyof typeof OPENINGS) => {
      const [count, open] = OPENINGS[what];
      made.session = sender;
      push(sender, made.start());
      for (let at = 0; at < count; at++) push(sender, open(made, at));
    };
    const checked = () => ruleOf(judge.report(), '4.1')?.checked as number;
    /** The number of 20 calls with long ids that fit. */
    const room = (sender: string) => {
      const before = checked();
      made.session = sender;
      made.start();
      for (let at = 0; at < 20; at++) made.request(long(at));
      for (let at = 0; at < 20; at++) made.response(long(at));
      push(sender, made.end());
      return checked() - before;
    };
    push('a', stream().start({ session_id: 'other' }));
    fill('a', 'calls');
    expect(judge.report().open_calls).toBeLessThan(LIMITS.live_call_chars_max / 4 / 2_000);
    fill('b', 'texts');
    expect(judge.report().over_limits.join()).toContain('content blocks beyond the limit');
    fill('c', 'blocks');
    fill('d', 'calls');
    expect(room('late')).toBeLessThan(10);
    // Sessions without a sender make room, whatever they have open.
    for (const [sender, what] of [
      ['a', 'calls'],
      ['b', 'texts'],
      ['c', 'blocks'],
    ] as const) {
      judge.hold(sender, false);
      expect([sender, room(`instead of ${sender}`)]).toEqual([sender, 20]);
      fill(`after ${sender}`, what);
      expect(room(`after all ${sender}`)).toBeLessThan(10);
    }
    // The ids of dropped sessions are free again.
    made.session = 'a';
    push('a', made.request(long(0)));
    expect(judge.report().rules.filter(({ verdict }) => verdict === 'failed')).toEqual([]);
  },
);

verifies('CF-1', 'in a live stream an ended session takes no room for what it left open', () => {
  const { judge, push } = live();
  const made = stream();
  made.step_ms = 0;
  for (let session = 0; session < 90; session++) {
    made.session = `s${session}`;
    made.start();
    for (const [, open] of Object.values(OPENINGS)) for (let at = 0; at < 50; at++) open(made, at);
    for (let at = 0; at < 50; at++) made.response(long(at));
    push('a', made.end());
  }
  expect(judge.report().over_limits).toEqual([]);
});

test('a message in conflict with an earlier one fails as a conflict only', () => {
  const made = stream().start().request().response().end().start({ seq: 2 });
  const failed = judged(made.lines).rules.filter(({ verdict }) => verdict === 'failed');
  expect(failed.map(({ id }) => id)).toEqual(['2.1', '7.1']);
});

test('sessions that have ended make room for others', () => {
  const judge = new Judge();
  const made = stream();
  for (let at = 0; at < 3 * LIMITS.live_sessions_max; at++) {
    made.session = `s${at}`;
    made.start().end();
  }
  for (const [at, { text }] of made.lines.entries())
    judge.push({ fault: null, message: JSON.parse(text), text, line: at + 1 });
  expect(judge.report()).toMatchObject({
    verdict: 'passed',
    sessions: 3 * LIMITS.live_sessions_max,
    over_limits: [],
  });
});

test('an ended session that is dropped is judged for its missing messages', () => {
  const made = stream().start().end('completed').end('completed');
  const [first, , third] = made.lines.splice(0) as [Line, Line, Line];
  made.lines.push(first, third);
  for (let at = 0; at < LIMITS.live_sessions_max; at++) {
    made.session = `other${at}`;
    made.start().end();
  }
  const report = judged(made.lines);
  const whys = report.rules.flatMap(({ failures }) => failures.map(({ why }) => why));
  expect(whys).toContain('messages missing from the session: 1');
});

verifies(
  'CF-5',
  'one message in a hundred is sampled, the same everywhere, evenly over sessions and numbers',
  () => {
    // Pinned: the documented method selects exactly these numbers.
    const sampled = Array.from({ length: 1000 }, (_, at) => at + 1).filter((seq) =>
      isSampled('s1', seq),
    );
    expect(sampled).toEqual([146, 557, 559, 568, 599, 735, 750, 855]);
    let all = 0;
    const by_session: number[] = [];
    const by_digit = new Array(10).fill(0);
    for (let session = 0; session < 200; session++) {
      let own = 0;
      for (let seq = 1; seq <= 1000; seq++) {
        if (!isSampled(`r_${session}`, seq)) continue;
        own += 1;
        by_digit[seq % 10] += 1;
      }
      by_session.push(own);
      all += own;
    }
    // 200,000 samples of 1 %: 2,000 expected, with a standard deviation of 44.5; the bound is five of them.
    expect(Math.abs(all - 2000)).toBeLessThan(223);
    // Per last digit: 200 expected, with a standard deviation of 14.
    for (const count of by_digit) expect(Math.abs(count - 200)).toBeLessThan(70);
    expect(Math.max(...by_session)).toBeLessThan(30);
  },
);
