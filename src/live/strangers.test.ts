/** How a collector treats untrusted peers, over streams in memory. */
import { duplexPair } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import {
  acks,
  clientOf,
  control,
  isError,
  isType,
  type LiveClient,
  message,
  request,
} from '../../test/live-client.ts';
import { Collector } from './collector/collector.ts';
import type { AppendResult, CollectorLimits, StoredMessage } from './collector/options.ts';

interface Running {
  collector: Collector;
  /** Texts that the rules have seen. */
  judged: string[];
  refused: string[];
  /** Sessions that a peer has begun or stopped to send for. */
  held: [string, boolean][];
  /** Sessions that were read from the journal. */
  read: string[];
  /** While true, nothing can be stored. */
  disk: { full: boolean };
  connect(own?: boolean): LiveClient;
  greeted(own?: boolean, data?: object): Promise<LiveClient>;
}

/** The clock does not move by default: nothing stalls, and no heartbeat is due. */
function running(limits: Partial<CollectorLimits> = {}, elapsed = () => 0): Running {
  const judged: string[] = [];
  const refused: string[] = [];
  const held: [string, boolean][] = [];
  const read: string[] = [];
  const disk = { full: false };
  const stored = new Map<string, StoredMessage[]>();
  const collector = new Collector({
    journal: {
      batch(onPlaced) {
        if (disk.full) {
          const answer = Promise.reject(new Error('no space left'));
          return { answer, put: () => {} };
        }
        const results: AppendResult[] = [];
        return {
          answer: Promise.resolve(results),
          put(entry) {
            const before = stored.get(entry.session) ?? [];
            const result = entry.seq === before.length + 1 ? 'stored' : 'gap';
            const { session, source, seq } = entry;
            const kept = { session, source, seq, body: entry.body.toString() };
            if (result === 'stored') stored.set(session, [...before, kept]);
            results.push(result);
            onPlaced(entry, result);
          },
        };
      },
      lastSeq: async (session) => stored.get(session)?.length ?? 0,
    },
    reader: {
      async *follow() {},
      async *session(id) {
        read.push(id);
        yield* stored.get(id) ?? [];
      },
    },
    clock: { now: () => Date.now(), elapsed },
    newSessionId: () => 'new',
    version: '0',
    tokens: null,
    board: {
      take: ({ text }) => void judged.push(text),
      sent: () => {},
      refused: (code) => void refused.push(code),
      held: (id, is_held) => void held.push([id, is_held]),
    },
    limits,
  });
  const clients: LiveClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    await collector.stop();
  });
  const connect = (own = false) => {
    const [ours, theirs] = duplexPair();
    const client = clientOf(theirs, theirs);
    clients.push(client);
    // Like a socket.
    theirs.on('close', () => ours.destroy());
    collector.accept({ stream: ours, peer: 'memory', private: own, waited_ms: 0 });
    return client;
  };
  const greeted = async (own = false, data: object = {}) => {
    const client = connect(own);
    await client.handshake(data);
    return client;
  };
  return { collector, judged, refused, held, read, disk, connect, greeted };
}

