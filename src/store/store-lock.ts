/** Only one command at a time changes the store: rm, gc, reindex, import, restore. Runs are recorded concurrently. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readPrivate, writeAtomic } from './files.ts';
import { type LockOptions, takeLock, waitForLock } from './lock.ts';
import type { StateDir } from './state-dir.ts';

export interface StoreLockOptions extends LockOptions {
  /** Called once if it has to wait. */
  say?: ((text: string) => void) | undefined;
}

const lockPath = (state: StateDir) => join(state.path, 'store.lock');

const changePath = (state: StateDir) => join(state.path, 'store.change');

/** Resolves with the function that releases the lock. Waits a moment while another command holds it, then refuses. */
export async function lockStore(state: StateDir, options: StoreLockOptions): Promise<() => void> {
  const { force, say } = options;
  const use = `the store in ${state.path}`;
  const release = await waitForLock(lockPath(state), { force, say, use, stage: 'store' });
  // Before any change: the command may be killed at any moment.
  writeAtomic(changePath(state), `${randomUUID()}\n`, 'store', false);
  return release;
}

/**
 * Another text after every command that may have changed runs of the store. A process that keeps facts about them in
 * memory must then forget them.
 */
export function lastChange(state: StateDir): string {
  try {
    return readPrivate(changePath(state)).toString('latin1');
  } catch {
    return '';
  }
}

export async function withStoreLock<T>(
  state: StateDir,
  options: StoreLockOptions,
  body: () => Promise<T>,
): Promise<T> {
  const release = await lockStore(state, options);
  try {
    return await body();
  } finally {
    release();
  }
}

/** Null while another command changes the store. */
export const tryStoreLock = (state: StateDir) => takeLock(lockPath(state));
