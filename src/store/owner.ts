/**
 * Which process owns a file, and whether it is alive. A pid alone may have been reused, and means nothing in another
 * container. Therefore each process that writes to a journal folder holds a lock on its own file there as long as it
 * lives.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errnoOf } from '../lib/errors.ts';
import { readStat } from '../lib/process-stat.ts';
import { namesIn, unlinkQuietly } from './files.ts';
import { ForeignLockError, lockFile, lockState, noLocks, removeUnlocked } from './kernel-lock.ts';

/** `ticks`: the start time in clock ticks since boot. `space`: the pid namespace. Null if unknown. */
export interface Owner {
  pid: number;
  ticks: number | null;
  space: string | null;
  /** Absent in files written before it was recorded. */
  host?: string;
  /** The name of the file that the process has locked. Null or absent if it has none. */
  life?: string | null;
}

/** Start time of a process in clock ticks since boot. Null if it is not running or the time is unknown. */
export function startTicks(pid: number): number | null {
  const ticks = Number(readStat(pid)?.start);
  return Number.isSafeInteger(ticks) ? ticks : null;
}

/** Linux counts hundredths of a second on every machine that Node runs on. */
const TICK_MS = 10;

/** The start time of a process according to the current clock. Null if it is not running or the time is unknown. */
export function startMs(pid: number): number | null {
  const ticks = startTicks(pid);
  const own = startTicks(process.pid);
  if (ticks === null || own === null) return null;
  return Date.now() - process.uptime() * 1000 - (own - ticks) * TICK_MS;
}

/** Whether the process with this pid and start time is still running. A zombie is not. */
export function isAlive(pid: number, start_ticks: number | null): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  const ticks = startTicks(pid);
  if (ticks !== null) return start_ticks === null || ticks === start_ticks;
  if (startTicks(process.pid) !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

let self: Owner | undefined;

/** This process. `dir`: the journal folder of the state folder it writes to. Without it, others see only the pid. */
export function thisOwner(dir?: string): Owner {
  self ??= {
    pid: process.pid,
    ticks: startTicks(process.pid),
    space: pidSpace(),
    host: hostname(),
  };
  return dir === undefined ? self : { ...self, life: lifeIn(dir) };
}

/**
 * Whether the owner is still working on the state folder with this journal folder. A process that holds its file is
 * alive, even in another container. Without a file, the process itself is checked; this is impossible from another
 * container or after a reboot, and the owner then counts as dead.
 */
export function mayLive(owner: Owner, dir: string): boolean {
  const file = lifePath(dir, owner.life);
  const state = file === null ? 'missing' : stateOf(file);
  if (state !== 'missing') return state === 'held';
  return owner.space === thisOwner().space && isAlive(owner.pid, owner.ticks);
}

/** Anything else in the file's place counts as missing. */
function stateOf(file: string): 'missing' | 'free' | 'held' {
  try {
    return lockState(file);
  } catch (error) {
    if (error instanceof ForeignLockError) return 'missing';
    throw error;
  }
}

/** An owner as it was written to a file. Null if the text is not an owner. */
export function ownerIn(text: string): Owner | null {
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    const { pid, ticks, space, host, life } = value ?? {};
    if (typeof pid !== 'number') return null;
    return {
      pid,
      ticks: typeof ticks === 'number' ? ticks : null,
      space: typeof space === 'string' ? space : null,
      ...(typeof host === 'string' && { host }),
      life: typeof life === 'string' ? life : null,
    };
  } catch {
    return null;
  }
}

const LIFE = /^[0-9a-f]{16}$/;
const LIFE_FILE = /^[0-9a-f]{16}\.life$/;

/** Names come from files that others may have written. */
function lifePath(dir: string, life: unknown): string | null {
  return typeof life === 'string' && LIFE.test(life) ? join(dir, `${life}.life`) : null;
}

const lives = new Map<string, { life: string; path: string }>();

/** Locked until this process exits, then removed. */
function lifeIn(dir: string): string {
  const known = lives.get(dir);
  if (known !== undefined && existsSync(known.path)) return known.life;
  for (let tries = 0; tries < 10; tries++) {
    const life = randomBytes(8).toString('hex');
    const path = join(dir, `${life}.life`);
    // Null: a sweep is checking it at this moment, and removes it.
    if (lockFile(path, 'exclusive') === null) continue;
    if (lives.size === 0) process.on('exit', removeLives);
    lives.set(dir, { life, path });
    return life;
  }
  throw noLocks(dir);
}

function removeLives(): void {
  for (const { path } of lives.values()) unlinkQuietly(path);
}

/** Removes the files of dead processes. */
export function sweepLives(dir: string): void {
  for (const name of namesIn(dir)) {
    if (!LIFE_FILE.test(name)) continue;
    try {
      removeUnlocked(join(dir, name));
    } catch {
      // Not a lock file, so it is left unchanged.
    }
  }
}

function pidSpace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}
