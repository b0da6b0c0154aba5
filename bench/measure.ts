/** Measures other processes: CPU by the shell's clock, memory by the system's high-water mark. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

export interface Row {
  name: string;
  /** The measured value with its unit. */
  value: string;
  /** The value of the reference in the same run. */
  reference: string;
  ratio: number | null;
  /** The target as text, and whether it was met; null when there is no target. */
  target: string | null;
  ok: boolean | null;
}

/** User and system CPU seconds of a command and its children; the output is discarded. */
export function cpuSeconds(command: readonly string[], cwd = process.cwd()): number {
  const script = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>/dev/null </dev/null';
  const { stderr, status } = spawnSync('bash', ['-c', script, 'bash', ...command], {
    encoding: 'utf8',
    cwd,
  });
  const [user, system] = stderr.trim().split(/\s+/).slice(-2).map(Number);
  if (user === undefined || system === undefined || Number.isNaN(user + system)) {
    throw new Error(`${command.join(' ')}: no times (exit ${status})`);
  }
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}`);
  return user + system;
}

/** The best of several rounds of each, interleaved so that a busy machine affects both. */
export function bestCpu(
  turns: number,
  a: readonly string[],
  b: readonly string[],
): [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < turns; turn++) {
    best[0] = Math.min(best[0], cpuSeconds(a));
    best[1] = Math.min(best[1], cpuSeconds(b));
  }
  return best;
}

/** Largest resident memory of a process in MB. */
export function memoryMb(command: readonly string[]): Promise<number> {
  const [program, ...args] = command as [string, ...string[]];
  const out = openSync('/dev/null', 'w');
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', out, 'inherit'] });
    closeSync(out);
    let most = 0;
    const look = setInterval(() => {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
      } catch {
        // The process ended between two samples.
      }
    }, 10);
    child.on('error', reject);
    child.on('exit', (code) => {
      clearInterval(look);
      if (code === 0) resolve(most / 1024);
      else reject(new Error(`${command.join(' ')} ended with ${code}`));
    });
  });
}
