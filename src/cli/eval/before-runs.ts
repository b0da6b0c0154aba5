/** Checks of `tacho eval` before it starts the first agent. */
import { checkBeforeRuns } from '../../app/evals/before-runs.ts';
import type { EvalFile } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import type { OutputMode } from '../../model/words.ts';
import type { Io } from '../command.ts';

interface Asked {
  flags: { workers?: number; output: OutputMode };
  io: Io;
}

/** Reports mistakes that need no run, and agents that would change each other's files. */
export function checkRuns(files: readonly EvalFile[], { flags, io }: Asked): void {
  checkBeforeRuns(files, io.env);
  const shared = files.flatMap(({ path, tests }) =>
    tests.filter(({ workspace }) => workspace === null).map(({ id }) => ({ path, id })),
  );
  const [first] = shared;
  if (first === undefined) return;
  if ((flags.workers ?? 1) > 1)
    throw new TachoError(
      'usage',
      `${first.path}: --workers ${flags.workers} would run agents in one folder: give the file, or the test "${first.id}", a workspace (a folder of which each run gets a copy), or leave out --workers`,
      { stage: 'eval' },
    );
  if (flags.output !== 'human') return;
  void io.err.write(
    'note: the agent works in the current folder or in the cwd of its target; a workspace in the eval file gives each run a copy of a folder\n',
  );
}
