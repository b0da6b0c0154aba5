/** Peers that follow the protocol badly or oddly: roles, their own credits, clocks, silence. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { serve } from '../../src/app/live/serve.ts';
import { testFolder } from '../fixtures/folder.ts';
import {
  acks,
  connectSocket,
  control,
  isError,
  type LiveClient,
  type Message,
  message,
  request,
} from '../live-client.ts';
import { confirms, many, running, start, subscribe, subscribed } from '../live-running.ts';
import { until } from './cli.ts';
import { verifies } from './verifies.ts';

verifies('LP-1', 'a message of the other role is refused and not stored', async () => {
  const { connect, collector } = await running();
  const agent = await connect();
  await agent.handshake();
  agent.send(start('s'));
  await agent.wait(acks('s', 1));
  const watcher = await connect();
  await watcher.handshake({ role: 'client' });
  const wrong: [LiveClient, Message][] = [
    [watcher, request('forged', 1)],
    [watcher, message('session_end', 's', 2, { status: 'ok' })],
    [agent, control('user_input', { content: 'x' }, { session_id: 's' })],
    [agent, control('interrupt', {}, { session_id: 's' })],
  ];
  for (const [client, one] of wrong) {
    client.send(one);
    const { data } = await client.wait(
      (got) => got.type === 'error' && got.data.caused_by?.message_id === one.message_id,
    );
    expect(data).toMatchObject({ error_code: 'AUTH_FAILED', severity: 'error' });
    expect(data.message).toMatch(new RegExp(`^only the role .* may send ${one.type}`));
  }
  // With a single connection, an agent may read as well.
  await subscribed(agent);
  agent.send(request('s', 2));
  await agent.wait(acks('s', 2));
  expect(collector.counters.stored).toBe(2);
});

verifies(
  'LP-10',
  'a subscriber that limits its messages is sent no more; urgent messages pass',
  async () => {
    const { connect } = await running();
    const watcher = await connect();
    await watcher.handshake({ role: 'client' });
    const room = (available_credits: number) =>
      watcher.send(control('flow_control', { available_credits, capacity: 10 }));
    room(3);
    await subscribed(watcher);
    const free = await connect();
    await free.handshake({ role: 'client' });
    await subscribed(free);
    const agent = await connect();
    await agent.handshake();
    agent.send(...many('s', 1, 9), message('session_end', 's', 10, { status: 'ok' }));
    await free.wait(({ seq }) => seq === 10);
    const got = () => watcher.received.filter(({ seq }) => seq > 0).map(({ seq }) => seq);
    await until(() => got().length >= 3, 'the first three');
    expect(got()).toEqual([1, 2, 3]);
    room(2);
    await until(() => got().length >= 5, 'two more');
    // An answer to a request follows the messages sent before it.
    const asked = subscribe({ session_ids: ['none'] });
    watcher.send(asked);
    await watcher.wait(confirms(asked));
    expect(got()).toEqual([1, 2, 3, 4, 5]);
    // The session end needs no credit.
    room(4);
    await until(() => got().length >= 10, 'the rest');
    expect(got()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    room(0);
    agent.send(request('t', 1));
    watcher.send(control('unsubscribe_events', {}));
    await agent.wait(acks('t', 1));
    room(5);
    await subscribed(watcher, { session_ids: ['t'], from_seq: 1 });
    await watcher.wait(({ session_id, seq }) => session_id === 't' && seq === 1);
    expect(got()).toHaveLength(11);
  },
);

/** From here on, each message is another clock measurement. */
const APART_MS = 1_100;

verifies(
  'LP-17',
  'a delayed message causes no skew; a clock ahead is reported immediately, a clock behind when several messages agree',
  async () => {
    const { connect, collector } = await running();
    const client = await connect();
    const ago = (ms: number) => ({ timestamp: new Date(Date.now() - ms).toISOString() });
    await client.handshake();
    const late = () => control('heartbeat', {}, ago(30_000));
    // Messages that arrive together may have had the same delay.
    await sleep(APART_MS);
    client.send(late(), late(), late());
    await sleep(APART_MS);
    client.send(late(), start('s'));
    await client.wait(acks('s', 1));
    expect(collector.counters.skewed).toBe(0);
    await sleep(APART_MS);
    client.send(late());
    const behind = await client.wait(isError('INVALID_MESSAGE_FORMAT'));
    expect(behind.data.details.clock_skew_ms).toBeLessThan(-29_000);
    client.send(control('heartbeat', {}, ago(-30_000)));
    await client.wait(({ data }) => data.details?.clock_skew_ms > 29_000);
  },
);

