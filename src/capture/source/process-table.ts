/** The system's processes at one moment, from /proc if it exists, otherwise from `ps`. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFile, readlinkSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type ProcessStat, readStat } from '../../lib/process-stat.ts';

export interface ProcessTable {
  /** Running processes, without zombies. */
  list(): Promise<ProcessStat[]>;
  /** The start time of a running process. Null if there is none. */
  startOf(pid: number): string | null;
  /** Whether start time `a` is not earlier than `b`. True if that is unknown. */
  notEarlier(a: string, b: string): boolean;
  /** Whether the environment that a process was started with contains `entry` (`NAME=value`). */
  hasEnv(pid: number, entry: string): Promise<boolean>;
}

/** Processes inspected before yielding to the event loop. */
const SLICE = 64;
const PS_WAIT_MS = 5_000;
const PS_OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Not from `fs/promises`, which is slow to load. */
const readText = promisify(readFile);

let ours: boolean | undefined;

/** Whether /proc uses our process numbers. In another namespace they belong to other processes. */
function isOurs(): boolean {
  try {
    ours ??= readlinkSync('/proc/self') === String(process.pid);
  } catch {
    ours = false;
  }
  return ours;
}

export const procTable: ProcessTable = {
  async list() {
    const found: ProcessStat[] = [];
    const pids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
    for (const [i, pid] of pids.entries()) {
      if (i % SLICE === SLICE - 1) await turn();
      const one = readStat(pid);
      if (one !== null) found.push(one);
    }
    return found;
  },
  startOf: (pid) => (isOurs() ? (readStat(pid)?.start ?? null) : null),
  notEarlier: (a, b) => Number(a) >= Number(b),
  async hasEnv(pid, entry) {
    try {
      const text = await readText(`/proc/${pid}/environ`, 'latin1');
      return `\0${text}\0`.includes(`\0${entry}\0`);
    } catch {
      return false;
    }
  },
};

const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w+ +\w+ +\d+ +[\d:]+ +\d+)\s+(.*)$/;

const PS_COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart=,comm=';

/** One line of `ps -o` with those columns. */
export function parsePsLine(line: string): ProcessStat | null {
  const parts = PS_LINE.exec(line);
  if (parts === null || parts[4]?.startsWith('Z')) return null;
  return {
    pid: Number(parts[1]),
    ppid: Number(parts[2]),
    pgid: Number(parts[3]),
    session: null,
    name: parts[6] ?? '',
    start: parts[5] ?? '',
  };
}

const psOptions = () => ({
  env: { ...process.env, LC_ALL: 'C' },
  encoding: 'utf8' as const,
  timeout: PS_WAIT_MS,
  maxBuffer: PS_OUTPUT_BYTES_MAX,
});

export const psTable: ProcessTable = {
  list: () =>
    new Promise((done) => {
      execFile('ps', ['-ax', '-o', PS_COLUMNS], psOptions(), (_error, stdout) => {
        const lines = stdout.split('\n').map(parsePsLine);
        done(lines.filter((one) => one !== null));
      });
    }),
  startOf(pid) {
    try {
      const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
      const options = { ...psOptions(), stdio };
      const text = execFileSync('ps', ['-o', PS_COLUMNS, '-p', String(pid)], options);
      return parsePsLine(text.trimEnd())?.start ?? null;
    } catch {
      return null;
    }
  },
  // In whole seconds, and some systems round differently each time.
  notEarlier: (a, b) => !(Date.parse(a) < Date.parse(b) - 1_000),
  // No `ps` shows another process's environment in a reliable form.
  hasEnv: async () => false,
};

export const systemTable: ProcessTable = existsSync('/proc/self/stat') ? procTable : psTable;
