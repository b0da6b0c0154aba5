/**
 * A folder in which cases run one after another: a disk with faults (state folder, temporary files), a home,
 * a work folder, programs, and a second state folder for the other end of a live connection. Cases start from a template
 * restored at the same path. Every process ends with its case.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { compileInjector, type Injection, injectorEnv, TORTURE_FOLDER } from './inject.ts';

const BIN = join(import.meta.dirname, '../..', 'bin/tacho.cjs');
/** No command of a scenario needs more than a second or two, even on a busy machine. */
const LIMIT_MS = 90_000;

export interface Ran {
  args: readonly string[];
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Killed because it took too long. */
  late: boolean;
  /** Other commands that took part. */
  others?: Ran[];
}

export interface RunOptions {
  injection?: Injection | null;
  input?: string;
  env?: Record<string, string>;
}

export interface Started {
  child: ChildProcess;
  done: Promise<Ran>;
}

const lanes = new Set<Lane>();

/** Kills all processes and removes all folders when the whole program is stopped. */
export function closeLanes(): void {
  for (const lane of lanes) lane.close();
}

export class Lane {
  readonly root: string;
  readonly #library = compileInjector();
  readonly #running = new Set<ChildProcess>();

  constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'tacho-torture-')));
    lanes.add(this);
    this.clear();
  }

  get folder(): string {
    return join(this.root, 'case');
  }
  get disk(): string {
    return join(this.folder, 'disk');
  }
  get state(): string {
    return join(this.disk, 'state');
  }
  get temporary(): string {
    return join(this.disk, 'tmp');
  }
  get home(): string {
    return join(this.folder, 'home');
  }
  get work(): string {
    return join(this.folder, 'work');
  }
  get programs(): string {
    return join(this.folder, 'bin');
  }
  get peer(): string {
    return join(this.folder, 'peer');
  }
  get log(): string {
    return join(this.root, 'operations');
  }

  clear(): void {
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.log, { force: true });
    for (const path of [this.disk, this.temporary, this.home, this.work, this.programs])
      mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  save(name: string): void {
    copy(this.folder, join(this.root, name));
  }

  load(name: string): void {
    copy(join(this.root, name), this.folder);
    rmSync(this.log, { force: true });
  }

  tacho(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return this.start(args, options).done;
  }

  start(args: readonly string[], options: RunOptions = {}): Started {
    const cache = join(TORTURE_FOLDER, 'cache');
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    const { injection = null } = options;
    // With this flag the collector does not re-execute itself, which would lose the injector.
    const flags = args[0] === 'serve' ? ['--max-semi-space-size=2'] : [];
    const child = spawn(process.execPath, [...flags, BIN, ...args], {
      cwd: this.work,
      env: {
        PATH: [this.programs, dirname(process.execPath), process.env.PATH].join(delimiter),
        HOME: this.home,
        TMPDIR: this.temporary,
        NODE_COMPILE_CACHE: cache,
        XDG_CACHE_HOME: cache,
        TACHO_HOME: this.state,
        ...options.env,
        ...(injection &&
          injectorEnv(this.#library, injection, { folder: this.disk, log: this.log })),
      },
    });
    this.#running.add(child);
    const done = collect(child, args).finally(() => this.#running.delete(child));
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
    return { child, done };
  }

  /** The operations of the last command that ran with an injection: kind and path. */
  operations(): string[] {
    if (!existsSync(this.log)) return [];
    return readFileSync(this.log, 'utf8').split('\n').slice(0, -1);
  }

  /** Processes of the current case, including those of its agents. */
  processes(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        try {
          return readFileSync(`/proc/${name}/environ`, 'latin1').includes(`=${this.folder}/`);
        } catch {
          return false;
        }
      })
      .map(Number);
  }

  /** Waits briefly for all processes of the case to exit; kills and returns the rest. */
  async settle(): Promise<string[]> {
    for (let waited = 0; waited < 100 && this.processes().length > 0; waited++) await sleep(20);
    const left = this.processes().map((pid) => `${pid} ${commandOf(pid)}`);
    this.end();
    return left;
  }

  end(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    for (const pid of this.processes()) killQuietly(pid);
  }

  close(): void {
    lanes.delete(this);
    this.end();
    rmSync(this.root, { recursive: true, force: true });
  }
}

function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  // Not cpSync, which gives folders other modes.
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cp ${from} ${to}: ${stderr}`);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').slice(0, 200);
  } catch {
    return '';
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited.
  }
}

function collect(child: ChildProcess, args: readonly string[]): Promise<Ran> {
  let [stdout, stderr, late] = ['', '', false];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, LIMIT_MS);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ args, code, signal, stdout, stderr, late });
    });
  });
}
