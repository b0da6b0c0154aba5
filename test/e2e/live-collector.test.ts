/** A collector with many peers: credits, slow readers, limits, heartbeats, clocks, input, and isolation. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { serve } from '../../src/app/live/serve.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { acks, control, isError, isType, message, request } from '../live-client.ts';
import { many, running, start, subscribe, subscribed } from '../live-running.ts';
import { until } from './cli.ts';
import { verifies } from './verifies.ts';

verifies(
  'LP-10',
  'credits are renewed when half are used up, and a sender that respects them gets no error',
  async () => {
    const { connect } = await running({ limits: { credits: 16 } });
    const client = await connect();
    const { data } = await client.handshake();
    expect(data.credits).toBe(16);
    let left = 16;
    let seen = 0;
    for (const one of many('s', 1, 400)) {
      const credits = () => {
        for (; seen < client.received.length; seen++) {
          const got = client.received[seen];
          if (got.type === 'flow_control') left = got.data.available_credits;
        }
        return left;
      };
      if (credits() === 0) await until(() => credits() > 0, 'credits');
      left -= 1;
      client.send(one);
    }
    await client.wait(acks('s', 400));
    expect(client.received.filter(isError('CAPACITY_EXHAUSTED'))).toEqual([]);
    const given = client.received.filter(isType('flow_control'));
    expect(given.length).toBeGreaterThan(10);
    for (const { data: one } of given) expect(one).toMatchObject({ capacity: 16 });
  },
);

verifies(
  'LP-10',
  'a sender that ignores its credits gets an error, is not read until there is room, and loses nothing',
  async () => {
    const { connect, collector } = await running({ limits: { credits: 4 } });
    const client = await connect();
    await client.handshake();
    const sent = many('s', 1, 3000);
    client.send(sent.map((one) => `${JSON.stringify(one)}\n`).join(''));
    client.send(message('session_end', 's', 3001, { status: 'ok' }));
    await client.wait(acks('s', 3001));
    const errors = client.received.filter(isError('CAPACITY_EXHAUSTED'));
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0].data).toMatchObject({ severity: 'warning', details: { max_capacity: 4 } });
    expect(errors[0].data.message).toMatch(/no credits left/);
    expect(collector.counters.stored).toBe(3001);
  },
);

verifies(
  ['LP-10', 'LP-15'],
  'a subscriber that never reads slows no other; when it reads, it learns how far it was behind and gets everything once, in order',
  async () => {
    const { connect, collector } = await running({ limits: { behind_ms: 50 } });
    const sleepy = await connect();
    await sleepy.handshake({ role: 'client' });
    await subscribed(sleepy);
    sleepy.pause();
    const awake = await connect();
    await awake.handshake({ role: 'client' });
    await subscribed(awake);
    const sender = await connect();
    await sender.handshake();
    const pad = 'x'.repeat(20_000);
    const COUNT = 400;
    for (let seq = 1; seq <= COUNT; seq++)
      sender.send(message('tool_call_response', 's', seq, { call_id: 'c', result: pad }));
    await sender.wait(acks('s', COUNT));
    await awake.wait(({ seq }) => seq === COUNT);
    expect(sleepy.received.filter(({ seq }) => seq === COUNT)).toEqual([]);
    // Beyond the socket buffers at the time it stopped.
    sender.send(...many('s', COUNT + 1, 50));
    await sender.wait(acks('s', COUNT + 50));
    await new Promise((done) => setTimeout(done, 60));
    sleepy.resume();
    const error = await sleepy.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data.severity).toBe('warning');
    expect(error.data.details.pending_messages).toBeGreaterThanOrEqual(50);
    await sleepy.wait(({ seq }) => seq === COUNT + 50);
    const numbers = sleepy.received.filter(({ seq }) => seq > 0).map(({ seq }) => seq);
    expect(numbers).toEqual(Array.from({ length: COUNT + 50 }, (_, i) => i + 1));
    expect(collector.counters.stored).toBe(COUNT + 50);
  },
);

verifies(
  'LP-11',
  'both ends send heartbeats; a peer that misses three is disconnected, and its sessions are lost and can be resumed',
  async () => {
    const { connect } = await running({ limits: { heartbeat_ms: 100 } });
    const watcher = await connect();
    await watcher.handshake({ role: 'client' });
    await subscribed(watcher);
    const beat = setInterval(() => watcher.send(control('heartbeat', {})), 50);
    onTestFinished(() => clearInterval(beat));
    const agent = await connect();
    await agent.handshake();
    agent.send(start('s'));
    await agent.wait(acks('s', 1));
    await agent.wait(isType('heartbeat'));
    await agent.wait(isError('CONNECTION_TIMEOUT'));
    await agent.closed;
    const state = await watcher.wait(
      (one) => one.type === 'session_state' && one.data.status === 'lost',
    );
    expect(state).toMatchObject({ session_id: 's', data: { last_seq: 1 } });
    const again = await connect();
    const { data } = await again.handshake({ resume: { session_id: 's', last_seq: 1 } });
    expect(data.resume_from_seq).toBe(2);
    again.send(request('s', 2));
    await again.wait(acks('s', 2));
    expect(watcher.received.filter(isError('CONNECTION_TIMEOUT'))).toEqual([]);
  },
);

verifies(
  'LP-11',
  'only resuming takes a session over from another connection, and the older one gets an error',
  async () => {
    const { connect } = await running();
    const first = await connect();
    const second = await connect();
    await first.handshake();
    await second.handshake();
    first.send(start('s'));
    await first.wait(acks('s', 1));
    second.send(request('s', 2));
    const collision = await second.wait(isError('SESSION_COLLISION'));
    expect(collision.data.caused_by).toMatchObject({ message_id: 's-2', seq: 2 });
    const { data } = await second.handshake({ resume: { session_id: 's', last_seq: 1 } });
    expect(data.resume_from_seq).toBe(2);
    await first.wait(isError('SESSION_COLLISION'));
    second.send(request('s', 2));
    await second.wait(acks('s', 2));
    const from = first.received.length;
    first.send(request('s', 3));
    await first.wait(isError('SESSION_COLLISION'), 'a second collision', from);
  },
);

verifies(
  'LP-11',
  'a session continues without resuming when the earlier connection has closed its side',
  async () => {
    const { connect } = await running();
    const first = await connect();
    await first.handshake();
    first.send(start('s'));
    await first.wait(acks('s', 1));
    first.end();
    await first.closed;
    const second = await connect();
    await second.handshake();
    second.send(request('s', 2));
    await second.wait(acks('s', 2));
    expect(second.received.filter(isError('SESSION_COLLISION'))).toEqual([]);
  },
);

verifies(
  ['LP-11', 'LP-15'],
  'a collector that was stalled itself disconnects no peer for it',
  async () => {
    const { connect } = await running({ limits: { heartbeat_ms: 100 } });
    const client = await connect();
    await client.handshake();
    const end = performance.now() + 1_000;
    while (performance.now() < end);
    client.send(start('s'));
    await client.wait(acks('s', 1));
    expect(client.received.filter(isError('CONNECTION_TIMEOUT'))).toEqual([]);
  },
);

verifies(
  'LP-17',
  'a clock difference of more than 100 ms is reported once and counted, and nothing is corrected',
  async () => {
    const { connect, collector, folder } = await running();
    const client = await connect();
    const past = new Date(Date.now() - 60_000).toISOString();
    await client.handshake({}, { timestamp: past });
    const error = await client.wait(isError('INVALID_MESSAGE_FORMAT'));
    expect(error.data).toMatchObject({
      severity: 'warning',
      details: { reason: 'clock_skew', max_skew_ms: 100 },
    });
    expect(error.data.details.clock_skew_ms).toBeLessThan(-59_000);
    client.send(
      control('heartbeat', {}, { timestamp: new Date(Date.now() + 5_000).toISOString() }),
    );
    await client.wait(({ type, data }) => type === 'error' && data.details.clock_skew_ms > 1_000);
    expect(collector.counters.skewed).toBe(2);
    const old = { ...start('s'), timestamp: past };
    client.send(old);
    await client.wait(acks('s', 1));
    for await (const { body } of readSession(join(folder, 'state/live/journal'), 's'))
      expect(body).toBe(JSON.stringify(old));
  },
);

verifies(
  'LP-16',
  'every exceeded limit of a collector is an error and a counter, and the connection continues',
  async () => {
    const { connect, collector } = await running({
      limits: { connections_max: 2, sessions_max: 2, open_calls_max: 2, subscriptions_max: 1 },
    });
    const client = await connect();
    await client.handshake();
    client.send(start('a'), start('b'), start('c'));
    const full = await client.wait(isError('CAPACITY_EXHAUSTED'));
    expect(full.data).toMatchObject({
      retriable: true,
      caused_by: { message_id: 'c-1' },
      details: { max_capacity: 2 },
    });
    client.send(...many('a', 2, 3));
    const calls = await client.wait(
      (one) => one.type === 'error' && /open calls/.test(one.data.message),
    );
    expect(calls.data).toMatchObject({ severity: 'warning', caused_by: { message_id: 'a-4' } });
    await client.wait(acks('a', 4));
    const second = await connect();
    await second.handshake({ role: 'client' });
    second.send(subscribe(), subscribe());
    await second.wait((one) => one.type === 'error' && /subscriptions/.test(one.data.message));
    second.send(control('unsubscribe_events', {}));
    const session_ids = Array.from({ length: 70 }, (_, i) => `${i}${'x'.repeat(1_000)}`);
    second.send(subscribe({ session_ids }));
    await second.wait((one) => one.type === 'error' && /a filter may have/.test(one.data.message));
    const third = await connect();
    await third.wait(isError('CAPACITY_EXHAUSTED'));
    await third.closed;
    client.send(message('session_end', 'b', 2, { status: 'ok' }));
    await client.wait(acks('b', 2));
    client.send(start('c'));
    await client.wait(acks('c', 1));
    expect(collector.counters.limits).toEqual({
      connections_max: 1,
      sessions_max: 1,
      open_calls_max: 1,
      subscriptions_max: 1,
    });
    const odd = [
      { ...start('x'.repeat(2000)), message_id: 'long' },
      { ...request('a', 5), seq: 1e300 },
    ];
    client.send(...odd);
    const from = client.received.length;
    await client.wait(
      (one) => isError('INVALID_FIELD_TYPE')(one) && /session_id/.test(one.data.message),
      'session_id',
    );
    await client.wait(
      (one) => isError('INVALID_FIELD_TYPE')(one) && /seq/.test(one.data.message),
      'seq',
      from,
    );
  },
);

verifies('LP-16', 'a call without activity is given up, counted and reported', async () => {
  const { connect, collector } = await running({
    limits: { abandoned_ms: 200, heartbeat_ms: 400 },
  });
  const client = await connect();
  await client.handshake();
  const watcher = await connect();
  await watcher.handshake({ role: 'client' });
  await subscribed(watcher);
  const beat = setInterval(() => {
    for (const one of [client, watcher]) one.send(control('heartbeat', {}));
  }, 100);
  onTestFinished(() => clearInterval(beat));
  client.send(start('s'), request('s', 2, 'stuck'));
  const state = await watcher.wait((one) => one.data.abandoned_calls !== undefined);
  expect(state).toMatchObject({
    type: 'session_state',
    session_id: 's',
    data: {
      status: 'active',
      open_calls: [],
      counters: { abandoned: 1 },
      abandoned_calls: ['stuck'],
    },
  });
  expect(collector.counters.abandoned_calls).toBe(1);
});

verifies(
  ['LP-15', 'LP-16'],
  'a peer that stops in the middle of a message, a silent one, and one that sends garbage and never reads disturb no other peer',
  async () => {
    const { connect, collector } = await running({
      limits: { hello_ms: 300, backlog_bytes_max: 64 * 1024 },
    });
    const half = await connect();
    await half.handshake();
    half.send('{"type":"session_start","timest');
    const silent = await connect();
    const deaf = await connect();
    await deaf.handshake();
    deaf.pause();
    for (let i = 0; i < 200; i++) deaf.send('rubbish\n'.repeat(1000));
    const good = await connect();
    await good.handshake();
    good.send(...many('good', 1, 500));
    await good.wait(acks('good', 500));
    await silent.wait(isError('CONNECTION_TIMEOUT'));
    await silent.closed;
    // Reading stops once its answers queue up: not all of its lines were read.
    expect(collector.counters.messages).toBeLessThan(100_000);
    deaf.destroy();
    half.destroy();
    good.send(request('good', 501));
    await good.wait(acks('good', 501));
  },
);

verifies(
  'LP-16',
  'a thousand idle connections are held while an active one is served',
  async () => {
    const { connect, collector } = await running();
    const before = process.memoryUsage().rss;
    for (let open = 50; open <= 1000; open += 50) {
      await Promise.all(Array.from({ length: 50 }, () => connect()));
      await until(() => collector.open === open, `${open} connections`);
    }
    const client = await connect();
    await client.handshake();
    client.send(...many('s', 1, 100));
    await client.wait(acks('s', 100));
    expect(collector.open).toBe(1001);
    // Both ends are in this process.
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  },
);

verifies(
  'LP-14',
  "input reaches the session's agent unchanged, and its refusal is sent back; without an agent, input is refused",
  async () => {
    const { connect } = await running();
    const agent = await connect();
    const person = await connect();
    await agent.handshake();
    await person.handshake({ role: 'client' });
    const input = (session_id: string, message_id: string) =>
      control('user_input', { content: 'continue' }, { session_id, message_id });
    person.send(input('nobody', 'i-1'));
    const none = await person.wait(isError('INPUT_INJECTION_RESTRICTED'));
    expect(none.data).toMatchObject({
      caused_by: { message_id: 'i-1' },
      details: { current_state: 'unknown', attempted_input_type: 'user_input' },
    });
    agent.send(start('s'));
    await agent.wait(acks('s', 1));
    const asked = input('s', 'i-2');
    person.send(asked);
    expect(await agent.wait(isType('user_input'))).toEqual(asked);
    const data = {
      error_code: 'INPUT_INJECTION_RESTRICTED',
      message: 'this agent takes no input',
      severity: 'error',
      retriable: false,
      caused_by: { message_id: 'i-2' },
    };
    agent.send(control('error', data, { session_id: 's' }));
    const answer = await person.wait((one) => one.data.message === data.message);
    expect(answer.data).toEqual(data);
  },
);

verifies(
  'LP-7',
  'a stopping collector acknowledges what it has, and a state folder has one collector',
  async () => {
    const { connect, folder, stop } = await running();
    const other = serve({ state_dir: join(folder, 'state'), version: '0' });
    await expect(other).rejects.toThrow(/the collector of .* is in use by/);
    const client = await connect();
    await client.handshake();
    client.send(...many('s', 1, 200));
    await client.wait(acks('s', 1));
    await stop();
    await client.closed;
    const acked = Math.max(
      ...client.received.filter(isType('ack')).map(({ data }) => data.acked[0].seq),
    );
    let stored = 0;
    for await (const { seq } of readSession(join(folder, 'state/live/journal'), 's')) stored = seq;
    expect(stored).toBe(acked);
    expect(existsSync(join(folder, 'state/live/collector.sock'))).toBe(false);
    expect(existsSync(join(folder, 'state/live/collector.lock'))).toBe(false);
    expect(readFileSync(join(folder, 'state/live/.gitignore'), 'utf8')).toBe('*\n');
  },
);