/** The first part of a message, longer than a short line, and the rest. */
function halves(session: string): [string, string] {
  const data = { agent: 'toy', prompt: 'x'.repeat(100_000) };
  const text = `${JSON.stringify(message('session_start', session, 1, data))}\n`;
  return [text.slice(0, -50), text.slice(-50)];
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

verifies(
  'LP-16',
  'a stranger that sends no complete line is refused after some bytes',
  async () => {
    const { collector, connect } = running({ hello_bytes_max: 1_000 });
    const stranger = connect();
    stranger.send('x'.repeat(900));
    await turn();
    expect(stranger.received).toEqual([]);
    stranger.send('x'.repeat(200));
    expect((await stranger.wait(isError('AUTH_FAILED'))).data.message).toMatch(/1000 bytes/);
    await stranger.closed;
    expect(collector.counters.limits.hello_bytes_max).toBe(1);
  },
);

verifies(
  'LP-16',
  'consecutive invalid lines end a connection, unless a valid one is between them',
  async () => {
    const { collector, greeted } = running({ faulty_lines_max: 5 });
    const honest = await greeted();
    for (let i = 0; i < 4; i++) honest.send('x\n'.repeat(5), request('s', i + 1));
    await honest.wait(acks('s', 4));
    expect(collector.counters.limits.faulty_lines_max).toBeUndefined();
    const noisy = await greeted();
    noisy.send('x\n'.repeat(6));
    await noisy.wait(isError('INVALID_MESSAGE_FORMAT'));
    await noisy.closed;
    expect(collector.counters.limits.faulty_lines_max).toBe(1);
  },
);

verifies(
  ['LP-15', 'LP-16'],
  'long lines beyond the waiting limit are refused once, and the next lines are read',
  async () => {
    const { collector, greeted } = running({
      long_lines_max: 1,
      long_lines_private: 0,
      long_lines_waiting_max: 2,
      message_bytes_max: 200_000,
    });
    const { limits } = collector.counters;
    const some = [];
    for (const name of ['a', 'b', 'c']) {
      const client = await greeted();
      client.send(halves(name)[0]);
      some.push(client);
    }
    while ((limits.long_lines_max ?? 0) < 2) await turn();
    const fourth = await greeted();
    fourth.send(halves('d')[0]);
    const error = await fourth.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data).toMatchObject({ retriable: true, message: expect.stringMatching(/wait/) });
    expect(limits.long_lines_waiting_max).toBe(1);
    // The end of the refused line is not another fault; a line over the limit is.
    fourth.send(halves('d')[1], request('d', 1));
    await fourth.wait(acks('d', 1));
    expect(fourth.received.filter(({ type }) => type === 'error')).toHaveLength(1);
    fourth.send(`${'x'.repeat(300_000)}\n`);
    await fourth.wait(isError('MESSAGE_TOO_LARGE'));
    for (const client of some)
      expect(client.received.filter(({ type }) => type === 'error')).toEqual([]);
  },
);

verifies('LP-15', 'the place of a long line is free when its connection has closed', async () => {
  for (const own of [false, true]) await takesThePlace(own);
});

async function takesThePlace(own: boolean): Promise<void> {
  const { collector, greeted } = running({ long_lines_max: 1, long_lines_private: 0 });
  const first = await greeted(own);
  first.send(halves('a')[0]);
  await turn();
  const second = await greeted(own);
  second.send(halves('b')[0]);
  while (collector.counters.limits.long_lines_max === undefined) await turn();
  second.send(halves('b')[1]);
  await turn();
  expect(second.received.some(acks('b', 1))).toBe(false);
  first.destroy();
  await second.wait(acks('b', 1));
}

verifies(
  'LP-15',
  'a long line that arrives byte by byte loses its place to a waiting one',
  async () => {
    const limits = { long_lines_max: 1, long_lines_private: 0 };
    const { collector, greeted } = running(limits, () => performance.now());
    const slow = await greeted();
    slow.send(halves('a')[0]);
    const timer = setInterval(() => slow.send('x'), 100);
    onTestFinished(() => clearInterval(timer));
    await turn();
    const other = await greeted();
    const [first, rest] = halves('b');
    other.send(first);
    while (collector.counters.limits.long_lines_max === undefined) await turn();
    other.send(rest);
    await other.wait(acks('b', 1));
    const error = await slow.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data.message).toMatch(/not finished in time while others waited/);
  },
);

verifies('LP-16', 'a peer that does not read is not read from until it does', async () => {
  const { collector, greeted } = running({ backlog_bytes_max: 100_000 });
  const deaf = await greeted();
  deaf.pause();
  for (let i = 0; i < 100; i++) deaf.send('x\n'.repeat(50));
  await turn();
  expect(collector.counters.messages).toBeLessThan(3_000);
  deaf.resume();
  while (collector.counters.messages < 5_001) await turn();
});

