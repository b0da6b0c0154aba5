/**
 * The watcher of a collector (WA-2): a process of its own with a low priority, because a slow import or a crash must not
 * delay acknowledgements. Contract: it is started again after it failed, later each time, and ends with this process.
 * Never throws. While another watcher follows for the store, it waits.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { durationText } from '../../lib/figures.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { packageRoot } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { watchStatus } from './health.ts';

/** A watcher that ran for this long had started well: the next wait is short again. */
const STARTED_WELL_MS = 60_000;

export interface Beside {
  stop(): Promise<void>;
}

/** `say`: receives what the user should know. */
export function watchBeside(state_dir: string, say: (text: string) => void): Beside {
  const beside = new WatcherProcess(state_dir, say);
  beside.start();
  return { stop: () => beside.stop() };
}

class WatcherProcess {
  readonly #state_dir: string;
  readonly #say: (text: string) => void;
  #child: ChildProcess | null = null;
  #closed: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #wait_ms: number = APP_LIMITS.watch_again_ms;
  #said_other = false;
  #stopped = false;

  constructor(state_dir: string, say: (text: string) => void) {
    this.#state_dir = state_dir;
    this.#say = say;
  }

  start(): void {
    if (this.#stopped) return;
    const other = this.#other();
    if (other !== null) {
      if (!this.#said_other) this.#say(other);
      this.#said_other = true;
      this.#again(APP_LIMITS.watch_beside_ms);
      return;
    }
    const started_ms = performance.now();
    const child = this.#spawn();
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    let over = false;
    const ended = (why: string) => {
      if (over) return;
      over = true;
      this.#child = null;
      resolve();
      this.#ended(why, performance.now() - started_ms);
    };
    child.on('error', (error) => ended(error.message));
    child.on('close', (code, signal) => ended(signal ?? `exit code ${code}`));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const child = this.#child;
    if (child === null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), APP_LIMITS.watch_stop_ms);
    await this.#closed;
    clearTimeout(timer);
  }

  #other(): string | null {
    try {
      const { running, health } = watchStatus(openStateDir(this.#state_dir));
      if (!running) return null;
      const who = health === null ? 'another process' : `process ${health.pid}`;
      return `${who} watches for this store already`;
    } catch {
      // The watcher itself reports why.
      return null;
    }
  }

  #spawn(): ChildProcess {
    const launcher = join(packageRoot(), 'bin', 'tacho.cjs');
    const args = [launcher, '--state-dir', this.#state_dir, 'watch'];
    const child = spawn(process.execPath, args, {
      // The last pipe ends the watcher with this process, however this process exits.
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, TACHO_LAUNCHER_FD: '3' },
    });
    try {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // The system does not allow it, or it has ended already.
    }
    let rest = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = (lines.pop() ?? '').slice(0, LINE_CHARS_MAX);
      for (const line of lines) this.#say(line);
    });
    return child;
  }

  #ended(why: string, ran_ms: number): void {
    if (this.#stopped) return;
    if (ran_ms >= STARTED_WELL_MS) this.#wait_ms = APP_LIMITS.watch_again_ms;
    const wait_ms = this.#wait_ms;
    this.#wait_ms = Math.min(2 * wait_ms, APP_LIMITS.watch_again_ms_max);
    this.#say(`the watcher ended (${why}); it is started again in ${durationText(wait_ms)}`);
    this.#again(wait_ms);
  }

  #again(wait_ms: number): void {
    this.#timer = setTimeout(() => this.start(), wait_ms).unref();
  }
}

const LINE_CHARS_MAX = 4_096;
