/** The state folder a command works on. */
import type { Command } from 'commander';
import type { StateDir } from '../store/state-dir.ts';
import type { Io } from './io.ts';

/** `--state-dir` may stand before or behind the command's name. */
export function stateFlag(command: Command): string | undefined {
  return (command.optsWithGlobals() as { stateDir?: string }).stateDir;
}

/** Makes the folder where there is none, so that reading an empty one is no error. */
export async function stateOf(command: Command, io: Io): Promise<StateDir> {
  const { openStateDir, resolveStateDir } = await import('../store/state-dir.ts');
  return openStateDir(
    resolveStateDir({ flag: stateFlag(command), env: io.env, cwd: process.cwd() }),
  );
}
