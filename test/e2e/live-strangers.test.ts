/** Peers of a collector that are unauthorised, silent or hostile: they change nothing for the others (LP-15, LP-16). */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished } from 'vitest';
import { readBoard, type SessionBoard } from '../../src/app/live/board.ts';
import { livePaths } from '../../src/app/live/paths.ts';
import { type ServeOptions, type Serving, serve } from '../../src/app/live/serve.ts';
import { listenTcp } from '../../src/live/transports/tcp.ts';
import { testFolder } from '../fixtures/folder.ts';
import {
  acks,
  connectSocket,
  control,
  hello,
  isError,
  isType,
  type LiveClient,
  message,
  request,
} from '../live-client.ts';
import { start } from '../live-running.ts';
import { residentMb, startServe } from '../serve-process.ts';
import { until } from './cli.ts';
import { can } from './needs.ts';
import { verifies } from './verifies.ts';

interface Running extends Serving {
  folder: string;
  tcp(): Promise<LiveClient>;
  unix(): Promise<LiveClient>;
}

/** A collector with a port and a socket. */
async function running(options: Partial<ServeOptions> = {}): Promise<Running> {
  const folder = testFolder();
  const socket = join(folder, 'own', 'c.sock');
  const state_dir = join(folder, 'state');
  const serving = await serve({ state_dir, version: '0', tcp: ':0', socket, ...options });
  onTestFinished(() => serving.stop());
  const port = Number(
    serving.listening
      .find((url) => url.startsWith('tcp'))
      ?.split(':')
      .pop(),
  );
  const opened = async (where: Parameters<typeof connectSocket>[0]) => {
    const client = await connectSocket(where);
    onTestFinished(() => client.destroy());
    return client;
  };
  return {
    ...serving,
    folder,
    tcp: () => opened({ host: '127.0.0.1', port }),
    unix: () => opened({ path: socket }),
  };
}

const end = (session: string, seq: number) =>
  message('session_end', session, seq, { status: 'ok' });
const respond = (session: string, seq: number, call_id: string) =>
  message('tool_call_response', session, seq, {
    call_id,
    result: {},
    error: null,
    execution_time_ms: 1,
  });

verifies(
  ['LP-15', 'CF-4'],
  'lines of peers without permission for a session are counted, and judged by no rule',
  async () => {
    const tokens = join(testFolder(), 'tokens.json');
    const token = (name: string, sessions: string[]) => ({
      token: `token-${name}`,
      permissions: ['send', 'subscribe'],
      sessions,
    });
    const list = { tokens: [token('a', ['a']), token('b', ['b'])] };
    writeFileSync(tokens, JSON.stringify(list), { mode: 0o600 });
    const collector = await running({ token_file: tokens });
    const a = await collector.tcp();
    await a.handshake({ token: 'token-a' });
    a.send(start('a'), request('a', 2, 'c1'));
    await a.wait(acks('a', 2));

    const b = await collector.tcp();
    // Read as a handshake, not as a message of the session that it names.
    const named = { session_id: 'a', seq: 3, message_id: 'x' };
    b.send({ ...hello({ token: 'token-b' }), ...named });
    await b.wait(isType('handshake_response'));
    b.send({ ...hello({ token: 'token-b' }), ...named, seq: 4 });
    const wrong = { ...respond('a', 3, 'zzz'), timestamp: '2001-01-01T00:00:00.000Z' };
    b.send(
      wrong,
      end('a', 3),
      { ...request('a', 3), data: {} },
      'no JSON\n',
      '{"type":"odd","session_id":"a"}\n',
      control(
        'error',
        { error_code: 'X', message: 'm', severity: 'error', caused_by: { seq: 999 } },
        { session_id: 'a' },
      ),
      control('ack', { acked: [{ session_id: 'a', seq: 99 }], durable: true }),
      control('heartbeat', {}, { session_id: 'a', timestamp: '2001-01-01T00:00:00.000Z' }),
      control('handshake_response', { success: true }),
    );
    await b.wait(isError('INVALID_MESSAGE_TYPE'));
    const stranger = await collector.tcp();
    stranger.send('garbage\n', wrong, start('a'), hello({ token: 'no', role: 'king' }));
    await stranger.wait(isError('AUTH_FAILED'));
    stranger.send(hello({ token: 'not known' }));
    await stranger.closed;

    // The same number with other content: refused, even from the session's own sender.
    a.send({ ...request('a', 2, 'c1'), timestamp: '2001-01-01T00:00:00.000Z' });
    await a.wait(isError('DUPLICATE_CONFLICT'));
    a.send(respond('a', 3, 'c1'), end('a', 4));
    await a.wait(acks('a', 4));
    await collector.stop();
    const path = join(collector.folder, 'state/live/board.json');
    const board = JSON.parse(readFileSync(path, 'utf8'));
    const failed = board.report.rules.filter((rule: { failed: number }) => rule.failed > 0);
    // Delays depend on the machine.
    expect(failed.filter(({ id }: { id: string }) => id !== '3.2')).toEqual([]);
    expect(board.report.faulty).toBe(0);
    expect(board.sessions).toMatchObject([{ session_id: 'a', messages: 4, faulty: 0 }]);
    expect(board.refused).toMatchObject({
      AUTH_FAILED: expect.any(Number),
      INVALID_JSON_FORMAT: 2,
      INVALID_MESSAGE_TYPE: 1,
      DUPLICATE_CONFLICT: 1,
    });
    const failing = join(collector.folder, 'state/live/failing.jsonl');
    const kept = existsSync(failing) ? readFileSync(failing, 'utf8') : '';
    for (const text of ['garbage', 'zzz', 'king', '2001-01-01']) expect(kept).not.toContain(text);
  },
);

