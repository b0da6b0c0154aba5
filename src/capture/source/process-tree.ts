/** Finds and terminates everything that an agent started: its session, its group, its descendants and its marked daemons. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessStat } from '../../lib/process-stat.ts';
import { CAPTURE_LIMITS } from '../limits.ts';
import { type ProcessTable, systemTable } from './process-table.ts';

/** The variable that marks an agent's processes, so that a daemon that left its session is found too. */
export const RUN_ID_VARIABLE = 'TACHO_RUN_ID';

export interface TreeRoot {
  /** The agent's process, leader of its own group and session. */
  pid: number;
  run_id: string;
  /** The agent's start time (`startOf`). Without it, a reused pid cannot be distinguished from the agent's. */
  start?: string | null;
}

export interface TreeEnd {
  /** Exited on request. */
  ended: number;
  /** Had to be killed. */
  killed: number;
  /** Still running after the kill (another user's, or stuck in the kernel). */
  left: number;
  /** Program names of all of them, without duplicates. */
  names: string[];
}

/** The start time of a running process. Null if unknown. */
export function startOf(pid: number): string | null {
  return systemTable.startOf(pid);
}

/** The first process of a run, if only the mark of its processes is known. */
export async function findMarked(
  run_id: string,
  table: ProcessTable = systemTable,
): Promise<ProcessStat | null> {
  let first: ProcessStat | null = null;
  for (const one of await table.list()) {
    if (!(await table.hasEnv(one.pid, `${RUN_ID_VARIABLE}=${run_id}`))) continue;
    if (first === null || table.notEarlier(first.start, one.start)) first = one;
  }
  return first;
}

/** Excludes this process and its ancestors in any case. */
export async function listTree(
  root: TreeRoot,
  table: ProcessTable = systemTable,
): Promise<ProcessStat[]> {
  return (await lookAt(root, new Map(), table)).list;
}

interface Look {
  list: ProcessStat[];
  /** This process or an ancestor is in the agent's group: the group must not be signalled as a whole. */
  shared_group: boolean;
}

const keyOf = (one: ProcessStat) => `${one.pid}:${one.start}`;

function ourselves(all: ReadonlyMap<number, ProcessStat>): Set<number> {
  const ours = new Set([0, 1]);
  for (let pid = process.pid; !ours.has(pid); pid = all.get(pid)?.ppid ?? 0) ours.add(pid);
  return ours.add(process.ppid);
}

/** `known`: processes seen in the tree before. Processes they have started since belong to it too. */
async function lookAt(
  root: TreeRoot,
  known: ReadonlyMap<string, ProcessStat>,
  table: ProcessTable,
): Promise<Look> {
  // 0 and 1 are groups and sessions of the kernel and the system; a negative pid would signal everything.
  if (!Number.isSafeInteger(root.pid) || root.pid <= 1) return { list: [], shared_group: true };
  const everything = await table.list();
  const all = new Map(everything.map((one) => [one.pid, one]));
  const ours = ourselves(all);
  const start = root.start ?? null;
  const leader = all.get(root.pid);
  // The system does not reuse a pid while a group or session has its number: another leader means ours have all
  // ended.
  const reused = start !== null && leader !== undefined && leader.start !== start;
  const others = everything.filter(
    (one) => !ours.has(one.pid) && (start === null || table.notEarlier(one.start, start)),
  );
  const found = new Map<number, ProcessStat>();
  for (const one of others) {
    const related = !reused && [one.pid, one.pgid, one.session].includes(root.pid);
    if (related || known.has(keyOf(one))) found.set(one.pid, one);
  }
  for (const one of others) {
    if (found.has(one.pid)) continue;
    if (await table.hasEnv(one.pid, `${RUN_ID_VARIABLE}=${root.run_id}`)) found.set(one.pid, one);
  }
  addDescendants(found, others);
  return {
    list: [...found.values()].sort((a, b) => a.pid - b.pid),
    shared_group: [...ours].some((pid) => all.get(pid)?.pgid === root.pid),
  };
}

