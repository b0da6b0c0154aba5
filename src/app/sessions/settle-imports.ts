/**
 * Removes imports that a run which tacho recorded itself has too: a watcher imports a session while it is recorded.
 * Contract: a session counts once. If another command holds the store, the next import of the session does the same.
 */
import { TachoError } from '../../lib/errors.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Index } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { withStoreLock } from '../../store/store-lock.ts';
import { Ledger } from './import-ledger.ts';

export async function settleImports(
  state: StateDir,
  index: Index,
  { agent, session_id }: RunOutcome,
): Promise<void> {
  try {
    await withStoreLock(state, {}, async () => {
      const removed = new Ledger(state, index).settle(agent, session_id);
      if (removed.length > 0) await freeDeleted(state, index);
    });
  } catch (error) {
    if (!(error instanceof TachoError) || error.code !== 'busy') throw error;
  }
}
