import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { endTree, startOf } from '../../src/capture/source/process-tree.ts';
import { verifies } from './verifies.ts';

/** Counts its interrupts; at each it starts another process in its group, as agents do when they shut down. */
const WINDS_UP = `
n=0
trap 'n=$((n+1)); echo "$n" > interrupts; (sleep 0.6) & wait $!; [ "$n" = 1 ] && exit 0; exit 9' INT
touch ready
while :; do sleep 0.05; done`;

verifies(
  'RE-22',
  'an agent is interrupted once, whatever it starts while shutting down',
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'tacho-interrupt-'));
    const child = spawn('bash', ['-c', WINDS_UP], { cwd, detached: true, stdio: 'ignore' });
    try {
      const exited = once(child, 'exit');
      const pid = child.pid as number;
      const start = startOf(pid);
      while (!existsSync(join(cwd, 'ready'))) await sleep(20);
      const root = { pid, run_id: 'r_none', start };
      const end = await endTree(root, { grace_ms: 20_000, signal: 'SIGINT' });
      expect({ end: end.left, exit: await exited }).toEqual({ end: 0, exit: [0, null] });
      expect(readFileSync(join(cwd, 'interrupts'), 'utf8')).toBe('1\n');
    } finally {
      child.kill('SIGKILL');
      rmSync(cwd, { recursive: true, force: true });
    }
  },
  60_000,
);
