/** The state folder a command works on. */
import { existsSync } from 'node:fs';
import type { StateDir } from '../store/state-dir.ts';
import type { Io } from './command.ts';

/** Of commands that act on configuration or state that others could have written. */
export const TRUST_FLAG = [
  '--trust',
  'agree, this time, to what tacho.yaml, eval files and the state folder ask for (see tacho trust)',
] as const;

/** The folder as it is; null where there is none: looking makes nothing. */
export async function stateIfAny(io: Io): Promise<StateDir | null> {
  const { resolveStateDir } = await import('../store/state-dir.ts');
  return existsSync(resolveStateDir({ flag: io.state_flag, env: io.env })) ? stateOf(io) : null;
}

/** Where the folder is, or would be. */
export async function statePath({ state_flag: flag, env }: Io): Promise<string> {
  const { resolveStateDir } = await import('../store/state-dir.ts');
  return resolveStateDir({ flag, env });
}

/** The folder with an index that has every finished run of the journal, for commands that read runs. */
export async function runsOf(io: Io): Promise<StateDir> {
  const state = await stateOf(io);
  const { catchUpState } = await import('../app/runs/catch-up.ts');
  await catchUpState(state, sayTo(io));
  return state;
}

/** Notes go to stderr, so that what is read by programs stays as it is. */
export const sayTo = (io: Io) => (text: string) => void io.err.write(`${text}\n`);

/** Makes the folder where there is none. */
export async function stateOf({ state_flag: flag, env }: Io): Promise<StateDir> {
  const { openStateDir, resolveStateDir } = await import('../store/state-dir.ts');
  return openStateDir(resolveStateDir({ flag, env }));
}
