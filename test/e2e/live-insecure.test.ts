/** `tcp://` to another machine: refused before anything is sent, unless `--insecure` allows it (LP-13). */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, run } from '../../src/index.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { listenAt, stopServer } from '../listen-at.ts';
import { filesBelow, usePlace } from './cli.ts';
import { succeeds } from './needs.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const TOKEN = 'dummy-collector-token';

/** A listener and what it received. 0.0.0.0 acts as another machine: it is not a loopback address, and Linux routes it to this one. */
async function listener(): Promise<{ port: number; text(): string; dialled(): number }> {
  let text = '';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      text += String(data);
      // An answer, so that no client waits.
      socket.destroy();
    });
  });
  const url = await listenAt(server, 0);
  onTestFinished(() => stopServer(server, sockets));
  return { port: Number(url.split(':').pop()), text: () => text, dialled: () => sockets.size };
}

function tokenFile(): string {
  const path = join(place.folder, 'token');
  writeFileSync(path, TOKEN, { mode: 0o600 });
  return path;
}

const commands = (url: string, ...more: string[]) => [
  [
    'run',
    ...CHAOS,
    '--live',
    url,
    '--live-token-file',
    tokenFile(),
    ...more,
    'hi',
    '--',
    ...played('fixed'),
  ],
  ['emit', '--to', url, '--token-file', tokenFile(), '--wait', '1', ...more],
  ['tail', '--to', url, '--token-file', tokenFile(), '--no-follow', ...more],
];

verifies('LP-13', 'a sender refuses another machine without TLS, and says what to do', async () => {
  const { port, dialled } = await listener();
  const input = '{"type":"session_start","data":{"agent":"x"}}\n';
  for (const args of commands(`tcp://0.0.0.0:${port}`)) {
    const { code, stderr } = await place.tacho(args, { input });
    expect([args[0], code]).toEqual([args[0], 2]);
    expect(stderr).toContain(`use tls://0.0.0.0:${port}`);
    expect(stderr).toContain('--insecure');
  }
  expect(dialled()).toBe(0);
  expect(() => connect({ url: `tcp://0.0.0.0:${port}`, stateDir: place.state })).toThrow(
    /insecure: true/,
  );
  const to = { tokenFile: null, ca: null, callTimeoutMs: null, trace: null };
  const live = { ...to, url: `tcp://0.0.0.0:${port}` };
  const sent = run({ agent: 'demo', prompt: 'p', stateDir: place.state, live });
  await expect(sent.outcome).rejects.toThrow(/insecure: true/);
  expect(dialled()).toBe(0);
});

test('a local name that resolves to another address is refused before connecting', () => {
  // A network namespace without a route, and with its own hosts file.
  const wrap = ['unshare', '--map-root-user', '--mount', '--net'] as const;
  const hosts = join(place.folder, 'hosts');
  writeFileSync(hosts, '192.0.2.1 localhost\n');
  const mounted = [...wrap, 'sh', '-c', `mount --bind ${hosts} /etc/hosts && exec "$@"`, 'sh'];
  const [program, ...args] = mounted as [string, ...string[]];
  if (!succeeds([program, ...args, 'true'], 'names that lead elsewhere')) return;
  const dial = join(import.meta.dirname, '../../src/live/transports/dial.ts');
  const text = `import { dial } from ${JSON.stringify(dial)};
    const address = { kind: 'tcp', host: 'localhost', port: 7070, tls: false };
    await dial(address, { wait_ms: 5_000 }).catch((error) => console.log(error.message));`;
  const child = [process.execPath, '--input-type=module', '-e', text];
  const { stdout } = spawnSync(program, [...args, ...child], { encoding: 'utf8' });
  expect(stdout).toContain('localhost (192.0.2.1) is not this machine');
});

test('--insecure allows it with one warning, and messages left for later record the choice', async () => {
  const { port, text } = await listener();
  const input = '{"type":"session_start","data":{"agent":"x"}}\n';
  for (const args of commands(`tcp://0.0.0.0:${port}`, '--insecure')) {
    const { stderr } = await place.tacho(args, { input });
    const line = `warning: the token and all messages are sent to 0.0.0.0:${port} unencrypted\n`;
    expect(stderr.split(line), args[0]).toHaveLength(2);
  }
  expect(text()).toContain(TOKEN);
  const outbox = filesBelow(join(place.state, 'outbox')).find(({ path }) =>
    path.endsWith('.jsonl'),
  );
  expect(outbox?.bytes.toString()).toContain(`tcp+insecure://0.0.0.0:${port}`);
});

test('--insecure alone prints nothing', async () => {
  const { code, stderr } = await place.tacho(['run', '--agent', 'demo', '--insecure', 'hi']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('need --live')]);
  expect(readFileSync(join(import.meta.dirname, '../../docs/reference/cli.md'), 'utf8')).toContain(
    '--insecure',
  );
});