verifies('CF-4', "faulty lines of a session's own sender are judged", async () => {
  const collector = await running();
  const a = await collector.unix();
  await a.handshake();
  a.send(start('a'));
  await a.wait(acks('a', 1));
  a.send('no JSON\n', { ...request('a', 2), data: {} });
  await a.wait(isError('MISSING_REQUIRED_FIELD'));
  await collector.stop();
  const board = JSON.parse(readFileSync(join(collector.folder, 'state/live/board.json'), 'utf8'));
  expect(board.report.faulty).toBe(2);
  expect(board.sessions).toMatchObject([{ session_id: 'a', messages: 2, faulty: 1 }]);
});

verifies(
  ['LP-15', 'LP-16'],
  'connections without a handshake lock no peer out: the oldest is closed, and private places are kept',
  async () => {
    const limits = { connections_max: 40, ungreeted_max: 10, private_connections: 10 };
    const { tcp, unix, collector } = await running({ limits });
    const silent = await Promise.all(Array.from({ length: 60 }, tcp));
    await until(
      () => (collector.counters.limits.ungreeted_max ?? 0) >= 50,
      'the oldest to be closed',
    );
    const error = await silent[0]?.wait(isError('CAPACITY_EXHAUSTED'));
    expect(error.data.message).toMatch(/handshake/);
    await until(() => collector.open <= 12, 'the others to be closed');
    const honest = await tcp();
    expect((await honest.handshake()).data.success).toBe(true);
    const owner = await unix();
    expect((await owner.handshake()).data.success).toBe(true);

    // Connections with a handshake fill the places of the port, but not those of the socket.
    for (const client of silent) client.destroy();
    for (let more = 0; more < 29; more++)
      expect((await (await tcp()).handshake()).data.success).toBe(true);
    await (await tcp()).wait(isError('CAPACITY_EXHAUSTED'));
    expect(collector.counters.limits.connections_max).toBe(1);
    for (let more = 0; more < 9; more++)
      expect((await (await unix()).handshake()).data.success).toBe(true);
  },
);

