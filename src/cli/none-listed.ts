/** The text for a list without any runs. */
import type { StateDir } from '../store/state-dir.ts';
import type { Io } from './command.ts';
import { filterText, type RunFilterFlags } from './run-filter.ts';
import { statePath } from './state.ts';

/** The store that was searched, and what to do. */
export async function noneListed(
  state: StateDir | null,
  flags: RunFilterFlags,
  io: Io,
): Promise<string> {
  const path = await statePath(io);
  const filters = state === null ? '' : filterText(flags);
  if (filters !== '')
    return `No such runs in ${path}: ${filters}
  tacho runs list   shows the newest runs of this store
`;
  return `No runs in ${path} yet.
  tacho run --agent demo "try it"   record a run, without a model or network
  tacho import --last               import the last session of an agent
`;
}
