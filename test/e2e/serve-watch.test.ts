/** `tacho serve` watches as well, in a process of its own. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { isRunning, kill, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const SESSION = join(root, 'src/agents/claude/testdata/bash-ok/session');

async function until<T>(what: string, find: () => Promise<T | null>): Promise<T> {
  const end = performance.now() + 60_000;
  for (;;) {
    const found = await find();
    if (found !== null) return found;
    if (performance.now() > end) throw new Error(`it did not happen: ${what}`);
    await sleep(100);
  }
}

/** Starts a collector and collects what it says. */
function serving(...args: string[]) {
  let said = '';
  const started = place.start(['serve', ...args]);
  started.child.stderr?.on('data', (text: string) => {
    said += text;
  });
  return { ...started, said: () => said };
}

const watcher = async () => {
  const { stdout } = await place.tacho(['watch', '--status', '--json']);
  const { running, health } = JSON.parse(stdout);
  return running && health !== null && isRunning(health.pid) ? (health.pid as number) : null;
};
const priority = (pid: number) =>
  Number(
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')[16],
  );

verifies(
  'WA-2',
  'serve watches in another process, starts it again after it died, and takes it along when it is killed',
  async () => {
    cpSync(SESSION, place.folder, { recursive: true });
    const serve = serving();
    await until('the run', async () => {
      const { stdout } = await place.tacho(['runs', 'list', '--json']);
      return stdout.includes('"agent":"claude"') ? true : null;
    });
    const first = await until('the watcher', watcher);
    expect(first).not.toBe(serve.pid);
    expect(priority(first)).toBeGreaterThan(priority(serve.pid));
    kill(first);
    const second = await until('another watcher', watcher);
    expect(second).not.toBe(first);
    expect(serve.said()).toMatch(/watch: the watcher ended \(SIGKILL\); it is started again in/);
    kill(serve.pid);
    await until('the end of the watcher', async () => (isRunning(second) ? null : true));
  },
  120_000,
);

verifies(
  'WA-2',
  'if another watcher runs, serve says so once and continues; with --no-watch it starts none',
  async () => {
    const alone = serving('--no-watch');
    await until('the collector', async () => (alone.said().includes('listening') ? true : null));
    expect(await watcher()).toBeNull();
    const other = place.start(['watch']);
    const pid = await until('the watcher', watcher);
    kill(alone.pid, 'SIGTERM');
    expect((await alone.done).code).toBe(0);
    const both = serving();
    const text = `watch: process ${pid} watches for this store already`;
    await until('the notice', async () => (both.said().includes(text) ? true : null));
    kill(both.pid, 'SIGTERM');
    expect((await both.done).code).toBe(0);
    expect(isRunning(pid)).toBe(true);
    kill(other.pid, 'SIGTERM');
    expect((await other.done).code).toBe(0);
  },
  120_000,
);