verifies(
  'LP-16',
  'a peer without a handshake gets few answers, and a peer that does not read gets no more',
  async () => {
    const { tcp, collector } = await running();
    const stranger = await tcp();
    stranger.send('x\n'.repeat(20_000));
    await stranger.closed;
    expect(stranger.received.length).toBeLessThan(20);
    expect(collector.counters.limits.hello_lines_max).toBe(1);

    const { limits } = collector.counters;
    const deaf = await tcp();
    await deaf.handshake();
    deaf.pause();
    // Every short line is answered with an error that is never read; a message between them keeps the connection.
    for (let i = 0; i < 200; i++) deaf.send('x\n'.repeat(900), control('heartbeat', {}));
    await until(() => (limits.backlog_bytes_max ?? 0) > 1_000, 'dropped answers');

    const noisy = await tcp();
    await noisy.handshake();
    noisy.send('x\n'.repeat(100_000));
    await noisy.closed;
    expect(limits.faulty_lines_max).toBe(1);
  },
);

/** A connection with a handshake and an unfinished line. */
async function unfinished(client: LiveClient, bytes: number): Promise<LiveClient> {
  await client.handshake();
  client.send(Buffer.alloc(bytes, 0x61));
  return client;
}

const LONG = 'x'.repeat(8 * 1024 * 1024 - 1_000);

verifies(
  ['LP-15', 'LP-16'],
  'unfinished lines wait in turn: one that stalls is refused, and the longest message is accepted',
  async () => {
    const { tcp, unix, collector } = await running({
      limits: { long_lines_max: 3, long_lines_private: 1, long_lines_waiting_max: 8 },
    });
    const stalled = [];
    for (let i = 0; i < 8; i++) stalled.push(await unfinished(await tcp(), 1024 * 1024));
    await until(() => (collector.counters.limits.long_lines_max ?? 0) >= 6, 'six to wait');
    const owner = await unix();
    await owner.handshake();
    owner.send(message('session_start', 'own', 1, { agent: 'toy', prompt: LONG }));
    await owner.wait(acks('own', 1));
    const honest = await tcp();
    await honest.handshake();
    honest.send(message('session_start', 'tcp', 1, { agent: 'toy', prompt: LONG }));
    await honest.wait(acks('tcp', 1));
    const refused = await stalled[0]?.wait(isError('CAPACITY_EXHAUSTED'));
    expect(refused.data).toMatchObject({ retriable: true });
    // Its next line is read normally.
    stalled[0]?.send('\n', start('s0'));
    await stalled[0]?.wait(acks('s0', 1));
  },
);

verifies('LP-16', 'a hundred unfinished lines use bounded memory', async () => {
  const state = join(testFolder(), 'state');
  const { pid, url } = await startServe(state, '--tcp', '127.0.0.1:0');
  const port = Number(url.split(':').pop());
  const opened = async () => {
    const client = await connectSocket({ host: '127.0.0.1', port });
    onTestFinished(() => client.destroy());
    return client;
  };
  const first = await opened();
  await first.handshake();
  const before = residentMb(pid);
  let most = 0;
  const clients: LiveClient[] = [];
  for (let i = 0; i < 100; i++) {
    const client = await opened();
    await client.handshake();
    clients.push(client);
  }
  // All together: one that stalls loses its place after a moment.
  const line = Buffer.alloc(7.9 * 1024 * 1024, 0x61);
  for (const client of clients) client.send(line);
  for (let i = 0; i < 100; i++) {
    await sleep(50);
    most = Math.max(most, residentMb(pid));
  }
  expect(most - before).toBeLessThan(250);
  first.send(start('s'));
  await first.wait(acks('s', 1));
});

