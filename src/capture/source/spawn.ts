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
  /** A path, or a name that is looked up on `env.PATH`. */
  command: string;
  args: readonly string[];
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** null: stdin is empty. */
  stdin_path: string | null;
  /** Set: stdin is a pipe, whose other end is the process's `stdin`; when we die, it ends. */
  stdin_open?: boolean;
  /** Both exist already, as regular files; the agent appends to them itself, unless it has `output_fds`. */
  stdout_path: string;
  stderr_path: string;
  /** What the agent gets as stdout and stderr instead of the files, unless it is empty; the caller closes them. */
  output_fds?: readonly number[];
}

export interface AgentExit {
  exit_code: number | null;
  signal: NodeJS.Signals | null;
}

export interface AgentProcess {
  /** Also the id of its process group and session; null when it could not be started. */
  pid: number | null;
  /** Start time by the system's own count, the guard against pid reuse; null where it is not known. */
  start: string | null;
  /** The other end of its stdin; null: that is no pipe. Whether the agent still reads is nobody's worry. */
  stdin: Writable | null;
  /** Rejects with a TachoError when the program could not be started; may be left unwatched. */
  started: Promise<void>;
  /** Never rejects. An agent that was never started has neither exit code nor signal. */
  exited: Promise<AgentExit>;
}

const STAGE = 'spawn';

function resolveProgram(plan: ResolvedLaunch): string {
  const found = lookUpProgram(plan.command, plan.env.PATH, plan.cwd);
  if (found.state === 'found') return found.path;
  if (found.state === 'not_executable') {
    const why = isFolder(found.path) ? 'is a folder, no program' : 'is not executable: chmod +x it';
    throw new TachoError('agent_not_executable', `${found.path} ${why}`, { stage: STAGE });
  }
  const where = plan.command.includes('/') ? 'there is no such file' : 'it is not on the PATH';
  throw new TachoError('agent_missing', `cannot start "${plan.command}": ${where}`, {
    stage: STAGE,
  });
}

function checkFolder(cwd: string): void {
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
  throw new TachoError('cwd_missing', `cannot work in ${cwd}: ${why}`, { stage: STAGE });
}

function openRegular(path: string, flags: number): number {
  return withPath(path, STAGE, () => {
    // Opening a FIFO would block this whole process, so its kind is looked at first.
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

/** All but what is a pipe. */
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

/** The cause is not kept: Node's error holds every argument, and with them the prompt. */
function spawnError(cause: unknown, program: string, plan: ResolvedLaunch): TachoError {
  if (cause instanceof TachoError) return cause;
  const errno = errnoOf(cause) || 'unknown error';
  const longest = () => Math.max(0, ...plan.args.map((arg) => Buffer.byteLength(arg)));
  const failed = (code: ErrorCode, why: string, retryable = false) =>
    new TachoError(code, `cannot start ${program}: ${why}`, { stage: STAGE, retryable });
  switch (errno) {
    case 'ENOENT':
      return failed('agent_not_executable', 'the interpreter its first line names is missing');
    case 'EACCES':
    case 'ENOEXEC':
    case 'EPERM':
      return failed('agent_not_executable', `the system refuses to execute it (${errno})`);
    case 'E2BIG':
      return failed(
        'spawn_failed',
        `its arguments and environment are too long for this system (the longest argument has ${longest()} bytes): give it less in arguments`,
      );
    case 'ERR_INVALID_ARG_VALUE':
      return failed('spawn_failed', 'an argument or environment variable holds a NUL character');
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
  // Not reaped before the event loop turns, so the pid is certainly still the child's.
  const start = pid === null ? null : startOf(pid);
  // An agent that has closed it, or is gone, is told by its end.
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