verifies('LP-16', 'when the total backlog is large, each peer gets fewer errors', async () => {
  const { collector, greeted } = running({ backlog_all_bytes_max: 1_000 });
  const deaf = await greeted();
  deaf.pause();
  for (let i = 0; i < 10; i++) deaf.send('x\n'.repeat(200));
  while ((collector.counters.errors.INVALID_JSON_FORMAT ?? 0) < 2_000) await turn();
  expect(collector.counters.limits.backlog_bytes_max).toBeGreaterThan(500);
});

verifies(
  'LP-15',
  'the oldest stranger without a handshake is dropped, and no private connection',
  async () => {
    const { collector, connect } = running({ ungreeted_max: 2 });
    const own = connect(true);
    const strangers = [connect(), connect(), connect()];
    await strangers[0]?.wait(isError('CAPACITY_EXHAUSTED'));
    await strangers[0]?.closed;
    expect(collector.counters.limits.ungreeted_max).toBe(1);
    for (const client of [own, ...strangers.slice(1)])
      expect((await client.handshake()).data.success).toBe(true);
  },
);

verifies(
  ['LP-15', 'CF-4'],
  'a faulty line without a session is judged only when its peer sends for a session',
  async () => {
    const { judged, refused, greeted } = running();
    const agent = await greeted();
    const person = await greeted(true, { role: 'client' });
    for (const client of [agent, person]) {
      client.send('no JSON\n');
      await client.wait(isError('INVALID_JSON_FORMAT'));
    }
    expect([judged.filter((text) => text.includes('no JSON')), refused]).toEqual([
      [],
      ['INVALID_JSON_FORMAT', 'INVALID_JSON_FORMAT'],
    ]);
    agent.send(request('s', 1));
    await agent.wait(acks('s', 1));
    const before = agent.received.length;
    agent.send('no JSON\n');
    await agent.wait(isError('INVALID_JSON_FORMAT'), 'an error', before);
    expect(judged.filter((text) => text.includes('no JSON'))).toHaveLength(1);
    expect(refused).toHaveLength(2);
  },
);

const start = (session: string, seq = 1) =>
  message('session_start', session, seq, { agent: 'toy' });
const end = (session: string, seq: number) =>
  message('session_end', session, seq, { status: 'ok' });
const last = (client: LiveClient) => client.received.at(-1);

verifies(
  ['LP-15', 'LP-16'],
  'a stranger may open a quarter of the sessions, and all strangers together leave some for the owner',
  async () => {
    // Strangers may open six in total, and two each.
    const { collector, greeted } = running({ sessions_max: 8 });
    const strangers = [await greeted(), await greeted(), await greeted()];
    for (const [at, client] of strangers.entries()) {
      // Ended sessions do not count, unless they start again.
      client.send(start(`e${at}`), end(`e${at}`, 2), start(`${at}.1`), start(`${at}.2`));
      await client.wait(acks(`${at}.2`, 1));
      client.send(start(`e${at}`, 3));
      const error = await client.wait(isError('CAPACITY_EXHAUSTED'));
      expect(error.data).toMatchObject({
        message: '2 sessions of this connection are open: end one first',
        details: { current_capacity: 2, max_capacity: 2 },
      });
    }
    const fourth = await greeted();
    fourth.send(start('x'));
    const error = await fourth.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data.details).toEqual({ current_capacity: 6, max_capacity: 8 });
    const owner = await greeted(true);
    owner.send(start('own.1'), start('own.2'), start('own.3'));
    await owner.wait(acks('own.2', 1));
    await owner.wait(isError('CAPACITY_EXHAUSTED'));
    expect(collector.counters.limits.sessions_max).toBe(5);
    strangers[0]?.destroy();
    while (collector.open > 4) await turn();
    owner.send(start('own.3'));
    await owner.wait(acks('own.3', 1));
    // An abandoned session is open again when a peer resumes it.
    strangers[1]?.send(request('0.1', 2));
    await strangers[1]?.wait(() => collector.counters.limits.sessions_max === 6);
    expect(last(strangers[1] as LiveClient).data.message).toMatch(/of this connection/);
  },
);