verifies('LP-11', 'a peer that neither reads nor sends is disconnected', async () => {
  const { connect, collector } = await running({
    limits: { heartbeat_ms: 100, backlog_bytes_max: 1_000 },
  });
  const client = await connect();
  await client.handshake();
  client.send(start('s'));
  await client.wait(acks('s', 1));
  client.pause();
  client.send('{"type":"unheard_of"}\n'.repeat(20_000));
  await until(() => collector.open === 0, 'the end of it');
});

verifies('LP-11', 'a session that was only requested leaves nothing behind', async () => {
  const { connect } = await running();
  const client = await connect();
  const { data } = await client.handshake({ resume: { session_id: 'none', last_seq: 7 } });
  expect(data.resume_from_seq).toBe(1);
  client.send(start('s'));
  await client.wait(acks('s', 1));
  client.destroy();
  const watcher = await connect();
  await watcher.handshake({ role: 'client' });
  const lost = (one: Message) => one.type === 'session_state' && one.data.status === 'lost';
  await until(() => {
    watcher.send(subscribe());
    return watcher.received.some(lost);
  }, 'the session that is lost');
  expect(watcher.received.filter(({ session_id }) => session_id === 'none')).toEqual([]);
});

verifies(
  ['LP-14', 'LP-15'],
  "only the agent that received a client's message can answer it, and only once",
  async () => {
    const { connect } = await running();
    const [agent, stranger, watcher] = [await connect(), await connect(), await connect()];
    await agent.handshake();
    await stranger.handshake();
    await watcher.handshake({ role: 'client' });
    agent.send(start('s'));
    await agent.wait(acks('s', 1));
    const asked = control('user_input', { content: 'continue' }, { session_id: 's' });
    watcher.send(asked);
    await agent.wait(({ type }) => type === 'user_input');
    const answer = (text: string) =>
      control('error', {
        error_code: 'INPUT_INJECTION_RESTRICTED',
        message: text,
        severity: 'error',
        retriable: true,
        caused_by: { message_id: asked.message_id },
      });
    stranger.send(answer('forged'), start('t'));
    await stranger.wait(acks('t', 1));
    agent.send(answer('real'), answer('again'), request('s', 2));
    await agent.wait(acks('s', 2));
    const done = subscribe();
    watcher.send(done);
    await watcher.wait(confirms(done));
    const errors = watcher.received.filter(({ type }) => type === 'error');
    expect(errors.map(({ data }) => data.message)).toEqual(['real']);
  },
);

verifies(
  'LP-11',
  'after a restart a subscriber to a named session gets its state, counted from the stored messages',
  async () => {
    const folder = testFolder();
    const options = { state_dir: join(folder, 'state'), version: '0' };
    const path = join(folder, 'state/live/collector.sock');
    const first = await serve(options);
    const agent = await connectSocket({ path });
    await agent.handshake();
    const open = request('open', 2, 'c');
    agent.send(start('open'), open, start('over'));
    agent.send(message('session_end', 'over', 2, { status: 'ok' }));
    await agent.wait(acks('open', 2));
    await agent.wait(acks('over', 2));
    agent.destroy();
    await first.stop();
    const second = await serve(options);
    const watcher = await connectSocket({ path });
    onTestFinished(async () => {
      watcher.destroy();
      await second.stop();
    });
    await watcher.handshake({ role: 'client' });
    watcher.send(subscribe({ session_ids: ['open', 'over', 'none'] }));
    const stateOf = async (id: string) =>
      (await watcher.wait((one) => one.type === 'session_state' && one.session_id === id)).data;
    expect(await stateOf('open')).toMatchObject({
      status: 'lost',
      open_calls: ['c'],
      last_seq: 2,
      counters: { messages: 2, requests: 1 },
    });
    expect(await stateOf('over')).toMatchObject({ status: 'ended', open_calls: [], last_seq: 2 });
    await subscribed(watcher);
    expect(watcher.received.filter(({ session_id }) => session_id === 'none')).toEqual([]);
  },
);
