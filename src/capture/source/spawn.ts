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
import { delimiter, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { fileError, TachoError } from '../../lib/errors.ts';
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

export type ProgramLookup =
  | { state: 'found'; path: string }
  | { state: 'not_executable'; path: string }
  | { state: 'missing' };

const STAGE = 'spawn';
/** What the system searches when there is no PATH. */
const PATH_DEFAULT = '/usr/local/bin:/usr/bin:/bin';

function lookAt(path: string): ProgramLookup {
  try {
    if (!statSync(path).isFile()) return { state: 'not_executable', path };
  } catch (cause) {
    const denied = (cause as NodeJS.ErrnoException).code === 'EACCES';
    return denied ? { state: 'not_executable', path } : { state: 'missing' };
  }
  try {
    accessSync(path, constants.X_OK);
    return { state: 'found', path };
  } catch {
    return { state: 'not_executable', path };
  }
}

/** Looks as execvp does: a name with a slash is a path from `cwd`, an empty entry of PATH is `cwd`. */
export function lookUpProgram(name: string, path: string | undefined, cwd: string): ProgramLookup {
  if (name === '' || name.includes('\0')) return { state: 'missing' };
  if (name.includes('/')) return lookAt(resolve(cwd, name));
  let refused: ProgramLookup = { state: 'missing' };
  for (const folder of (path ?? PATH_DEFAULT).split(delimiter)) {
    const found = lookAt(resolve(cwd, folder, name));
    if (found.state === 'found') return found;
    // A folder that happens to have the program's name is no program that lacks a permission.
    if (found.state === 'not_executable' && refused.state === 'missing' && !isFolder(found.path)) {
      refused = found;
    }
  }
  return refused;
}

/** The program's absolute path; null when it is missing or not executable. */
export function findProgram(name: string, path: string | undefined, cwd: string): string | null {
  const found = lookUpProgram(name, path, cwd);
  return found.state === 'found' ? found.path : null;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

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
    if ((cause as NodeJS.ErrnoException).code === 'EACCES') why = 'permission denied';
  }
  throw new TachoError('cwd_missing', `cannot work in ${cwd}: ${why}`, { stage: STAGE });
}

function openRegular(path: string, flags: number): number {
  try {
    // Opening a FIFO would block this whole process, so its kind is looked at first.
    const found = lstatSync(path);
    if (!found.isFile() && !found.isSymbolicLink()) throw notRegular(path);
    const fd = openSync(path, flags | constants.O_NOFOLLOW);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw notRegular(path);
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
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
  const errno = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
  if (errno === 'ENOENT') {
    const say = `cannot start ${program}: the interpreter its first line names is missing`;
    return new TachoError('agent_not_executable', say, { stage: STAGE });
  }
  if (errno === 'EACCES' || errno === 'ENOEXEC' || errno === 'EPERM') {
    const say = `cannot start ${program}: the system refuses to execute it (${errno})`;
    return new TachoError('agent_not_executable', say, { stage: STAGE });
  }
  if (errno === 'E2BIG') {
    const longest = Math.max(0, ...plan.args.map((arg) => Buffer.byteLength(arg)));
    const say = `cannot start ${program}: its arguments and environment are too long for this system (the longest argument has ${longest} bytes): give it less in arguments`;
    return new TachoError('spawn_failed', say, { stage: STAGE });
  }
  if (errno === 'ERR_INVALID_ARG_VALUE') {
    const say = `cannot start ${program}: an argument or environment variable holds a NUL character`;
    return new TachoError('spawn_failed', say, { stage: STAGE });
  }
  const retryable = errno === 'EAGAIN' || errno === 'EMFILE' || errno === 'ENFILE';
  return new TachoError('spawn_failed', `cannot start ${program}: ${errno}`, {
    stage: STAGE,
    retryable,
  });
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
