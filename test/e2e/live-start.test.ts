/** Collectors at start: several for one socket, with a low limit on open files, with odd options. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Serving, serve } from '../../src/app/live/serve.ts';
import { testFolder } from '../fixtures/folder.ts';
import { acks, connectSocket, type LiveClient, request } from '../live-client.ts';
import { bin, until } from './cli.ts';
import { verifies } from './verifies.ts';

/** A socket without a listener. */
async function leaveSocket(path: string): Promise<void> {
  const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', code]);
  await new Promise((done) => child.once('close', done));
}

verifies(
  'LP-13',
  'of several collectors that start together on a stale socket one gets it',
  async () => {
    const folder = testFolder();
    const own = join(folder, 'own');
    mkdirSync(own, { mode: 0o700 });
    const socket = join(own, 's');
    for (let round = 0; round < 5; round++) {
      await leaveSocket(socket);
      const tries = await Promise.allSettled(
        ['a', 'b', 'c', 'd'].map((name) =>
          serve({ state_dir: join(folder, `${name}${round}`), version: '0', socket }),
        ),
      );
      const up = tries.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
      expect(up).toHaveLength(1);
      for (const one of tries.filter(({ status }) => status === 'rejected'))
        expect(String((one as PromiseRejectedResult).reason)).toMatch(/is already listening there/);
      const client = await connectSocket({ path: socket });
      expect((await client.handshake()).data.success).toBe(true);
      expect((up[0] as Serving).collector.counters.connections).toBeGreaterThan(0);
      client.destroy();
      await (up[0] as Serving).stop();
      expect(readdirSync(own)).toEqual([]);
    }
  },
);

verifies(
  ['LP-15', 'LP-16'],
  'a flood of connections does not exhaust the open files of a collector: other peers continue',
  async () => {
    const folder = testFolder();
    const env = { PATH: process.env.PATH, HOME: folder, TACHO_HOME: join(folder, 'state') };
    const limited = ['-c', 'ulimit -n 130; exec "$@"', 'sh', process.execPath];
    const child = spawn('sh', [...limited, bin, 'serve', '--json', '--no-watch'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    await new Promise((done) => child.stdout.once('data', done));
    const path = join(folder, 'state/live/collector.sock');
    const client = await connectSocket({ path });
    onTestFinished(() => client.destroy());
    await client.handshake();
    client.send(request('s', 1));
    await client.wait(acks('s', 1));
    const flood: LiveClient[] = [];
    onTestFinished(() => {
      for (const one of flood) one.destroy();
    });
    for (let i = 0; i < 200; i++) flood.push(await connectSocket({ path }));
    let over = 0;
    for (const one of flood) void one.closed.then(() => (over += 1));
    await until(() => over > 100, 'most connections to end');
    // A new session needs new files.
    client.send(request('t', 1));
    await client.wait(acks('t', 1));
    for (const one of flood) one.destroy();
    child.kill('SIGTERM');
    expect(await new Promise((done) => child.once('close', done))).toBe(0);
    expect(said).not.toMatch(/EMFILE/);
  },
);

verifies('LP-13', 'an empty path is a usage error', async () => {
  const state = { state_dir: join(testFolder(), 'state'), version: '0' };
  for (const name of ['socket', 'pipe', 'token_file'])
    await expect(serve({ ...state, [name]: '' })).rejects.toThrow(/needs a path/);
});
