/** Every start finishes what a killed tacho left, as far as its agents have ended (ST-3). */
import { listSpools, sweepRemoved } from '../store/spool.ts';
import { openStateDir, stateDirAt } from '../store/state-dir.ts';
import { isOwnState } from '../store/state-mark.ts';
import { type Acting, mayAct, NOT_RECOVERED } from './own-state.ts';

export async function sweep(state_dir: string, acting: Acting): Promise<void> {
  const state = stateDirAt(state_dir);
  if (acting.trust || isOwnState(state_dir)) sweepRemoved(state);
  if (listSpools(state).length === 0) return;
  if (!mayAct(state_dir, NOT_RECOVERED, acting)) return;
  const { recoverAll } = await import('./recover.ts');
  for await (const recovery of recoverAll(openStateDir(state_dir), { wait: false })) {
    if (recovery.state === 'recovered')
      acting.say(`note: finished the record of ${recovery.run_id}, whose recorder was killed`);
  }
}
