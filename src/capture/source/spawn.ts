/** Starts an agent in its own session, with regular files or pipes as stdout and stderr, and a file or a pipe as stdin. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  statSync,
} from 'node:fs';
import type { Writable } from 'node:stream';
import { type ErrorCode, errnoOf, TachoError, withPath } from '../../lib/errors.ts';
import { isFolder, lookUpProgram } from './find-program.ts';
import { startOf } from './process-tree.ts';

export interface ResolvedLaunch {
  /** A path, or a name that is looked up in `env.PATH`. */
  command: string;
  args: readonly string[];
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Null: stdin is empty. */
  stdin_path: string | null;
  /** If set, stdin is a pipe and the process's `stdin` is its other end. It is closed when this process dies. */
  stdin_open?: boolean;
  /** Both are existing regular files. The agent appends to them itself unless it has `output_fds`. */
  stdout_path: string;
  stderr_path: string;
  /** If not empty, used as the agent's stdout and stderr instead of the files. The caller closes them. */
  output_fds?: readonly number[];
}

export interface AgentExit {
  exit_code: number | null;
  signal: NodeJS.Signals | null;
}

export interface AgentProcess {
  /** Also the id of its process group and session. Null if it could not be started. */
  pid: number | null;
  /** Start time as the system counts it, to detect pid reuse. Null if unknown. */
  start: string | null;
  /** The other end of its stdin. Null if stdin is not a pipe. Write errors are ignored. */
  stdin: Writable | null;
  /** Rejects with a TachoError if the program could not be started. An unhandled rejection is harmless. */
  started: Promise<void>;
  /** Never rejects. An agent that was never started has neither exit code nor signal. */
  exited: Promise<AgentExit>;
}

const STAGE = 'spawn';

function resolveProgram(plan: ResolvedLaunch): string {
  const found = lookUpProgram(plan.command, plan.env.PATH, plan.cwd);
  if (found.state === 'found') return found.path;
  if (found.state === 'not_executable') {
    const why = isFolder(found.path)
      ? 'is a folder, not a program'
      : 'is not executable: chmod +x it';
    throw new TachoError('agent_not_executable', `${found.path} ${why}`, { stage: STAGE });
  }
  const where = plan.command.includes('/') ? 'there is no such file' : 'it is not on the PATH';
  throw new TachoError('agent_missing', `cannot start "${plan.command}": ${where}`, {
    stage: STAGE,
  });
}

/** Throws if an agent cannot work there. */
export function checkFolder(cwd: string, stage = STAGE): void {
  let why = 'there is no such folder';
  try {
    if (statSync(cwd).isDirectory()) {
      accessSync(cwd, constants.X_OK);
      return;
    }
    why = 'it is not a folder';
  } catch (cause) {
    if (errnoOf(cause) === 'EACCES') why = 'permission denied';
  }
  throw new TachoError('cwd_missing', `cannot work in ${cwd}: ${why}`, { stage });
}

function openRegular(path: string, flags: number): number {
  return withPath(path, STAGE, () => {
    // Opening a FIFO would block this whole process, so the kind of file is checked first.
    const found = lstatSync(path);
    if (!found.isFile() && !found.isSymbolicLink()) throw notRegular(path);
    const fd = openSync(path, flags | constants.O_NOFOLLOW);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw notRegular(path);
  });
}

function notRegular(path: string): TachoError {
  return new TachoError('not_a_file', `${path}: not a regular file`, { stage: STAGE });
}

/** Opens everything that is not a pipe. */
function openStdio(plan: ResolvedLaunch): number[] {
  const { stdin_path, stdout_path, stderr_path } = plan;
  const fds: number[] = [];
  try {
    const append = constants.O_WRONLY | constants.O_APPEND;
    if (plan.stdin_open !== true) {
      const { O_RDONLY } = constants;
      const empty = stdin_path === null;
      fds.push(empty ? openSync('/dev/null', O_RDONLY) : openRegular(stdin_path, O_RDONLY));
    }
    if (!plan.output_fds?.length) {
      fds.push(openRegular(stdout_path, append));
      fds.push(openRegular(stderr_path, append));
    }
    return fds;
  } catch (cause) {
    closeAll(fds);
    throw cause;
  }
}

function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd);
}

/** The cause is not kept: Node's error contains every argument, including the prompt. */
function spawnError(cause: unknown, program: string, plan: ResolvedLaunch): TachoError {
  if (cause instanceof TachoError) return cause;
  const errno = errnoOf(cause) || 'unknown error';
  const longest = () => Math.max(0, ...plan.args.map((arg) => Buffer.byteLength(arg)));
  const failed = (code: ErrorCode, why: string, retryable = false) =>
    new TachoError(code, `cannot start ${program}: ${why}`, { stage: STAGE, retryable });
  switch (errno) {
    case 'ENOENT':
      return failed('agent_not_executable', 'the interpreter in its first line is missing');
    case 'EACCES':
    case 'ENOEXEC':
    case 'EPERM':
      return failed('agent_not_executable', `the system refuses to execute it (${errno})`);
    case 'E2BIG':
      return failed(
        'spawn_failed',
        `its arguments and environment are too long for this system (the longest argument has ${longest()} bytes): pass it shorter arguments`,
      );
    case 'ERR_INVALID_ARG_VALUE':
      return failed('spawn_failed', 'an argument or environment variable contains a NUL character');
    default:
      return failed('spawn_failed', errno, ['EAGAIN', 'EMFILE', 'ENFILE'].includes(errno));
  }
}

function notStarted(error: TachoError): AgentProcess {
  const started = Promise.reject(error);
  started.catch(() => {});
  const exited = Promise.resolve({ exit_code: null, signal: null });
  return { pid: null, start: null, stdin: null, started, exited };
}

function follow(child: ChildProcess, program: string, plan: ResolvedLaunch): AgentProcess {
  const started = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<AgentExit>();
  started.promise.catch(() => {});
  child.once('spawn', () => started.resolve());
  child.on('error', (cause) => {
    started.reject(spawnError(cause, program, plan));
    if (child.pid === undefined) exited.resolve({ exit_code: null, signal: null });
  });
  child.once('exit', (exit_code, signal) => exited.resolve({ exit_code, signal }));
  const pid = child.pid ?? null;
  // The child is not reaped before the event loop turns, so the pid is still the child's.
  const start = pid === null ? null : startOf(pid);
  // An agent that closed its stdin or has ended is noticed by its exit.
  child.stdin?.on('error', () => {});
  return { pid, start, stdin: child.stdin, started: started.promise, exited: exited.promise };
}

/** Never throws: every failure is the rejection of `started`. */
export function spawnAgent(plan: ResolvedLaunch): AgentProcess {
  let program = plan.command;
  let fds: number[] = [];
  try {
    checkFolder(plan.cwd);
    program = resolveProgram(plan);
    fds = openStdio(plan);
    const given = [...fds, ...(plan.output_fds ?? [])];
    const child = spawn(program, plan.args, {
      cwd: plan.cwd,
      env: plan.env,
      stdio: plan.stdin_open ? ['pipe', ...given] : given,
      detached: true,
    });
    return follow(child, program, plan);
  } catch (cause) {
    return notStarted(spawnError(cause, program, plan));
  } finally {
    closeAll(fds);
  }
}
