/** `tacho runs` on a terminal: a full-screen list of past runs. */
import { catchUp } from '../../app/runs/catch-up.ts';
import { journalledEvents } from '../../app/runs/replay.ts';
import { type StatedRun, unfinishedStates, withStates } from '../../app/runs/unfinished.ts';
import { projectOf } from '../../capture/source/project.ts';
import { editDiff } from '../../projections/human-parts.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { browse } from '../../tui/browse.ts';
import { TUI_LIMITS } from '../../tui/limits.ts';
import type { ListedRun } from '../../tui/runs-view.ts';
import type { Io } from '../command.ts';
import { noneListed } from '../none-listed.ts';
import { onSignals } from '../signals.ts';
import { sayTo } from '../state.ts';
import { styleOf } from '../style.ts';
import { listLines } from './list-text.ts';

interface Listed extends ListedRun {
  row: StatedRun;
}

/** How often the states of unfinished runs are looked at. */
const STATES_MS = 2_000;

export async function browseRuns(state: StateDir | null, io: Io): Promise<void> {
  if (state === null) return io.out.write(await noneListed(state, {}, io));
  using index = openIndex(state);
  await catchUp(state, index, sayTo(io));
  const here = projectOf(process.cwd()).path;
  let newest: string | undefined;
  let states = await unfinishedStates(index);
  let shown = states;
  const timer = setInterval(async () => {
    const now = await unfinishedStates(index);
    const text = (all: typeof states) =>
      JSON.stringify([...all].map(([id, one]) => [id, one.state]));
    if (text(now) !== text(states)) states = now;
  }, STATES_MS);
  const changed = () => shown !== states || [...index.listRuns({ limit: 1 })][0]?.run_id !== newest;
  const list = () => {
    const limit = TUI_LIMITS.runs_max;
    const rows = [...withStates(index.listRuns({ limit: limit + 1 }), states)];
    shown = states;
    newest = rows[0]?.run_id;
    const runs = rows.slice(0, limit).map((row) => listed(row, here));
    return { runs, more: rows.length > limit };
  };
  const style = styleOf(io);
  const table = (runs: readonly Listed[], columns: number) => {
    const now_ms = Date.now();
    const rows = runs.map(({ row }) => row);
    return listLines(rows, { ...style, columns, now_ms }).map((line) => line.trimEnd());
  };
  const { stdout, stdin } = process;
  const { colour, unicode, env } = io;
  const look = { colour, unicode, home: env.HOME ?? null, place: state.path, diffOf: editDiff };
  const events = ({ run_id }: Listed) => journalledEvents(state, run_id, index);
  const view = browse({ stdout, stdin, list, changed, table, events, ...look });
  const release = onSignals(view.quit);
  await view.ended;
  clearInterval(timer);
  release();
}

function listed(row: StatedRun, here: string): Listed {
  const { run_id, agent, success, exit_reason, model, project, prompt } = row;
  const words = [agent, exit_reason, success ? '' : 'failed', model, project, prompt].join(' ');
  return { row, run_id, agent, ok: success, here: project === here, words };
}
