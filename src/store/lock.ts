/** One process at a time. The kernel holds the lock; a file next to it names the holder, for messages only. */
import { truncateSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
import { TachoError } from '../lib/errors.ts';
import { durationText } from '../lib/figures.ts';
import { readPrivate, unlinkQuietly, writeAtomic } from './files.ts';
import { ForeignLockError, lockFile, noLocks } from './kernel-lock.ts';
import { STORE_LIMITS } from './limits.ts';
import { mayLive, ownerIn } from './owner.ts';

export interface Holder {
  pid: number;
  host: string;
  command: string;
  since_ms: number;
}

export interface LockOptions {
  /** Take the lock even from its holder, which continues without noticing. */
  force?: boolean | undefined;
}

/**
 * Returns the function that releases the lock. Null while another process holds it. Throws if the file system cannot
 * lock, if the file cannot be created, or if it is not a lock; such a file is left unchanged.
 */
export function takeLock(path: string, options: LockOptions = {}): (() => void) | null {
  // A new file is a new lock: the holder keeps the old one, which no other process can find.
  if (options.force) unlinkQuietly(path);
  const unlock = lockOrConvert(path);
  if (unlock === null) return null;
  const note = holderPath(path);
  writeHolder(note);
  return () => {
    unlinkQuietly(note);
    unlock();
  };
}

/** An older tacho wrote its owner to the lock file itself. */
function lockOrConvert(path: string): (() => void) | null {
  try {
    return lockFile(path, 'immediate');
  } catch (error) {
    if (!(error instanceof ForeignLockError)) throw error;
  }
  const owner = ownerIn(readPrivate(path).toString('latin1'));
  if (owner === null) {
    const text = `${path}: this file is not a lock of tacho: move it away, then try again`;
    throw new TachoError('state_unusable', text, { stage: 'lock' });
  }
  if (mayLive(owner, dirname(path))) return null;
  // Emptied, not replaced: if several processes do this concurrently, each respects the lock of the first.
  truncateSync(path, 0);
  return lockFile(path, 'immediate');
}

const holderPath = (path: string) => `${path}.holder`;

/** Best effort: the lock works without this file. */
function writeHolder(path: string): void {
  const since_ms = Date.now();
  const holder: Holder = { pid: process.pid, host: hostname(), command: commandName(), since_ms };
  try {
    writeAtomic(path, `${JSON.stringify(holder)}\n`, 'lock', false);
  } catch {
    // For example a full disk: messages cannot name the holder.
  }
}

/** The command without its arguments, which may contain a prompt. */
function commandName(): string {
  const [, program = '', command = '', sub = ''] = process.argv;
  const words = command === 'runs' ? [command, sub] : [command];
  const named = words.filter((word) => /^[a-z]{1,20}$/.test(word));
  return named.length === 0 ? basename(program) : ['tacho', ...named].join(' ');
}

/** The last process recorded as the holder. Null if unknown. */
export function holderOf(path: string): Holder | null {
  try {
    const said = JSON.parse(readPrivate(holderPath(path)).toString('utf8')) as Partial<Holder>;
    const { pid, host, command, since_ms } = said;
    if (typeof pid !== 'number' || typeof since_ms !== 'number') return null;
    return { pid, host: String(host), command: String(command), since_ms };
  } catch {
    return null;
  }
}

/** The error for a lock that is held. `use` names the locked resource, `instead` what to do. */
export function heldError(
  path: string,
  use: string,
  stage: string,
  instead = 'wait for it',
): TachoError {
  const holder = holderOf(path);
  if (holder === null && !locksWork(path)) return noLocks(path);
  const { pid, host, command, since_ms } = holder ?? {};
  const who =
    since_ms === undefined
      ? 'another process'
      : `${command} (process ${pid} on ${host}, for ${durationText(Date.now() - since_ms)})`;
  const text = `${use} is in use by ${who}: ${instead}, or take it over with --force (lock file: ${path})`;
  return new TachoError('busy', text, { stage, retryable: true });
}

/** Some file systems refuse every lock as if another process held it. */
function locksWork(path: string): boolean {
  const release = lockFile(`${path}.try-${process.pid}`, 'immediate');
  release?.();
  return release !== null;
}

export interface WaitOptions extends LockOptions {
  use: string;
  stage: string;
  /** Called once if it has to wait. */
  say?: ((text: string) => void) | undefined;
  wait_ms?: number;
}

/** Waits a moment for the lock, then refuses. */
export async function waitForLock(path: string, options: WaitOptions): Promise<() => void> {
  const { use, stage, say, wait_ms = STORE_LIMITS.lock_wait_ms } = options;
  const until = performance.now() + wait_ms;
  for (let first = true; ; first = false) {
    const release = takeLock(path, { force: options.force });
    if (release !== null) return release;
    const held = heldError(path, use, stage);
    if (performance.now() >= until) throw held;
    if (first) say?.(`note: ${held.message}; waiting`);
    await new Promise((resolve) => setTimeout(resolve, STORE_LIMITS.lock_poll_ms));
  }
}
