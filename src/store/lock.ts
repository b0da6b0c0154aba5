/** One process at a time. The kernel holds the lock; who holds it is in a file beside it, for messages only. */
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
  /** Take it even from a process that holds it; that one continues without knowing. */
  force?: boolean | undefined;
}

/**
 * Returns the function that releases the lock; null while another holds it. Throws where the file system cannot lock, the
 * file cannot be made, or one that is no lock is in its place, which stays as it is.
 */
export function takeLock(path: string, options: LockOptions = {}): (() => void) | null {
  // A new file is a new lock: the holder keeps the old one, which nobody else can find any more.
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

/** An older tacho wrote its owner into the lock file itself. */
function lockOrConvert(path: string): (() => void) | null {
  try {
    return lockFile(path, 'immediate');
  } catch (error) {
    if (!(error instanceof ForeignLockError)) throw error;
  }
  const owner = ownerIn(readPrivate(path).toString('latin1'));
  if (owner === null) {
    const text = `${path}: a file that is no lock of tacho is in its place: move it away, then try again`;
    throw new TachoError('state_unusable', text, { stage: 'lock' });
  }
  if (mayLive(owner, dirname(path))) return null;
  // Emptied, not replaced: of several that do this at once each keeps the lock of whoever is first.
  truncateSync(path, 0);
  return lockFile(path, 'immediate');
}

const holderPath = (path: string) => `${path}.holder`;

/** Not a promise: the lock holds without it. */
function writeHolder(path: string): void {
  const since_ms = Date.now();
  const holder: Holder = { pid: process.pid, host: hostname(), command: commandName(), since_ms };
  try {
    writeAtomic(path, `${JSON.stringify(holder)}\n`, 'lock', false);
  } catch {
    // A full disk: messages cannot name the holder.
  }
}

/** The command without its arguments, which may hold a prompt. */
function commandName(): string {
  const [, program = '', command = '', sub = ''] = process.argv;
  const words = command === 'runs' ? [command, sub] : [command];
  const named = words.filter((word) => /^[a-z]{1,20}$/.test(word));
  return named.length === 0 ? basename(program) : ['tacho', ...named].join(' ');
}

/** Who noted itself as the holder last; null: not known. */
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

/** The error for a lock that is held; `use` names what is locked. */
export function heldError(path: string, use: string, stage: string): TachoError {
  const holder = holderOf(path);
  if (holder === null && !locksWork(path)) return noLocks(path);
  const { pid, host, command, since_ms } = holder ?? {};
  const who =
    since_ms === undefined
      ? 'another process'
      : `${command} (process ${pid} on ${host}, for ${durationText(Date.now() - since_ms)})`;
  const text = `${use} is in use by ${who}: wait for it, or take it over with --force (lock file: ${path})`;
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
  /** Called once when it has to wait. */
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
