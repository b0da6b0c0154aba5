/** Files that killed commands left in a state folder, by their names. Under the store lock. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { unlinkQuietly } from './files.ts';
import { sweepLives } from './owner.ts';
import { sweepRemoved } from './spool.ts';
import type { StateDir } from './state-dir.ts';

/** Lock files of versions before kernel locks, which were never reused; tries to lock; the lock that gc had then. */
const LOCK_LEFT = /\.lock\.(?:[0-9a-f]{12}|of-.*|try-\d+)$|^gc\.lock$/;

export function sweepLeftovers(state: StateDir): void {
  for (const dir of [state.path, join(state.path, 'live'), join(state.path, 'outbox')])
    for (const name of namesIn(dir)) if (LOCK_LEFT.test(name)) unlinkQuietly(join(dir, name));
  sweepLives(state.journal);
  sweepLives(join(state.path, 'live', 'journal'));
  sweepRemoved(state);
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