verifies('LP-16', 'a session is still open when its end was not stored', async () => {
  // A stranger may open two.
  const { disk, greeted } = running({ sessions_max: 8 });
  const answerTo = async (client: LiveClient, session: string) => {
    const from = client.received.length;
    client.send(start(session));
    const is = (one: object) => acks(session, 1)(one) || isError('CAPACITY_EXHAUSTED')(one);
    return (await client.wait(is, 'an answer', from)).data.message;
  };
  const stranger = await greeted();
  stranger.send(start('a'), start('b'));
  await stranger.wait(acks('b', 1));
  stranger.send(end('a', 9));
  await stranger.wait(isError('INVALID_MESSAGE_FORMAT'));
  expect(await answerTo(stranger, 'c')).toMatch(/^2 sessions of this connection/);
  disk.full = true;
  const from = stranger.received.length;
  stranger.send(end('b', 2));
  const refusal = await stranger.wait(isError('CAPACITY_EXHAUSTED'), 'an error', from);
  expect(refusal.data.message).toBe('not stored: no space left');
  disk.full = false;
  expect(await answerTo(stranger, 'd')).toMatch(/^2 sessions of this connection/);
});

verifies(
  ['LP-11', 'LP-15'],
  'a session is resumed when there is a place for it, and its own place counts',
  async () => {
    // Strangers may open three in total, and one each.
    const { collector, greeted, connect } = running({ sessions_max: 4 });
    for (const session of ['a', 'b', 'c']) {
      const client = await greeted();
      client.send(start(session));
      await client.wait(acks(session, 1));
    }
    const resumed = (session_id: string) =>
      connect().handshake({ resume: { session_id, last_seq: 0 } });
    const refused = (await resumed('d')).data;
    expect([refused.success, refused.error]).toEqual([
      false,
      { error_code: 'CAPACITY_EXHAUSTED', message: '3 sessions are open: end one first' },
    ]);
    expect(collector.counters.limits.sessions_max).toBe(1);
    expect((await resumed('a')).data).toMatchObject({ success: true, resume_from_seq: 2 });
  },
);

verifies(
  'LP-16',
  'sessions that only the journal knows take no place of open sessions',
  async () => {
    // A private connection may have four open calls.
    const { collector, read, greeted } = running({ sessions_max: 2, calls_max: 16 });
    const agent = await greeted(true);
    agent.send(start('old'), request('old', 2), request('old', 3));
    await agent.wait(acks('old', 3));
    agent.destroy();
    while (collector.open > 0) await turn();
    const other = await greeted(true);
    other.send(start('x'), start('y'));
    await other.wait(acks('y', 1));
    const person = await greeted(true, { role: 'client' });
    const state = async (types: string[]) => {
      const from = person.received.length;
      const filter = { session_ids: ['old'], types };
      person.send(control('subscribe_events', { filter }));
      const { data } = await person.wait(isType('session_state'), 'a state', from);
      return [data.status, data.open_calls];
    };
    // Each filter is a separate subscription.
    const filters = [['ack'], ['error'], ['heartbeat'], ['session_end']];
    for (const more of filters)
      expect(await state(['session_state', ...more])).toEqual(['lost', ['c2', 'c3']]);
    expect([read, collector.counters.limits.calls_max]).toEqual([
      filters.map(() => 'old'),
      undefined,
    ]);
    // When another session can be forgotten, it is read only once.
    other.destroy();
    while (collector.open > 1) await turn();
    for (const more of [['input'], ['session_start']])
      expect(await state(['session_state', ...more])).toEqual(['lost', ['c2', 'c3']]);
    expect(read).toHaveLength(filters.length + 1);
  },
);

