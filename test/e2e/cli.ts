/** The built CLI as a child process, each test in its own folder; leftover processes and files are removed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import { checkRunEvent } from '../../src/model/generated/checks.ts';
import { CHAOS, played } from '../chaos-agent.ts';
import { checkRunEvents } from '../contract/check-run-event.ts';
import { segmentText } from '../fixtures/edit-journal.ts';

export const root = join(import.meta.dirname, '../..');
export const bin = join(root, 'bin/tacho.cjs');
export const fixture = (name: string) => join(root, 'test/fixtures', name);

// biome-ignore lint/suspicious/noExplicitAny: records are read loosely here; the contract check is what types them
export type Row = any;

export interface Options {
  cwd?: string;
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Called after each chunk with all of stdout so far. */
  seen?: (sofar: string, child: ChildProcess) => void;
  /** How stdout is checked against the contract: as a complete stream, as one cut by our own kill, or not at all. */
  contract?: 'whole' | 'cut' | 'none';
  /** Run by this program instead: its own arguments are followed by node's path and all arguments. */
  under?: string[];
}

export interface Result {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  bytes: Buffer;
  stderr: string;
  /** The parsed lines of stdout, when they are JSON lines. */
  records: Row[];
}

export interface Started {
  child: ChildProcess;
  pid: number;
  done: Promise<Result>;
}

export interface Place {
  readonly folder: string;
  /** Where the agent works. */
  readonly work: string;
  readonly state: string;
  start(args: readonly string[], options?: Options): Started;
  tacho(args: readonly string[], options?: Options): Promise<Result>;
  /** Running processes of this place. */
  left(): number[];
}

/** Every stdout of `run` and `replay` in json mode follows the contract, whatever the test is about (RE-25). */
function holdContract(args: readonly string[], result: Result, how: Options['contract']): void {
  if (how === 'none' || !/^(run|replay)$/.test(args[0] ?? '')) return;
  if (args[args.indexOf('--output') + 1] !== 'json' || result.code === 2) return;
  const stream = args.includes('--stream');
  const breaches = checkRunEvents(result.bytes, { stream, cut: how === 'cut' });
  expect(breaches, result.stderr).toEqual([]);
  expect(result.records.filter((record) => !checkRunEvent(record))).toEqual([]);
}

export function linesOf(text: string): Row[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole === ''
    ? []
    : whole
        .slice(0, -1)
        .split('\n')
        .map((line) => JSON.parse(line));
}

function parsed(text: string): Row[] {
  try {
    return linesOf(text);
  } catch {
    return [];
  }
}

/** Processes with this text in their environment. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const withoutNotes = (result: Result): Result => ({
  ...result,
  stderr: result.stderr.replace(/^note: .* \(trusted\)\n/gm, ''),
});

/** A folder for each test, with `TACHO_HOME` in it. `trust`: its files are approved, as in CI, and stderr has no notes
 * about that. */
export function usePlace({ trust = false } = {}): Place {
  let folder = '';
  const trusting = (options: Options): Options =>
    trust ? { ...options, env: { TACHO_TRUST: '1', ...options.env } } : options;
  const place: Place = {
    get folder() {
      return folder;
    },
    get work() {
      return join(folder, 'work');
    },
    get state() {
      return join(folder, 'state');
    },
    start: (args, options = {}) => {
      const started = start(place, args, trusting(options));
      return trust ? { ...started, done: started.done.then(withoutNotes) } : started;
    },
    tacho: (args, options = {}) => place.start(args, options).done,
    left: () => processesWith(`TACHO_HOME=${place.state}`),
  };
  beforeEach(() => {
    if (!existsSync(join(root, 'dist/cli.cjs'))) throw new Error('not built: npm run build');
    folder = mkdtempSync(join(tmpdir(), 'tacho-e2e-'));
    mkdirSync(place.work);
  });
  afterEach(async () => {
    for (const pid of place.left()) kill(pid);
    await until(() => place.left().length === 0, 'the end of all processes');
    rmSync(folder, { recursive: true, force: true });
  });
  return place;
}

export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has already exited.
  }
}

function start(place: Place, args: readonly string[], options: Options): Started {
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: place.folder,
    TACHO_HOME: place.state,
    // Shared by all tests, so that each start finds compiled code.
    XDG_CACHE_HOME: join(process.env.XDG_STATE_HOME ?? place.folder, 'cache'),
    ...options.env,
  };
  const [command = '', ...rest] = [...(options.under ?? []), process.execPath, bin, ...args];
  const child = spawn(command, rest, { cwd: options.cwd ?? place.work, env });
  const done = collect(child, options).then((result) => {
    holdContract(args, result, options.contract);
    return result;
  });
  done.catch(() => {});
  return { child, pid: child.pid as number, done };
}

function collect(child: ChildProcess, options: Options): Promise<Result> {
  const pieces: Buffer[] = [];
  let stderr = '';
  let sofar = '';
  child.stdout?.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (options.seen === undefined) return;
    sofar += piece.toString();
    options.seen(sofar, child);
  });
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece;
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input ?? '');
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(pieces);
      const stdout = bytes.toString('utf8');
      resolve({ code, signal, stdout, bytes, stderr, records: parsed(stdout) });
    });
  });
}

/** Waits for a condition. Fails the test after a generous time limit. */
export async function until(condition: () => boolean, what = 'condition'): Promise<void> {
  const end = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`timed out waiting for: ${what}`);
    await sleep(10);
  }
}

/** Arguments for a run in json mode that plays a script with the chaos agent. */
export function demo(script: string, ...more: string[]): string[] {
  return ['run', ...CHAOS, '--output', 'json', ...more, 'please', '--', ...played(script)];
}

export const finished = (result: Result): Row => result.records.at(-1)?.data;

/** The bytes of a file; for a packed journal segment, its text. */
function contentOf(path: string): Buffer {
  const is_packed = /[/\\]journal[/\\][^/\\]+\.jsonl\.zst$/.test(path);
  return is_packed ? segmentText(path.slice(0, -'.zst'.length)) : readFileSync(path);
}

/** Every file below a folder, with its bytes. */
export function filesBelow(folder: string): { path: string; bytes: Buffer }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: contentOf(path) }));
}

/** Unfinished runs have a folder here. */
export function spools(place: Place): string[] {
  const folder = join(place.state, 'spool');
  return existsSync(folder) ? readdirSync(folder) : [];
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}
