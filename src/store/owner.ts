/**
 * Which process owns a file, and whether it still lives. A pid alone may have been reused, and says nothing in another
 * container; so each process that writes a journal folder holds a lock on a file of its own there for its whole life.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errnoOf } from '../lib/errors.ts';
import { readStat } from '../lib/process-stat.ts';
import { namesIn, unlinkQuietly } from './files.ts';
import { ForeignLockError, lockFile, lockState, noLocks, removeUnlocked } from './kernel-lock.ts';

/** `ticks` is the start time in clock ticks since boot, `space` the pid namespace; null where they cannot be known. */
export interface Owner {
  pid: number;
  ticks: number | null;
  space: string | null;
  /** Not in files of before it was noted. */
  host?: string;
  /** Names the file that the process has locked; null or missing: it has none. */
  life?: string | null;
}

/** Start time of a process in clock ticks since boot; null where it is not running or cannot be known. */
export function startTicks(pid: number): number | null {
  const ticks = Number(readStat(pid)?.start);
  return Number.isSafeInteger(ticks) ? ticks : null;
}

/** Linux counts in hundredths of a second, on every machine that Node runs on. */
const TICK_MS = 10;

/** When a process started, by the clock as it is set now; null where it is not running or cannot be known. */
export function startMs(pid: number): number | null {
  const ticks = startTicks(pid);
  const own = startTicks(process.pid);
  if (ticks === null || own === null) return null;
  return Date.now() - process.uptime() * 1000 - (own - ticks) * TICK_MS;
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
    return errnoOf(error) === 'EPERM';
  }
}

let self: Owner | undefined;

/** This process. `dir`: the journal folder of the state folder it writes; without it others see only the pid. */
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
 * Whether the owner is still at work on the state folder with this journal folder. One that holds its file lives, also in
 * another container. One without a file lives if its process does; from another container, or before a restart, that
 * cannot be known and it counts as dead.
 */
export function mayLive(owner: Owner, dir: string): boolean {
  const file = lifePath(dir, owner.life);
  const state = file === null ? 'missing' : stateOf(file);
  if (state !== 'missing') return state === 'held';
  return owner.space === thisOwner().space && isAlive(owner.pid, owner.ticks);
}

/** What anything else in its place says: nothing. */
function stateOf(file: string): 'missing' | 'free' | 'held' {
  try {
    return lockState(file);
  } catch (error) {
    if (error instanceof ForeignLockError) return 'missing';
    throw error;
  }
}

/** An owner as it was written to a file; null when the text is none. */
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

/** Locked until this process ends, and removed then. */
function lifeIn(dir: string): string {
  const known = lives.get(dir);
  if (known !== undefined && existsSync(known.path)) return known.life;
  for (let tries = 0; tries < 10; tries++) {
    const life = randomBytes(8).toString('hex');
    const path = join(dir, `${life}.life`);
    // Null: a sweep looks at it just now, and removes it.
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

/** Removes the files of processes that are dead. */
export function sweepLives(dir: string): void {
  for (const name of namesIn(dir)) {
    if (!LIFE_FILE.test(name)) continue;
    try {
      removeUnlocked(join(dir, name));
    } catch {
      // Not a lock file: nobody's, and left as it is.
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
