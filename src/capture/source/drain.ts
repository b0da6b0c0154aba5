/**
 * Pipes in front of the spool, for programs that would truncate a file: the agent writes into a pipe, and a `cat`
 * appends everything to the spool file. The drain is a separate process, so it finishes its work even if tacho is
 * killed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Draft, DraftOf } from '../../model/draft.ts';
import { problem } from '../decode.ts';
import { CAPTURE_LIMITS } from '../limits.ts';
import { type BlockingPipe, keptBlocking } from './blocking-pipe.ts';
import { findProgram } from './find-program.ts';
import { send, startOf } from './process-tree.ts';
import { isShell } from './shells.ts';
import type { ResolvedLaunch } from './spawn.ts';
import type { Tail } from './tail.ts';

/** The facts by which any later tacho finds a drain. */
export interface DrainMark {
  pid: number;
  /** Start time as the system counts it, to detect pid reuse. */
  start: string | null;
}

export interface Drain extends DrainMark {
  name: 'stdout' | 'stderr';
  /** How it exited; never rejects. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  pipe: BlockingPipe;
}

const TOOL_PATH = '/usr/bin:/bin:/usr/local/bin';

/** The user's PATH is used only for systems that keep their tools elsewhere, and its relative entries never. */
function tool(name: string): string | null {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return findProgram(name, [TOOL_PATH, ...folders].join(':'), '/');
}

/**
 * Drains for an agent that is a shell. Null if the agent gets the files themselves: for every other program (a Node
 * program that exits with pending output loses whatever a pipe had no room for) and on every system that lacks the
 * means for a drain. Only Linux truncates the file behind `/dev/stdout`.
 */
export function drainsFor(plan: ResolvedLaunch): readonly [Drain, Drain] | null {
  if (process.platform !== 'linux') return null;
  const program = findProgram(plan.command, plan.env.PATH, plan.cwd);
  if (program === null || !isShell(program, plan.args)) return null;
  return openDrains(plan.stdout_path, plan.stderr_path);
}

function openDrains(stdout_path: string, stderr_path: string): readonly [Drain, Drain] | null {
  const cat = tool('cat');
  const mkfifo = tool('mkfifo');
  if (cat === null || mkfifo === null) return null;
  const folder = dirname(stdout_path);
  const fifos = [join(folder, 'stdout.pipe'), join(folder, 'stderr.pipe')] as const;
  let out: Drain | null = null;
  try {
    const made = spawnSync(mkfifo, ['-m', '600', ...fifos], { env: {}, stdio: 'ignore' });
    if (made.status !== 0) return null;
    out = startDrain(cat, fifos[0], stdout_path);
    return [out, startDrain(cat, fifos[1], stderr_path)];
  } catch {
    // A started drain exits on its own: its pipe has no writer.
    out?.pipe.close();
    return null;
  } finally {
    for (const fifo of fifos) rmSync(fifo, { force: true });
  }
}

function startDrain(cat: string, fifo: string, path: string): Drain {
  const { O_RDWR, O_RDONLY, O_WRONLY, O_APPEND, O_NOFOLLOW } = constants;
  const held: number[] = [];
  const open = (name: string, flags: number) => {
    const fd = openSync(name, flags | O_NOFOLLOW);
    held.push(fd);
    return fd;
  };
  try {
    // With both ends open, neither of the other two opens blocks, and the agent gets a blocking descriptor.
    open(fifo, O_RDWR);
    const from = open(fifo, O_RDONLY);
    const into = open(path, O_WRONLY | O_APPEND);
    // In its own session, so that Ctrl-C at the terminal does not reach it, and without our environment.
    const child = spawn(cat, [], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: [from, into, 'ignore'],
    });
    child.unref();
    const mark = followed(child);
    const pipe = keptBlocking(openSync(fifo, O_WRONLY | O_NOFOLLOW), path);
    return { ...mark, name: basename(path) as Drain['name'], pipe };
  } finally {
    for (const fd of held) closeSync(fd);
  }
}

function followed(child: ChildProcess): Omit<Drain, 'name' | 'pipe'> {
  const ended = Promise.withResolvers<Awaited<Drain['ended']>>();
  child.once('error', () => ended.resolve({ code: null, signal: null }));
  child.once('exit', (code, signal) => ended.resolve({ code, signal }));
  if (child.pid === undefined) throw new Error('the drain could not be started');
  return { pid: child.pid, start: startOf(child.pid), ended: ended.promise };
}

/**
 * Waits until everything that the agent wrote is in the spool. Failures are returned as problems. `enough`: from now
 * on, all output on the channel is from other processes.
 */
export async function settleDrains(
  drains: readonly Drain[],
  enough: Readonly<Record<Drain['name'], AbortSignal>>,
): Promise<DraftOf<'problem'>[]> {
  const all = drains.map((drain) => settleDrain(drain, enough[drain.name]));
  const problems = (await Promise.all(all)).filter((problem) => problem !== null);
  const refused = drains.filter(({ pipe }) => pipe.hasRefused());
  return [...problems, ...refused.map(({ name }) => mayHaveRefused(name))];
}

function mayHaveRefused(name: string): DraftOf<'problem'> {
  const detail = `a program made the agent's ${name} non-blocking while it was busy: output of other programs may be lost`;
  return problem('process', 'output_refused', detail);
}

async function settleDrain(
  { name, pid, ended }: Drain,
  enough: AbortSignal,
): Promise<DraftOf<'problem'> | null> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, enough]);
  const late = sleep(CAPTURE_LIMITS.drain_wait_ms, null, { signal }).catch(() => null);
  // After its last writer has exited, a drain needs a moment to empty the pipe.
  const moment = () => sleep(CAPTURE_LIMITS.tree_poll_ms, null);
  const end = (await Promise.race([ended, late])) ?? (await Promise.race([ended, moment()]));
  over.abort();
  if (end === null) {
    send(pid, 'SIGKILL');
    // The timer keeps this process alive; a drain does not.
    await Promise.race([ended, moment()]);
    return heldOpen(name);
  }
  if (end.code === 0) return null;
  const how = end.signal ?? `exit code ${end.code}`;
  const detail = `the process that writes ${name} to the spool failed (${how}); output after that is lost`;
  return problem('process', 'drain_failed', detail);
}

/** The same for a run of another tacho that is dead: only the marks of its drains are known. */
export async function settleMarked(marks: readonly DrainMark[]): Promise<DraftOf<'problem'>[]> {
  const until = performance.now() + CAPTURE_LIMITS.drain_wait_ms;
  while (marks.some(isDraining) && performance.now() < until)
    await sleep(CAPTURE_LIMITS.tree_poll_ms);
  const stuck = marks.filter(isDraining);
  for (const { pid } of stuck) send(pid, 'SIGKILL');
  return stuck.map(() => heldOpen('output'));
}

/** Without a start time, the pid may belong to any process. */
function isDraining({ pid, start }: DrainMark): boolean {
  return start !== null && startOf(pid) === start;
}

/** Reports output in the spool beyond the point up to which it is read. Empty if everything was read. */
export function leftUnread(name: string, tail: Tail): Draft[] {
  const bytes = tail.size() - tail.position;
  if (bytes <= 0) return [];
  const detail = `processes that outlived the agent wrote too much to its ${name}: the last ${bytes} bytes are not recorded`;
  return [problem('process', 'drain_failed', detail)];
}

function heldOpen(name: string): DraftOf<'problem'> {
  const detail = `a process that outlived the agent keeps its ${name} open; its later output is not recorded`;
  return problem('process', 'drain_failed', detail);
}
