/** The sender with a collector that is slow, unresponsive, unreachable, forgetful or wrong. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished } from 'vitest';
import { deliver } from '../../src/app/live/deliver.ts';
import { livePaths } from '../../src/app/live/paths.ts';
import { LiveSender, type LiveSenderOptions } from '../../src/app/live/sender.ts';
import { compose } from '../../src/live/protocol/compose.ts';
import { readText } from '../../src/live/protocol/messages.ts';
import type { InputReply, Notice } from '../../src/live/sender/types.ts';
import { testFolder } from '../fixtures/folder.ts';
import { type Message, ToyCollector } from '../toy-collector.ts';
import { until } from './cli.ts';
import { can } from './needs.ts';
import { verifies } from './verifies.ts';

const TIMES = {
  retry_ms: 20,
  retry_ms_max: 100,
  resend_ms: 40,
  resend_ms_max: 640,
  hello_ms: 5000,
};

function setUp(more: Partial<LiveSenderOptions> = {}) {
  const state = testFolder();
  const notices: Notice[] = [];
  const url = `unix:${join(state, 's')}`;
  const { outbox } = livePaths(state);
  const onNotice = (notice: Notice) => void notices.push(notice);
  const live = new LiveSender({ url, outbox, times: TIMES, onNotice, ...more });
  onTestFinished(() => void live.close());
  return { state, live, notices, outbox, socket: join(state, 's') };
}

const request = (session_id: string, seq: number, pad = '') =>
  compose(
    'tool_call_request',
    { call_id: `c${seq}`, name: 'shell', args: { seq, pad }, is_client_initiated: false },
    { session_id, seq, at_ms: 1_700_000_000_000 + seq },
  );
const end = (session_id: string, seq: number) =>
  compose('session_end', { status: 'ok' }, { session_id, seq, at_ms: 1_700_000_001_000 });
const numbers = (messages: Message[]) => messages.map(({ seq }) => seq);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const files = (dir: string) => (existsSync(dir) ? readdirSync(dir) : []);

verifies(
  'LP-8',
  'messages for an unreachable collector are sent in order when it becomes reachable',
  async () => {
    const { live, outbox, socket, notices } = setUp();
    const one = live.open('one');
    for (const seq of upTo(300)) one.say([request('one', seq)]);
    await until(() => notices.some(({ kind }) => kind === 'lost'), 'a failed attempt');
    expect(await one.sender.settled(1)).toBe(false);
    const toy = new ToyCollector();
    await toy.listen(socket);
    one.say([end('one', 301)]);
    expect(await live.settled(30_000)).toBe(true);
    expect(numbers(toy.messages('one'))).toEqual(upTo(301));
    expect(files(outbox)).not.toEqual([]);
    expect(await live.close()).toEqual([]);
    expect(files(outbox)).toEqual([]);
  },
);

verifies(
  ['LP-7', 'LP-8'],
  'repeatedly cut connections lose nothing: each message of many sessions arrives once, in order',
  async () => {
    const toy = new ToyCollector();
    const { live, socket } = setUp();
    toy.behaviour.cut_after = 17;
    await toy.listen(socket);
    const names = ['a', 'b', 'c'];
    const sessions = names.map((name) => live.open(name));
    for (const seq of upTo(100))
      for (const session of sessions) session.say([request(session.session_id, seq)]);
    expect(await live.settled(60_000)).toBe(true);
    for (const name of names) {
      expect(numbers(toy.messages(name))).toEqual(upTo(100));
      expect(
        toy.messages(name).every((message) => readText(JSON.stringify(message)).fault === null),
      ).toBe(true);
    }
    expect(toy.hellos.length).toBeGreaterThan(5);
    const resumed = toy.hellos.slice(1).map(({ data }) => data.resume);
    expect(resumed.every((resume) => names.includes(resume.session_id))).toBe(true);
  },
);

verifies('LP-7', 'unacknowledged messages are resent with growing delays', async () => {
  const toy = new ToyCollector();
  const { live, socket } = setUp({ times: { ...TIMES, resend_ms: 100 } });
  toy.behaviour.acks = false;
  const times: number[] = [];
  toy.behaviour.onMessage = ({ type }) => {
    if (type === 'tool_call_request') times.push(performance.now());
    return false;
  };
  await toy.listen(socket);
  const session = live.open('s');
  session.say([request('s', 1)]);
  await until(() => times.length === 4, 'three repetitions');
  expect(session.sender.done).toBe(false);
  const gaps = times.slice(1).map((at, i) => at - (times[i] as number));
  // 100, 200, 400, with a margin for a slow machine.
  expect((gaps[0] as number) > 50 && (gaps[1] as number) > 120 && (gaps[2] as number) > 250).toBe(
    true,
  );
  toy.behaviour.acks = true;
  expect(await session.sender.settled(30_000)).toBe(true);
  expect(toy.messages('s')).toHaveLength(1);
});

verifies('LP-10', 'without credits a sender stops, except for the session end', async () => {
  const toy = new ToyCollector();
  const { live, socket } = setUp({ times: { ...TIMES, resend_ms: 60_000 } });
  Object.assign(toy.behaviour, { credits: 5, replenish: false });
  let say: (type: string, data: object) => void = () => {};
  toy.behaviour.onMessage = (_, answer) => {
    say = answer;
    return false;
  };
  await toy.listen(socket);
  const long = live.open('long');
  for (const seq of upTo(8)) long.say([request('long', seq)]);
  await until(() => toy.messages('long').length === 5, 'all that credits allow');
  const short = live.open('short');
  short.say([end('short', 1)]);
  expect(await short.sender.settled(30_000)).toBe(true);
  expect(numbers(toy.messages('long'))).toEqual(upTo(5));
  // A new count replaces the previous one.
  say('flow_control', { available_credits: 2, capacity: 5 });
  await until(() => toy.messages('long').length === 7, 'two more');
  say('flow_control', { available_credits: 100, capacity: 5 });
  expect(await long.sender.settled(30_000)).toBe(true);
});

verifies(
  'LP-11',
  'a collector that misses three heartbeats is disconnected, and the session continues on the next connection',
  async () => {
    const toy = new ToyCollector();
    const { live, socket, notices } = setUp();
    Object.assign(toy.behaviour, { heartbeat_ms: 30, beats: false, acks: false });
    await toy.listen(socket);
    const session = live.open('s');
    session.say([request('s', 1)]);
    await until(() => toy.hellos.length >= 2, 'a second connection');
    expect(notices).toContainEqual(
      expect.objectContaining({ kind: 'lost', why: expect.stringContaining('heartbeats') }),
    );
    expect(toy.came.some(({ type }) => type === 'heartbeat')).toBe(true);
    expect(toy.hellos[1].data.resume).toEqual({ session_id: 's', last_seq: 0 });
    Object.assign(toy.behaviour, { beats: true, acks: true });
    session.say([end('s', 2)]);
    expect(await live.settled(30_000)).toBe(true);
    expect(numbers(toy.messages('s'))).toEqual([1, 2]);
  },
);

verifies('LP-14', 'session input is answered: accepted, or refused with a reason', async () => {
  const toy = new ToyCollector();
  const taken: Message[] = [];
  const onInput = (message: Message): InputReply => {
    if (message.type === 'interrupt') throw new Error('it broke');
    taken.push(message.data.content);
    return message.data.content === 'no'
      ? { taken: false, why: 'not now', state: 'busy', allowed: ['idle'] }
      : { taken: true };
  };
  const { live, socket } = setUp({ onInput });
  toy.behaviour.onMessage = ({ type }, say) => {
    if (type !== 'tool_call_request') return false;
    const ids = { session_id: 's', seq: null, correlation_id: null };
    say('user_input', { content: 'yes' }, { ...ids, message_id: 'm1' });
    say('user_input', { content: 'no' }, { ...ids, message_id: 'm2' });
    say('interrupt', { reason: null }, { ...ids, message_id: 'm3' });
    return false;
  };
  await toy.listen(socket);
  live.open('s').say([request('s', 1)]);
  const errors = () => toy.came.filter(({ type }) => type === 'error');
  await until(() => errors().length === 2, 'two refusals');
  expect(taken).toEqual(['yes', 'no']);
  expect(errors()[0]).toMatchObject({
    session_id: 's',
    seq: null,
    data: {
      error_code: 'INPUT_INJECTION_RESTRICTED',
      message: 'not now',
      retriable: true,
      details: {
        current_state: 'busy',
        allowed_states: ['idle'],
        attempted_input_type: 'user_input',
      },
      caused_by: { message_id: 'm2' },
    },
  });
  expect(errors()[1].data).toMatchObject({
    message: 'it broke',
    caused_by: { message_id: 'm3' },
  });
  expect(errors().every((error) => readText(JSON.stringify(error)).fault === null)).toBe(true);
});

verifies(
  'LP-17',
  'a clock difference of more than 100 ms is reported, at the handshake and at a heartbeat',
  async () => {
    const toy = new ToyCollector();
    const { live, socket, notices } = setUp();
    const skews = () => notices.filter((notice) => notice.kind === 'skew');
    Object.assign(toy.behaviour, { skew_ms: 5_000, heartbeat_ms: 50 });
    await toy.listen(socket);
    const session = live.open('s');
    session.say([request('s', 1)]);
    await until(() => skews().length === 1, 'word of it');
    expect(Math.abs((skews()[0]?.skew_ms ?? 0) - 5_000)).toBeLessThan(1_000);
    toy.behaviour.skew_ms = -9_000;
    await until(() => skews().length >= 2, 'word of the change');
    expect(Math.abs((skews().at(-1)?.skew_ms ?? 0) + 9_000)).toBeLessThan(1_000);
    // Never corrected: messages keep their own times.
    expect(toy.messages('s')[0].timestamp).toBe(request('s', 1).timestamp);
  },
);

verifies('LP-7', 'a wrong token is final, and unsent messages are kept', async () => {
  const toy = new ToyCollector();
  toy.behaviour.token = 'right';
  const { live, socket, outbox, state } = setUp({ token: 'wrong' });
  await toy.listen(socket);
  const session = live.open('s');
  session.say([end('s', 1)]);
  expect(await live.settled(30_000)).toBe(false);
  expect(session.sender.failure?.error_code).toBe('AUTH_FAILED');
  expect(await live.close()).toEqual([{ session_id: 's', messages: 1, refused: null, path: null }]);
  expect(toy.hellos).toHaveLength(1);
  const token_file = join(state, 'token');
  writeFileSync(token_file, 'right\n');
  chmodSync(token_file, 0o600);
  const better = new LiveSender({ url: `unix:${socket}`, token_file, outbox, times: TIMES });
  better.open('s');
  expect(await better.settled(30_000)).toBe(true);
  await better.close();
});

verifies(
  'LP-7',
  'a number that the collector has with other content is reported and kept aside; another session continues',
  async () => {
    const toy = new ToyCollector();
    const { live, socket, notices } = setUp();
    toy.stored.set('s', ['{"other":true}']);
    await toy.listen(socket);
    // The first session resumes after the collector's messages, the second by its number.
    const fine = live.open('fine');
    const bad = live.open('s');
    fine.say([request('fine', 1)]);
    bad.say([request('s', 1), end('s', 2)]);
    await live.settled(30_000);
    expect(bad.sender.failure?.error_code).toBe('DUPLICATE_CONFLICT');
    expect(notices).toContainEqual(expect.objectContaining({ session_id: 's', final: true }));
    fine.say([end('fine', 2)]);
    expect(await fine.sender.settled(30_000)).toBe(true);
    const [left] = await live.close();
    expect(left).toMatchObject({ session_id: 's', refused: expect.stringContaining('DUPLICATE') });
    expect(existsSync(left?.path ?? '')).toBe(true);
  },
);

verifies('LP-8', 'a collector that lost its messages gets all of them again', async () => {
  const toy = new ToyCollector();
  const { live, socket } = setUp();
  await toy.listen(socket);
  const session = live.open('s');
  for (const seq of upTo(100)) session.say([request('s', seq)]);
  expect(await live.settled(30_000)).toBe(true);
  toy.stored.clear();
  session.say([end('s', 101)]);
  expect(await live.settled(30_000)).toBe(true);
  expect(numbers(toy.messages('s'))).toEqual(upTo(101));
});

verifies(
  'LP-8',
  'the next sender delivers what an earlier one left, and an unreachable collector blocks no other',
  async () => {
    const toy = new ToyCollector();
    const { live, socket, state, outbox } = setUp();
    live.open('s').say([request('s', 1), end('s', 2)]);
    const away = new LiveSender({ url: `unix:${join(state, 'nobody')}`, outbox, times: TIMES });
    away.open('lost').say([end('lost', 1)]);
    expect(await live.close()).toMatchObject([{ session_id: 's', messages: 2 }]);
    await away.close();
    await toy.listen(socket);
    const delivering = deliver(state, { say() {} });
    await until(() => toy.messages('s').length === 2, 'delivery');
    const { delivered, left } = await delivering.finish(500);
    expect(delivered).toEqual([{ session_id: 's', messages: 2 }]);
    expect(left).toMatchObject([{ session_id: 'lost', messages: 1 }]);
    expect(files(outbox)).toHaveLength(1);
  },
);

verifies(
  'LP-8',
  'over a pair of named pipes, the line of a killed predecessor is ended, and two senders do not mix',
  async () => {
    const state = testFolder();
    const path = join(state, 'pipe');
    expect(spawnSync('mkfifo', ['-m', '600', `${path}.in`, `${path}.out`]).status).toBe(0);
    const { outbox } = livePaths(state);
    const live = new LiveSender({ url: `pipe:${path}`, outbox, times: TIMES });
    onTestFinished(() => void live.close());
    const session = live.open('s');
    session.say([request('s', 1), end('s', 2)]);
    const toy = new ToyCollector();
    const flags = constants.O_RDWR | constants.O_NONBLOCK;
    const reading = new Socket({
      fd: openSync(`${path}.in`, flags),
      readable: true,
      writable: false,
    });
    const writing = new Socket({
      fd: openSync(`${path}.out`, flags),
      readable: false,
      writable: true,
    });
    onTestFinished(() => void [reading.destroy(), writing.destroy()]);
    reading.write = writing.write.bind(writing);
    writing.write(`${JSON.stringify({ type: 'ack', data: 'of a predecessor' })}\n{"torn`);
    toy.serve(reading);
    expect(await live.settled(30_000)).toBe(true);
    expect(numbers(toy.messages('s'))).toEqual([1, 2]);
    const second = new LiveSender({ url: `pipe:${path}`, outbox, times: TIMES });
    second.open('other').say([end('other', 1)]);
    expect(await second.settled(300)).toBe(false);
    await live.close();
    expect(await second.settled(30_000)).toBe(true);
    await second.close();
  },
);

if (can('openssl', 'tests of TLS'))
  verifies(
    'LP-13',
    'over TLS, a collector with a certificate of the given CA is trusted, and any other is not',
    async () => {
      const state = testFolder();
      const [key, cert] = [join(state, 'key'), join(state, 'cert')];
      const make = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
      expect(spawnSync('openssl', make.split(' ')).status).toBe(0);
      const toy = new ToyCollector();
      const server = createTlsServer(
        { key: readFileSync(key), cert: readFileSync(cert) },
        (socket) => toy.serve(socket),
      );
      server.on('tlsClientError', () => {});
      onTestFinished(() => void server.close());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `tls://localhost:${(server.address() as AddressInfo).port}`;
      const { outbox } = livePaths(state);
      const notices: Notice[] = [];
      const onNotice = (notice: Notice) => void notices.push(notice);
      const wary = new LiveSender({ url, outbox, times: TIMES, onNotice });
      wary.open('s').say([end('s', 1)]);
      await until(() => notices.some(({ kind }) => kind === 'lost'), 'a refusal');
      await wary.close();
      expect(toy.came).toEqual([]);
      const live = new LiveSender({ url, ca: cert, outbox, times: TIMES });
      live.open('s');
      expect(await live.settled(30_000)).toBe(true);
      await live.close();
      expect(numbers(toy.messages('s'))).toEqual([1]);
    },
  );
