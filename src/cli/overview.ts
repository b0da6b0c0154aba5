/** `tacho` alone on a terminal: where to begin, and where the runs are. */
import { forTerminal, oneLine } from '../lib/terminal-text.ts';
import { recentRuns } from '../store/index/recent-runs.ts';
import { resolveStateDir, stateDirAt } from '../store/state-dir.ts';
import type { Io } from './command.ts';

const START = `tacho records what coding agents do: every step, call, file and cost.

Start here:
  tacho import --last                  store the session your agent used last
  tacho run --agent demo "try it"      record a run, no model needed
  tacho show last                      read the last run
  tacho runs list                      list the recorded runs

All commands: tacho --help
`;

export function overview({ env, width }: Io): string {
  const state = stateDirAt(resolveStateDir({ env }));
  return `${START}\nRuns are stored in ${forTerminal(state.path)}\n${lastRun(state.db, width)}`;
}

function lastRun(db: string, width: number): string {
  try {
    const [last] = recentRuns(db, 1);
    if (last === undefined) return 'There are no runs yet.\n';
    return `${oneLine(`Last run: ${last.agent}, ${last.prompt ?? 'no prompt'}`, width)}\n`;
  } catch {
    // The commands that need the index report what is wrong with it.
    return '';
  }
}