verifies(
  ['LP-15', 'LP-16'],
  'open calls share one room: a stranger has a part of it, and returns it',
  async () => {
    // Strangers have room for twelve in total, and three each; a private connection for four.
    const { collector, greeted } = running({ calls_max: 16, sessions_max: 3 });
    const { limits } = collector.counters;
    const calls = (session: string, from: number, count: number) =>
      Array.from({ length: count }, (_, at) => request(session, from + at));
    const stranger = await greeted();
    stranger.send(start('s'), ...calls('s', 2, 5));
    await stranger.wait(acks('s', 6));
    const error = await stranger.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data).toMatchObject({
      severity: 'warning',
      message: 'the collector has too many open calls: further calls are stored but not tracked',
    });
    expect(limits.calls_max).toBe(2);
    const owner = await greeted(true);
    owner.send(start('own'), ...calls('own', 2, 4));
    await owner.wait(acks('own', 5));
    expect(limits.calls_max).toBe(2);
    const answer = { call_id: 'c2', result: {}, execution_time_ms: 1 };
    stranger.send(message('tool_call_response', 's', 7, answer), request('s', 8));
    await stranger.wait(acks('s', 8));
    expect(limits.calls_max).toBe(2);
    stranger.send(end('s', 9), start('t'), ...calls('t', 2, 3));
    await stranger.wait(acks('t', 4));
    expect(limits.calls_max).toBe(2);
  },
);

verifies('LP-16', 'a session is warned once of too many open calls, until one fits', async () => {
  const { collector, greeted } = running({ calls_max: 16 });
  const stranger = await greeted();
  const warned = () => stranger.received.filter(isError('CAPACITY_EXHAUSTED')).length;
  stranger.send(start('s'), ...[2, 3, 4, 5, 6, 7].map((seq) => request('s', seq)));
  await stranger.wait(acks('s', 7));
  expect([collector.counters.limits.calls_max, warned()]).toEqual([3, 1]);
  const answer = { call_id: 'c2', result: {}, execution_time_ms: 1 };
  stranger.send(message('tool_call_response', 's', 8, answer));
  stranger.send(...[9, 10, 11].map((seq) => request('s', seq)));
  await stranger.wait(acks('s', 11));
  expect([collector.counters.limits.calls_max, warned()]).toEqual([5, 2]);
});

verifies('LP-16', 'the ids of open calls share one room', async () => {
  const { collector, greeted } = running({ call_chars_max: 1_600 });
  const stranger = await greeted();
  // A quarter of three quarters: 300 characters.
  const long = (seq: number) => request('s', seq, `${seq}`.padEnd(100, 'x'));
  stranger.send(start('s'), long(2), long(3), long(4), long(5));
  await stranger.wait(acks('s', 5));
  expect(collector.counters.limits.calls_max).toBe(1);
});

verifies('LP-16', 'sessions without a sender are forgotten with their open calls', async () => {
  const { collector, greeted } = running({ calls_max: 16, sessions_max: 4 });
  for (let at = 0; at < 20; at++) {
    const client = await greeted();
    client.send(start(`s${at}`), request(`s${at}`, 2), request(`s${at}`, 3));
    await client.wait(acks(`s${at}`, 3));
    client.destroy();
    while (collector.open > 0) await turn();
  }
  expect(collector.counters.limits.calls_max).toBeUndefined();
});

verifies(['LP-15', 'CF-4'], 'the rules know which sessions a peer sends for', async () => {
  const { collector, held, greeted } = running();
  const first = await greeted();
  first.send(start('s'));
  await first.wait(acks('s', 1));
  first.destroy();
  while (collector.open > 0) await turn();
  await greeted(false, { resume: { session_id: 's', last_seq: 1 } });
  expect(held).toEqual([
    ['s', true],
    ['s', false],
    ['s', true],
  ]);
});
