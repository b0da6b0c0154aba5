/** `tacho serve` as a program: its output, its exit, and refused options. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { takeLock } from '../../src/store/lock.ts';
import {
  acks,
  clientOf,
  connectPipe,
  connectSocket,
  hello,
  isType,
  type LiveClient,
  message,
  request,
} from '../live-client.ts';
import { bin, filesBelow, kill, type Started, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

/** The started program and its first output. */
async function serving(...args: string[]): Promise<Started & { listening: string[] }> {
  let said = '';
  const started = place.start(['serve', '--json', '--no-watch', ...args], {
    seen: (sofar) => {
      said = sofar;
    },
  });
  await until(() => said.includes('\n'), 'the collector');
  const { listening, pid } = JSON.parse(said);
  expect(pid).toBe(started.pid);
  return { ...started, listening };
}

const start = (session: string) => message('session_start', session, 1, { agent: 'toy' });

async function store(client: LiveClient, session: string): Promise<void> {
  await client.handshake();
  client.send(start(session));
  await client.wait(acks(session, 1));
}

verifies(
  'LP-12',
  'it listens on several transports, prints their addresses, and stops cleanly',
  async () => {
    const pipe = join(place.folder, 'own/pair');
    const args = ['--tcp', '127.0.0.1:0', '--pipe', pipe, '--socket', join(place.folder, 'own/s')];
    const { listening, pid, done } = await serving(...args);
    expect(listening).toEqual([
      `unix:${place.folder}/own/s`,
      expect.stringMatching(/^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/),
      `pipe:${pipe}`,
    ]);
    const clients = [
      await connectSocket({ path: join(place.folder, 'own/s') }),
      await connectSocket({ host: '127.0.0.1', port: Number(listening[1]?.split(':').pop()) }),
      connectPipe(pipe),
    ];
    for (const [i, client] of clients.entries()) await store(client, `s${i}`);
    kill(pid, 'SIGTERM');
    const { code, stderr } = await done;
    expect(code).toBe(0);
    expect(stderr).toBe(listening.map((address) => `listening on ${address}\n`).join(''));
    for (const client of clients) await client.closed;
    expect(existsSync(`${pipe}.in`)).toBe(false);
  },
);

verifies(
  'LP-12',
  'on stdin and stdout it writes only the protocol, and exits with stdin',
  async () => {
    const input = `${JSON.stringify(hello())}\n${JSON.stringify(start('s'))}`.replace(
      '{"agent"',
      '{ "agent"',
    );
    const body = input.replace(
      /"type":"session_start"/,
      '"ack_required":true,"type":"session_start"',
    );
    const { code, records, stdout, stderr } = await place.tacho(
      ['serve', '--stdio', '--no-dashboard'],
      { input: body },
    );
    expect(code).toBe(0);
    expect(stdout.endsWith('\n')).toBe(true);
    expect(records.filter(({ type }) => type !== 'error').map(({ type }) => type)).toEqual([
      'handshake_response',
      'ack',
    ]);
    expect(stderr).toBe('listening on stdio:\n');
  },
);

verifies('LP-13', 'unsupported options are reported as a usage error', async () => {
  const wrong: [string[], RegExp][] = [
    [['--stdio', '--json'], /--json cannot be combined with --stdio/],
    [['--tcp', '0.0.0.0:0'], /needs --token-file, --tls-cert, --tls-key/],
    [['--tcp', '7070'], /use HOST:PORT/],
    [['--tls-cert', 'x'], /--tls-cert and --tls-key are needed together/],
    [['--heartbeat', '0'], /seconds/],
    [['--socket', `/${'x'.repeat(200)}`], /at most 100 are possible/],
  ];
  for (const [args, said] of wrong) {
    const { code, stderr } = await place.tacho(['serve', ...args]);
    expect([args, code]).toEqual([args, 2]);
    expect(stderr).toMatch(said);
  }
  const open = join(place.folder, 'token');
  writeFileSync(open, 'secret', { mode: 0o644 });
  const { code, stderr } = await place.tacho(['serve', '--token-file', open]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/chmod 600/);
  expect(stderr).not.toContain('secret');
});

verifies(
  'LP-13',
  'a second collector for a state folder is refused while the first runs, and takes over from a dead one',
  async () => {
    const first = await serving();
    const second = await place.tacho(['serve']);
    expect(second.code).toBe(70);
    expect(second.stderr).toMatch(
      /is in use by tacho serve \(process \d+ on .*--force.*collector\.lock/,
    );
    kill(first.pid, 'SIGKILL');
    await first.done;
    const third = await serving();
    await store(await connectSocket({ path: join(place.state, 'live/collector.sock') }), 's');
    kill(third.pid, 'SIGINT');
    expect((await third.done).code).toBe(0);
  },
);

verifies('LP-13', 'with --force a collector takes the lock over from any holder', async () => {
  const first = await serving();
  kill(first.pid);
  await first.done;
  const release = takeLock(join(place.state, 'live/collector.lock'));
  try {
    expect((await place.tacho(['serve'])).code).toBe(70);
    const forced = await serving('--force');
    await store(await connectSocket({ path: join(place.state, 'live/collector.sock') }), 's');
    kill(forced.pid, 'SIGINT');
    expect((await forced.done).code).toBe(0);
  } finally {
    release?.();
  }
});

verifies(
  ['LP-12', 'LP-15'],
  'a pipe works for the next peer after one died in the middle of a line and never read its answers',
  async () => {
    const pipe = join(place.folder, 'own/pair');
    const { pid, done } = await serving('--pipe', pipe);
    const first = connectPipe(pipe);
    await store(first, 's');
    first.pause();
    first.send(...Array.from({ length: 2000 }, () => 'rubbish\n'));
    first.send(request('s', 2), '{"type":"tool_call_requ');
    const kept = () => filesBelow(join(place.state, 'live/journal'));
    await until(() => kept().some(({ bytes }) => bytes.includes('s-2')), 'the second message');
    first.destroy();
    const second = connectPipe(pipe);
    const { data } = await second.handshake({ resume: { session_id: 's', last_seq: 1 } });
    expect(data.resume_from_seq).toBe(3);
    // It may have read the pipe's old content before its handshake; answers queued after that are dropped.
    expect(second.received.length).toBeLessThan(1_000);
    const answered = second.received.findIndex(isType('handshake_response'));
    second.send(request('s', 3));
    await second.wait(acks('s', 3));
    const since = second.received.slice(answered + 1).filter(({ data }) => !data.details?.reason);
    expect(since.map(({ type }) => type)).toEqual(['ack']);
    kill(pid, 'SIGTERM');
    expect((await done).code).toBe(0);
  },
);

verifies('LP-12', 'a signal stops it on stdio, too, while stdin stays open', async () => {
  const child = spawn(process.execPath, [bin, 'serve', '--stdio'], {
    cwd: place.work,
    env: { ...process.env, TACHO_HOME: place.state },
  });
  const code = new Promise((resolve) => child.on('close', resolve));
  child.stderr.resume();
  const client = clientOf(child.stdout, child.stdin);
  await store(client, 's');
  child.kill('SIGTERM');
  expect(await code).toBe(0);
});