function addDescendants(found: Map<number, ProcessStat>, others: readonly ProcessStat[]): void {
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const one of others) {
      if (found.has(one.ppid)) found.set(one.pid, one);
    }
  }
}

/** The progress of terminating a tree: processes seen and processes already signalled. */
interface Ending {
  root: TreeRoot;
  table: ProcessTable;
  known: Map<string, ProcessStat>;
  signalled: Map<string, Set<NodeJS.Signals>>;
  /** Signals already sent to the whole group. */
  groups: Set<NodeJS.Signals>;
}

/** False for a process that has exited or that we may not signal. */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/**
 * Asks each process once per signal. A process that appears later is asked individually when it is seen: the group is
 * not asked again, because an agent treats a second interrupt as an order to skip its final output. While the agent
 * lives, an interrupt is sent only to its group, as from a terminal. Processes it leaves behind are asked to exit.
 */
function signalAll(ending: Ending, look: Look, asked: NodeJS.Signals): void {
  const { root, table, signalled } = ending;
  const alone = asked === 'SIGINT' && look.list.some((one) => one.pid === root.pid);
  const signal = asked === 'SIGINT' && !alone ? 'SIGTERM' : asked;
  const inGroup = (one: ProcessStat) => !look.shared_group && one.pgid === root.pid;
  const fresh = look.list.filter(
    (one) => !signalled.get(keyOf(one))?.has(signal) && (!alone || inGroup(one)),
  );
  // The group in one call, so that no member can fork away in between.
  const as_group = !ending.groups.has(signal) && fresh.some(inGroup);
  if (as_group) {
    ending.groups.add(signal);
    send(-root.pid, signal);
  }
  for (const one of fresh) {
    const seen = signalled.get(keyOf(one)) ?? new Set();
    signalled.set(keyOf(one), seen.add(signal));
    if (as_group && inGroup(one)) continue;
    const now = table.startOf(one.pid);
    if (now === null || now === one.start) send(one.pid, signal);
  }
  // A stopped process handles no signal except KILL until it continues.
  if (signal !== 'SIGKILL') for (const one of fresh) send(one.pid, 'SIGCONT');
}

/** Signals the tree until nothing of it is left or `ms` have passed. Returns the rest. */
async function signalUntilGone(
  ending: Ending,
  signal: NodeJS.Signals,
  ms: number,
): Promise<ProcessStat[]> {
  const until = performance.now() + ms;
  for (let pause = 2; ; pause = Math.min(pause * 2, CAPTURE_LIMITS.tree_poll_ms)) {
    const look = await lookAt(ending.root, ending.known, ending.table);
    const { list } = look;
    for (const one of list) ending.known.set(keyOf(one), one);
    signalAll(ending, look, signal);
    const rest = until - performance.now();
    if (list.length === 0 || rest <= 0) return list;
    await sleep(Math.min(pause, Math.max(rest, 1)));
  }
}

/**
 * Asks the whole tree to exit, waits at most `grace_ms`, then kills the rest, including processes that appear
 * meanwhile. Returns within `grace_ms + CAPTURE_LIMITS.kill_wait_ms` plus the time of a few scans.
 */
export async function endTree(
  root: TreeRoot,
  options: { grace_ms: number; signal: 'SIGTERM' | 'SIGINT' },
  table: ProcessTable = systemTable,
): Promise<TreeEnd> {
  const ending: Ending = { root, table, known: new Map(), signalled: new Map(), groups: new Set() };
  let left = await signalUntilGone(ending, options.signal, options.grace_ms);
  if (left.length > 0) left = await signalUntilGone(ending, 'SIGKILL', CAPTURE_LIMITS.kill_wait_ms);
  const wereKilled = [...ending.known.keys()].filter((key) =>
    ending.signalled.get(key)?.has('SIGKILL'),
  );
  const killed = wereKilled.length - left.length;
  return {
    ended: ending.known.size - wereKilled.length,
    killed: Math.max(killed, 0),
    left: left.length,
    names: [...new Set([...ending.known.values()].map((one) => one.name))].sort(),
  };
}
