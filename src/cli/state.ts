/** The state folder a command works on. */
import type { StateDir } from '../store/state-dir.ts';
import type { Io } from './command.ts';

/** For commands that act on configuration or state that others could have written. */
export const TRUST_FLAG = [
  '--trust',
  'for this command, agree to what tacho.yaml, eval files and the state folder ask for (see tacho trust)',
] as const;

/** The existing folder, or null: reading commands do not create it. */
export async function stateIfAny(io: Io): Promise<StateDir | null> {
  const { hasState } = await import('../store/state-dir.ts');
  return hasState(await statePath(io)) ? stateOf(io) : null;
}

/** Where the folder is, or would be. */
export async function statePath({ state_flag: flag, env }: Io): Promise<string> {
  const { resolveStateDir } = await import('../store/state-dir.ts');
  return resolveStateDir({ flag, env });
}

/** The folder with an index that has every finished run of the journal, for commands that read runs. */
export async function runsOf(io: Io): Promise<StateDir> {
  return caughtUp(await stateIfAny(io), io);
}

/** The same for an open folder. Throws if there is none. */
export async function caughtUp(state: StateDir | null, io: Io): Promise<StateDir> {
  if (state === null) {
    const { noRuns } = await import('../app/runs/replay.ts');
    throw noRuns(await statePath(io));
  }
  const { catchUpState } = await import('../app/runs/catch-up.ts');
  await catchUpState(state, sayTo(io));
  return state;
}

/** Notes are written to stderr, so that output for programs is unchanged. */
export const sayTo = (io: Io) => (text: string) => void io.err.write(`${text}\n`);

/** Creates the folder if it is missing. */
export async function stateOf({ state_flag: flag, env }: Io): Promise<StateDir> {
  const { openStateDir, resolveStateDir } = await import('../store/state-dir.ts');
  return openStateDir(resolveStateDir({ flag, env }));
}
