/** `tacho watch --json` as a user starts it, and the same killed again and again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchStatus } from '../../src/app/watch/health.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { INSIDE } from '../agents/agent.ts';

const TACHO = `${INSIDE.project}/bin/tacho.cjs`;
const POLL_MS = 20;
/** A kill comes at any moment of a watcher's life: while it starts, reads what exists, or follows. */
const LIFE_MS = { min: 100, max: 1_500 };

/** A line of `tacho watch --json`, and when it was printed. */
export interface Row {
  at_ms: number;
  state: string;
  agent: string;
  path: string;
  session_id: string | null;
  run_id: string | null;
  why: string | null;
}

export class Watch {
  readonly rows: Row[] = [];
  kills = 0;
  /** Ends of watchers that nobody ended. */
  readonly died: string[] = [];
  readonly #env: NodeJS.ProcessEnv;
  readonly #state: string;
  #child: ChildProcess | null = null;
  #ending = false;
  #stopped = false;

  constructor(env: NodeJS.ProcessEnv, state: string) {
    this.#env = env;
    this.#state = state;
  }

  start(): void {
    const child = spawn(process.execPath, [TACHO, 'watch', '--json'], {
      cwd: INSIDE.home,
      env: this.#env,
      stdio: ['ignore', 'pipe', openSync(`${INSIDE.out}/watch.err`, 'a')],
    });
    this.#ending = false;
    child.on('exit', (code, signal) => {
      if (!this.#ending) this.died.push(`the watcher ended by itself: ${signal ?? code}`);
    });
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const at_ms = Date.now();
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        appendFileSync(`${INSIDE.out}/watch.jsonl`, `${at_ms} ${line}\n`);
        this.rows.push({ at_ms, ...(JSON.parse(line) as Omit<Row, 'at_ms'>) });
      }
    });
    this.#child = child;
  }

  /** Waits until everything that exists is imported. */
  async ready(limit_ms: number): Promise<boolean> {
    const end_ms = Date.now() + limit_ms;
    while (Date.now() < end_ms) {
      const { running, health } = watchStatus(openStateDir(this.#state));
      if (running && health?.pid === this.#child?.pid) return true;
      await sleep(POLL_MS);
    }
    return false;
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    this.#ending = true;
    if (child === null || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
    child.kill(signal);
    return closed;
  }

  /** Kills and restarts it until `stop` is called, and at least this often. */
  async keepKilling(at_least: number): Promise<void> {
    while (!this.#stopped || this.kills < at_least) {
      this.start();
      await sleep(LIFE_MS.min + Math.random() * (LIFE_MS.max - LIFE_MS.min));
      await this.end('SIGKILL');
      this.kills += 1;
    }
  }

  stop(): void {
    this.#stopped = true;
  }
}
