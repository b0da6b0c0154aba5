/** Only one command at a time changes the store: rm, gc, reindex, import, restore. Runs are recorded concurrently. */
import { join } from 'node:path';
import { type LockOptions, takeLock, waitForLock } from './lock.ts';
import type { StateDir } from './state-dir.ts';

export interface StoreLockOptions extends LockOptions {
  /** Called once if it has to wait. */
  say?: ((text: string) => void) | undefined;
}

const lockPath = (state: StateDir) => join(state.path, 'store.lock');

/** Resolves with the function that releases the lock. Waits a moment while another command holds it, then refuses. */
export function lockStore(state: StateDir, options: StoreLockOptions): Promise<() => void> {
  const { force, say } = options;
  const use = `the store in ${state.path}`;
  return waitForLock(lockPath(state), { force, say, use, stage: 'store' });
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
