/** A `tacho serve` process for tests, which can stop and restart it, and its stored messages. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readAll } from '../src/store/journal/read.ts';

const BIN = join(import.meta.dirname, '../bin/tacho.cjs');

export interface ServeProcess {
  readonly pid: number;
  /** The first address it listens on. */
  readonly url: string;
  /** Sends the signal; resolves with the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Without `args`: on the socket of the state folder. */
export function startServe(state: string, ...args: string[]): Promise<ServeProcess> {
  // Without the sessions of the user who runs the tests.
  const all = [BIN, 'serve', '--json', '--no-watch', ...args];
  const env = { ...process.env, TACHO_HOME: state };
  const child = spawn(process.execPath, all, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return new Promise((resolve, reject) => {
    let [out, err] = ['', ''];
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (!out.includes('\n')) return;
      const { listening, pid } = JSON.parse(out);
      const end = (signal: NodeJS.Signals) => {
        child.kill(signal);
        return ended;
      };
      resolve({ pid, url: listening[0], end });
    });
    void ended.then((code) => reject(new Error(`the collector exited with ${code}: ${err}`)));
  });
}

/** The stored lines of each session of a collector's state folder, in journal order. */
export async function storedIn(state: string): Promise<Map<string, string[]>> {
  const sessions = new Map<string, string[]>();
  for await (const { session, source, body } of readAll(join(state, 'live/journal'))) {
    if (source !== 'live') continue;
    const lines = sessions.get(session);
    if (lines === undefined) sessions.set(session, [body]);
    else lines.push(body);
  }
  return sessions;
}

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
