/** The fault injector: compiled from inject.c once per version, and the variables that control it. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, 'inject.c');
/** Compiled code and saved findings; not part of the checkout. */
export const TORTURE_FOLDER = join(
  import.meta.dirname,
  '../..',
  'node_modules',
  '.tacho',
  'torture',
);

export type Mode = 'kill' | 'tear' | 'once' | 'on' | 'short';
export type Errno = 'ENOSPC' | 'EIO' | 'EMFILE' | 'EROFS' | 'EACCES';

export interface Injection {
  /** `count`: nothing is disturbed, all kinds of operations are counted. */
  mode: Mode | 'count';
  /** Null when the mode needs none. */
  errno: Errno | null;
  /** Number of the operation, from 1; 0: only count. */
  at: number;
}

const CHANGES = 'create,write,sync,truncate,rename,link,unlink,mkdir,rmdir,chmod';

/** The operations that can fail in each way on a real disk. */
const OPERATIONS: Record<Errno, string> = {
  ENOSPC: 'create,write,sync,rename,link,mkdir',
  EIO: `open,read,${CHANGES}`,
  EMFILE: 'open,create',
  EROFS: CHANGES,
  EACCES: 'open,create,rename,link,unlink,mkdir,rmdir,chmod',
};

export const ERRNOS = Object.keys(OPERATIONS) as Errno[];

/** The counted kinds of operations, separated by commas. */
export function operationsOf({ mode, errno }: Omit<Injection, 'at'>): string {
  if (mode === 'count') return `open,read,${CHANGES}`;
  if (mode === 'short') return 'write';
  return errno === null ? CHANGES : OPERATIONS[errno];
}

/** Why faults cannot be injected on this machine; null when they can. */
export function whyNoInjection(): string | null {
  if (process.platform !== 'linux') return 'needs Linux';
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  if (header.glibcVersionRuntime === undefined) return 'needs glibc';
  const found = spawnSync('cc', ['--version']);
  return found.status === 0 ? null : 'needs cc';
}

/** Path of the library. */
export function compileInjector(): string {
  const version = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  const path = join(TORTURE_FOLDER, `inject-${version}.so`);
  if (existsSync(path)) return path;
  mkdirSync(TORTURE_FOLDER, { recursive: true });
  const made = `${path}.${process.pid}`;
  const args = ['-shared', '-fPIC', '-O2', '-o', made, SOURCE, '-ldl'];
  const { status, stderr } = spawnSync('cc', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cc ${args.join(' ')}: ${stderr}`);
  renameSync(made, path);
  return path;
}

export function injectorEnv(
  library: string,
  injection: Injection,
  { folder, log }: { folder: string; log: string },
): Record<string, string> {
  return {
    LD_PRELOAD: library,
    INJECT_DIR: folder,
    INJECT_LOG: log,
    INJECT_OPS: operationsOf(injection),
    INJECT_AT: String(injection.at),
    INJECT_MODE: injection.mode,
    INJECT_ERRNO: String(injection.errno === null ? 0 : constants.errno[injection.errno]),
  };
}
