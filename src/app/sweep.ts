/** Every start finishes what a killed tacho left, as far as its agents have ended (ST-3). */
import { listSpools, sweepRemoved } from '../store/spool.ts';
import { openStateDir, stateDirAt } from '../store/state-dir.ts';

export async function sweep(state_dir: string, say: (text: string) => void): Promise<void> {
  sweepRemoved(stateDirAt(state_dir));
  if (listSpools(stateDirAt(state_dir)).length === 0) return;
  const { recoverAll } = await import('./recover.ts');
  for await (const recovery of recoverAll(openStateDir(state_dir), { wait: false })) {
    if (recovery.state === 'recovered')
      say(`note: finished the record of ${recovery.run_id}, whose recorder was killed`);
  }
}
