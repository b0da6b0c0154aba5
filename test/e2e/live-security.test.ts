/** Access to a collector, and the permissions of its clients (LP-13). */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished } from 'vitest';
import { type ServeOptions, type Serving, serve } from '../../src/app/live/serve.ts';
import { parseTokens } from '../../src/live/collector/auth.ts';
import { testFolder } from '../fixtures/folder.ts';
import {
  acks,
  clientOf,
  connectSocket,
  control,
  hello,
  isError,
  isType,
  type LiveClient,
  message,
} from '../live-client.ts';
import { can } from './needs.ts';
import { verifies } from './verifies.ts';

async function running(folder: string, options: Partial<ServeOptions> = {}): Promise<Serving> {
  const serving = await serve({ state_dir: join(folder, 'state'), version: '0', ...options });
  onTestFinished(() => serving.stop());
  return serving;
}

const portOf = ({ listening }: Serving) => Number(listening[0]?.split(':').pop());

async function toPort(port: number): Promise<LiveClient> {
  const client = await connectSocket({ host: '127.0.0.1', port });
  onTestFinished(() => client.destroy());
  return client;
}

function secret(folder: string, name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const start = (session: string) => message('session_start', session, 1, { agent: 'toy' });

verifies(
  'LP-13',
  'sockets and pipes are 0600 in folders with 0700, whatever the umask',
  async () => {
    const folder = testFolder();
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const pipe = join(folder, 'deep/pair');
    await running(folder, { socket: join(folder, 'own/tacho.sock'), pipe });
    for (const [path, mode] of [
      ['own', '700'],
      ['own/tacho.sock', '600'],
      ['deep', '700'],
      ['deep/pair.in', '600'],
      ['deep/pair.out', '600'],
      ['state/live', '700'],
    ] as const)
      expect([path, modeOf(join(folder, path))]).toEqual([path, mode]);
    const open = join(folder, 'open');
    mkdirSync(open, { mode: 0o755 });
    const other = { state_dir: join(folder, 'other'), version: '0' };
    for (const where of [{ socket: join(open, 's') }, { pipe: join(open, 'p') }])
      await expect(serve({ ...other, ...where })).rejects.toThrow(
        /other users can enter this folder/,
      );
  },
);

verifies(
  'LP-13',
  'a stale socket is taken over; a live one, a link and any other file are not',
  async () => {
    const folder = testFolder();
    const own = join(folder, 'own');
    mkdirSync(own, { mode: 0o700 });
    const socket = join(own, 's');
    // A process that dies leaves its socket.
    const code = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`;
    try {
      execFileSync(process.execPath, ['-e', code]);
    } catch {
      // Killed alone.
    }
    expect(lstatSync(socket).isSocket()).toBe(true);
    const { listening } = await running(folder, { socket });
    expect(listening).toEqual([`unix:${socket}`]);
    const client = await connectSocket({ path: socket });
    onTestFinished(() => client.destroy());
    expect((await client.handshake()).data.success).toBe(true);

    const other = { state_dir: join(folder, 'other'), version: '0' };
    await expect(serve({ ...other, socket })).rejects.toThrow(
      /a collector is already listening there/,
    );
    expect((await client.handshake()).data.success).toBe(true);
    const link = join(own, 'link');
    symlinkSync(socket, link);
    const file = secret(own, 'file', 'precious');
    for (const path of [link, file]) {
      await expect(serve({ ...other, socket: path })).rejects.toThrow(/not a socket/);
    }
    expect(readFileSync(file, 'utf8')).toBe('precious');
    secret(own, 'taken.in', 'precious');
    await expect(serve({ ...other, pipe: join(own, 'taken') })).rejects.toThrow(/not a named pipe/);
    expect(readFileSync(join(own, 'taken.in'), 'utf8')).toBe('precious');
  },
);

verifies(
  'LP-13',
  'TCP listens on loopback only, unless a token and TLS files are given',
  async () => {
    const folder = testFolder();
    const state = { state_dir: join(folder, 'state'), version: '0' };
    const token_file = secret(folder, 'token', 'let me in\n'.replaceAll(' ', '-'));
    for (const tcp of ['0.0.0.0:0', '[::]:0', '192.168.1.1:0']) {
      await expect(serve({ ...state, tcp })).rejects.toThrow(
        /needs --token-file, --tls-cert, --tls-key/,
      );
      await expect(serve({ ...state, tcp, token_file })).rejects.toThrow(
        /needs --tls-cert, --tls-key/,
      );
    }
    const serving = await running(folder, { tcp: ':0' });
    expect(serving.listening[0]).toMatch(/^tcp:\/\/127\.0\.0\.1:\d+$/);
  },
);

if (can('openssl', 'tests of TLS'))
  verifies('LP-13', 'with TLS files the port requires TLS and the token', async () => {
    const folder = testFolder();
    const [tls_key, tls_cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const args = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost`;
    execFileSync('openssl', [...args.split(' '), '-keyout', tls_key, '-out', tls_cert], {
      stdio: 'ignore',
    });
    const token_file = secret(folder, 'token', 'the-token\n');
    const serving = await running(folder, { tcp: '0.0.0.0:0', tls_key, tls_cert, token_file });
    expect(serving.listening[0]).toMatch(/^tls:/);
    const socket = connectTls({
      host: '127.0.0.1',
      port: portOf(serving),
      ca: readFileSync(tls_cert),
      servername: 'localhost',
    });
    const client = clientOf(socket, socket);
    onTestFinished(() => client.destroy());
    expect((await client.handshake({ token: 'the-token' })).data.success).toBe(true);
    client.send(start('s'));
    await client.wait(acks('s', 1));
    const plain = await toPort(portOf(serving));
    plain.send(hello({ token: 'the-token' }));
    await plain.closed;
    expect(plain.received).toEqual([]);
  });

verifies('LP-13', 'a connection without a valid token is refused and closed', async () => {
  const folder = testFolder();
  const token_file = secret(folder, 'token', 'the-token');
  const serving = await running(folder, {
    tcp: '127.0.0.1:0',
    socket: join(folder, 'own/s'),
    token_file,
  });
  const port = Number(serving.listening[1]?.split(':').pop());
  for (const token of [null, '', 'the-tokem', 'the-token ']) {
    const client = await toPort(port);
    const { data } = await client.handshake({ token });
    expect(data).toMatchObject({ success: false, error: { error_code: 'AUTH_FAILED' } });
    client.send(start('s'));
    await client.closed;
    expect(client.received.filter(isType('ack'))).toEqual([]);
  }
  // The socket is private: no token is required, but a wrong one is refused.
  const local = await connectSocket({ path: join(folder, 'own/s') });
  expect((await local.handshake()).data.success).toBe(true);
  expect((await local.handshake({ token: 'wrong' })).data.success).toBe(false);
  local.destroy();
});

verifies(
  'LP-13',
  'a token grants its permissions, for its sessions, until it expires',
  async () => {
    const folder = testFolder();
    let ahead_ms = 0;
    const clock = { now: () => Date.now() + ahead_ms, elapsed: () => performance.now() };
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const tokens = [
      { token: 'sender', permissions: ['send'], sessions: ['mine'] },
      { token: 'reader', permissions: ['subscribe'], sessions: ['mine'] },
      { token: 'brief', permissions: ['subscribe', 'send', 'inject'], expires_at },
      { token: 'gone', permissions: ['send'], expires_at: '2020-01-01T00:00:00.000Z' },
    ];
    const token_file = secret(folder, 'tokens', JSON.stringify({ tokens }));
    const port = portOf(await running(folder, { tcp: ':0', token_file, clock }));
    const brief = await toPort(port);
    expect((await brief.handshake({ token: 'brief' })).data.success).toBe(true);
    const gone = await toPort(port);
    expect((await gone.handshake({ token: 'gone' })).data.success).toBe(false);

    const reader = await toPort(port);
    await reader.handshake({ role: 'client', token: 'reader' });
    reader.send(control('subscribe_events', {}));
    reader.send(control('interrupt', {}, { session_id: 'mine' }));
    reader.send(control('subscribe_events', { filter: { session_ids: ['mine', 'other'] } }));
    const isDenied = (what: RegExp) => (one: { type: string; data: { message: string } }) =>
      isError('AUTH_FAILED')(one) && what.test(one.data.message);
    await reader.wait(isDenied(/does not have the permission inject/));
    await reader.wait(isDenied(/does not cover these sessions/));
    const forger = await toPort(port);
    await forger.handshake({ token: 'reader' });
    forger.send(start('mine'));
    await forger.wait(isDenied(/does not have the permission send/));

    brief.send(start('other'));
    await brief.wait(acks('other', 1));
    const sender = await toPort(port);
    await sender.handshake({ token: 'sender' });
    sender.send(start('other'), start('mine'));
    const spy = await toPort(port);
    await spy.handshake({ role: 'client', token: 'sender' });
    spy.send(control('subscribe_events', {}));
    await spy.wait(isDenied(/does not have the permission subscribe/));
    await sender.wait(isDenied(/does not cover this session/));
    await sender.wait(acks('mine', 1));
    const resumed = await sender.handshake({
      token: 'sender',
      resume: { session_id: 'other', last_seq: 0 },
    });
    expect(resumed.data).toMatchObject({ success: false, error: { error_code: 'AUTH_FAILED' } });
    const seen = await reader.wait(({ seq }) => seq === 1);
    expect(seen.session_id).toBe('mine');
    expect(reader.received.filter(({ session_id }) => session_id === 'other')).toEqual([]);

    ahead_ms = 3_600_001;
    await brief.wait(isDenied(/expired/));
    await brief.closed;
  },
);

verifies(
  'LP-13',
  'a token file that others can read, or that is invalid, is refused with the place of the fault',
  async () => {
    const folder = testFolder();
    const state = { state_dir: join(folder, 'state'), version: '0' };
    const open = secret(folder, 'open', 'token', 0o640);
    await expect(serve({ ...state, token_file: open })).rejects.toThrow(
      /other users can read this file: run chmod 600/,
    );
    await expect(serve({ ...state, token_file: join(folder, 'none') })).rejects.toThrow(
      /no such file/,
    );
    const wrong: [string, RegExp][] = [
      ['', /F: contains no token/],
      ['two words', /F: must contain one bare token/],
      ['{"tokens":[]}', /F:1:2: tokens must not be empty/],
      ['{"tokens":[', /F:1:1: no JSON/],
      ['{"tokens":3}', /F:1:2: tokens must be a list/],
      ['{}', /F:1:1: lacks the field tokens/],
      ['{"tokens":[{"token":""}]}', /F:1:13: tokens\[0\]\.token must not be empty/],
      [
        '{"tokens":[{"token":"a","permissions":["all"]}]}',
        /F:1:40: tokens\[0\]\.permissions\[0\] must be one of/,
      ],
      [
        '{"tokens":[{"token":"a","permissions":[],"expires_at":"soon"}]}',
        /expires_at must be a time like/,
      ],
      [
        '{"tokens":[{"token":"a","permissions":[],"expires_at":5}]}',
        /expires_at must be a time like/,
      ],
      [
        '{"tokens":[{"token":"a","permissions":[],"sessions":"x"}]}',
        /sessions must be a list of session ids/,
      ],
    ];
    for (const [text, said] of wrong) expect(() => parseTokens(text, 'F')).toThrow(said);
    expect(() =>
      parseTokens('{"tokens":[{"token":""},\n{"token":"a","permissions":3}]}', 'F'),
    ).toThrow(
      'F:1:13: tokens[0].token must not be empty\nF:1:12: tokens[0] lacks the field permissions\nF:2:14: tokens[1].permissions must be a list',
    );
  },
);

verifies(
  'LP-13',
  'an HTTP request from a web page is disconnected before its body is read',
  async () => {
    const folder = testFolder();
    const serving = await running(folder, { tcp: ':0' });
    const body = `${JSON.stringify(hello())}\n${JSON.stringify(start('s'))}\n`;
    const head = `Host: localhost\r\nContent-Length: ${body.length}\r\n\r\n`;
    const asked = [
      'POST /',
      `POST /${'a'.repeat(20_000)}`,
      'POST /?{"type":"heartbeat"}',
      // From its own site, which may resolve to this machine, a page may use any method.
      'own-word /',
      'post /',
    ];
    for (const first of asked) {
      const client = await toPort(portOf(serving));
      client.send(`${first} HTTP/1.1\r\n${head}${body}`);
      await client.closed;
      expect(client.received).toEqual([]);
    }
    expect(serving.collector.counters.stored).toBe(0);
  },
);

verifies(
  ['LP-13', 'LP-16'],
  'no message is accepted before a handshake, and little is read',
  async () => {
    const folder = testFolder();
    const serving = await running(folder, { tcp: ':0' });
    const client = await toPort(portOf(serving));
    client.send(start('s'), 'garbage\n', control('subscribe_events', {}));
    await client.wait(
      (one) => isError('AUTH_FAILED')(one) && /handshake_request first/.test(one.data.message),
    );
    await client.wait(isError('INVALID_JSON_FORMAT'));
    expect((await client.handshake()).data.success).toBe(true);
    client.send(start('s'));
    await client.wait(acks('s', 1));
    const flood = await toPort(portOf(serving));
    flood.send('x'.repeat(100_000));
    await flood.wait(isError('AUTH_FAILED'));
    await flood.closed;
    expect(serving.collector.counters.limits.hello_bytes_max).toBe(1);
  },
);

verifies('LP-13', 'no token is written to disk, not even from a failed handshake', async () => {
  const folder = testFolder();
  const token_file = secret(folder, 'token', 'sekrit-4711');
  const serving = await running(folder, { tcp: ':0', token_file });
  const client = await toPort(portOf(serving));
  const token = 'sekrit-4711';
  client.send(hello({ token, role: 'king' }), `${JSON.stringify(hello({ token })).slice(0, -2)}\n`);
  await client.wait(isError('INVALID_FIELD_TYPE'));
  await client.wait(isError('INVALID_JSON_FORMAT'));
  // With a clock far behind, it also fails a rule.
  await client.handshake({ token }, { timestamp: '2020-01-01T00:00:00.000Z' });
  const failing = readFileSync(join(folder, 'state/live/failing.jsonl'), 'utf8');
  // Lines before the handshake are refused and not stored.
  expect(failing.trim().split('\n')).toHaveLength(1);
  expect(failing).not.toContain(token);
  expect(failing).toContain('REDACTED');
});

verifies('LP-13', 'TLS files without a port are a usage error', async () => {
  const folder = testFolder();
  const files = { tls_cert: join(folder, 'c'), tls_key: join(folder, 'k') };
  const made = serve({ state_dir: join(folder, 'state'), version: '0', ...files });
  await expect(made).rejects.toThrow(/need --tcp HOST:PORT/);
});

verifies('LP-13', 'a port in use is reported with a hint', async () => {
  const folder = testFolder();
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as { port: number };
  const taken = serve({ state_dir: join(folder, 'state'), version: '0', tcp: `127.0.0.1:${port}` });
  await expect(taken).rejects.toThrow(
    /another program listens there: stop it, or choose another port/,
  );
  // Resources are released: the folder's next collector starts.
  expect((await running(folder, { tcp: ':0' })).listening).toHaveLength(1);
});
