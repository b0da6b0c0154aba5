/**
 * Usage and costs as they are now: runs that an older tacho saved are read from the journal once more, and computed costs
 * follow the list of prices. For commands that show sums.
 */
import { plural } from '../../lib/figures.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { tryStoreLock } from '../../store/store-lock.ts';
import { followPrices } from './price-runs.ts';

/** Throws a TachoError for a mistake in the user's `tacho.yaml`. */
export async function currentUsage(state: StateDir, say: (text: string) => void): Promise<void> {
  using index = openIndex(state);
  const older = index.unmeasured();
  if (older.length > 0) await measure(state, index, older, say);
  await followPrices(index);
}

async function measure(
  state: StateDir,
  index: Index,
  older: readonly string[],
  say: (text: string) => void,
) {
  const runs = plural(older.length, 'run');
  const release = tryStoreLock(state);
  if (release === null) {
    say(`note: another command is changing the store; the usage of ${runs} is not known yet`);
    return;
  }
  try {
    say(`note: reading the usage of ${runs} that an older tacho saved`);
    const { settle } = await import('../runs/settle.ts');
    await settle(state, index, new Map(), older);
  } finally {
    release();
  }
}