verifies(
  ['LP-15', 'CF-4'],
  "neither the ids nor the number of a peer's sessions change the verdict on another session",
  async () => {
    const { tcp, unix, folder } = await running();
    const same = (session: string, seq: number) => ({
      ...request(session, seq, 'c'),
      correlation_id: 'same',
    });
    const peer = await tcp();
    await peer.handshake();
    peer.send(start('b'), same('b', 2));
    await peer.wait(acks('b', 2));
    const honest = await unix();
    await honest.handshake();
    honest.send(start('a'), same('a', 2));
    await honest.wait(acks('a', 2));
    for (let round = 0; round < 6; round++) {
      const other = await tcp();
      await other.handshake();
      other.send(...Array.from({ length: 200 }, (_, at) => start(`b${round}-${at}`)));
      await other.wait(acks(`b${round}-199`, 1));
      other.destroy();
    }
    honest.send({ ...respond('a', 3, 'c'), correlation_id: 'same' }, end('a', 4));
    await honest.wait(acks('a', 4));
    const { board } = livePaths(join(folder, 'state'));
    const row = () => readBoard(board).sessions.find(({ session_id }) => session_id === 'a');
    await until(() => existsSync(board) && row()?.messages === 4, 'the board');
    const { failed } = row() as SessionBoard;
    const rules = Object.keys(failed).filter((rule) => !rule.startsWith('3.2'));
    expect(rules).toEqual([]);
    // Disconnected peers made room for the others.
    const { over_limits } = readBoard(board).report;
    expect(over_limits.join()).not.toContain('beyond the limit of open sessions');
  },
);

verifies('LP-16', 'open calls with long ids use bounded memory', async () => {
  const state = join(testFolder(), 'state');
  const { pid, url } = await startServe(state, '--tcp', '127.0.0.1:0');
  const client = await connectSocket({ host: '127.0.0.1', port: Number(url.split(':').pop()) });
  onTestFinished(() => client.destroy());
  await client.handshake();
  const memory: number[] = [];
  const [sessions, calls] = [10, 5_000];
  for (let at = 0; at < sessions; at++) {
    const name = `s${at}`;
    client.send(start(name));
    for (let from = 0; from < calls; from += 500) {
      const ids = Array.from({ length: 500 }, (_, i) => `${from + i}`.padEnd(1_000, name));
      client.send(...ids.map((id, i) => request(name, from + i + 2, id)));
      await client.wait(acks(name, from + 501));
      client.received.length = client.lines.length = 0;
    }
    memory.push(residentMb(pid));
  }
  // The minimum of the last samples: between two garbage collections there is briefly more.
  const [first = 0, ...others] = memory;
  expect(Math.min(...others.slice(-3)) - first).toBeLessThan(50);
});

verifies('LP-16', 'a burst of short sessions is accepted, however slow the disk is', async () => {
  const { unix, collector } = await running({ limits: { sessions_max: 4 } });
  const client = await unix();
  await client.handshake();
  const names = Array.from({ length: 200 }, (_, i) => `s${i}`);
  client.send(
    names
      .flatMap((name) => [start(name), end(name, 2)].map((one) => `${JSON.stringify(one)}\n`))
      .join(''),
  );
  await client.wait(acks('s199', 2));
  expect(client.received.filter(isType('error'))).toEqual([]);
  expect(collector.counters.limits.sessions_max).toBeUndefined();
  // Open sessions count as before.
  client.send(...names.slice(0, 6).map((name) => start(`open-${name}`)));
  await client.wait(isError('CAPACITY_EXHAUSTED'));
});

if (can('openssl', 'tests of TLS'))
  verifies('LP-15', 'sockets that do not finish TLS lock no peer out', async () => {
    const folder = testFolder();
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const args = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost';
    execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
    const tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    const options = { host: '127.0.0.1', port: 0, tls, sockets_max: 20, unfinished_max: 5 };
    const listener = await listenTcp(options, ({ stream }) => stream.end('taken'));
    const { port } = listener.address as { port: number };
    const silent: Socket[] = [];
    onTestFinished(() => {
      for (const socket of silent) socket.destroy();
      return listener.close();
    });
    for (let i = 0; i < 100; i++) {
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', () => {});
      silent.push(socket);
      await new Promise((resolve) => socket.once('connect', resolve));
    }
    const begun = performance.now();
    await until(
      () => silent.filter(({ closed }) => !closed).length <= 5,
      'the oldest to be closed',
    );
    // Not because of the handshake time limit, which is 30 s.
    expect(performance.now() - begun).toBeLessThan(20_000);
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    const text = await new Promise<string>((resolve, reject) => {
      socket.on('data', (data: Buffer) => resolve(String(data)));
      socket.on('error', reject);
    });
    socket.destroy();
    expect(text).toBe('taken');
  });
