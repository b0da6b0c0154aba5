/** Which process owns a file, and whether it still lives. A pid alone may have been given away again. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** `ticks` is the start time in clock ticks since boot, `space` the pid namespace; null where they cannot be known. */
export interface Owner {
  pid: number;
  ticks: number | null;
  space: string | null;
  /** Not in files of before it was noted. */
  host?: string;
}

/** Start time of a process in clock ticks since boot; null where it is not running or cannot be known. */
export function startTicks(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may hold spaces and parentheses itself; field 22 counts from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    const ticks = Number(fields[19]);
    return Number.isSafeInteger(ticks) ? ticks : null;
  } catch {
    return null;
  }
}

/** Whether the process that had this pid and start time still runs. A zombie does not. */
export function isAlive(pid: number, start_ticks: number | null): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  const ticks = startTicks(pid);
  if (ticks !== null) return start_ticks === null || ticks === start_ticks;
  if (startTicks(process.pid) !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let self: Owner | undefined;

/** This process. */
export function thisOwner(): Owner {
  self ??= {
    pid: process.pid,
    ticks: startTicks(process.pid),
    space: pidSpace(),
    host: hostname(),
  };
  return self;
}

/**
 * Whether the owner may still be at work. One from another container cannot be asked: it counts as alive;
 * one of this host from before its restart does not.
 */
export function mayLive(owner: Owner): boolean {
  const self = thisOwner();
  if (owner.space !== self.space) return owner.host !== self.host || bootOf(owner) === bootOf(self);
  return isAlive(owner.pid, owner.ticks);
}

const bootOf = ({ space }: Owner): string | null => space?.split('/', 1)[0] ?? null;

function pidSpace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}
