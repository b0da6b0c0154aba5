/** The action of `runs list`. */
import { catchUp } from '../../app/runs/catch-up.ts';
import { unfinishedStates, withStates } from '../../app/runs/unfinished.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunQuery } from '../../store/index/runs-table.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { noneListed } from '../none-listed.ts';
import { type RunFilterFlags, runQuery } from '../run-filter.ts';
import { sayTo } from '../state.ts';
import { styleOf } from '../style.ts';
import { writeGathered } from './gathered.ts';
import { listLines } from './list-text.ts';

export interface ListFlags extends RunFilterFlags {
  /** Infinity: all. */
  limit: number;
  json?: true;
}

export async function listRuns(state: StateDir | null, flags: ListFlags, io: Io): Promise<void> {
  const query = await runQuery(state, flags);
  const limited = Number.isFinite(flags.limit) ? { ...query, limit: flags.limit } : query;
  const any = state !== null && (await printRuns(state, limited, flags, io));
  if (any || flags.json) return;
  await io.out.write(await noneListed(state, flags, io));
}

async function printRuns(
  state: StateDir,
  query: RunQuery,
  flags: ListFlags,
  io: Io,
): Promise<boolean> {
  using index = openIndex(state);
  const style = {
    ...styleOf(io),
    columns: io.out_is_terminal ? io.width : null,
    now_ms: Date.now(),
  };
  const states = await unfinishedStates(index);
  return await listed(state, index, io, (write) => {
    const rows = withStates(index.listRuns(query), states);
    const texts = flags.json
      ? rows.map((row) => `${JSON.stringify(row)}\n`)
      : listLines(rows, style);
    return writeGathered(texts, (text) =>
      write(() => (flags.json ? io.out.json(text) : io.out.write(text))),
    );
  });
}

/**
 * Damage may show only when the rows are read: then the index is rebuilt from the journal. Once rows are written
 * there is no second attempt: the command reports the damage and has to be run again.
 */
async function listed(
  state: StateDir,
  index: Index,
  io: Io,
  list: (write: (piece: () => Promise<void>) => Promise<void>) => Promise<boolean>,
): Promise<boolean> {
  await catchUp(state, index, sayTo(io));
  const { moved_to } = index;
  let written = false;
  const write = (piece: () => Promise<void>) => {
    written = true;
    return piece();
  };
  try {
    return await list(write);
  } catch (error) {
    if (written || index.moved_to === moved_to) throw error;
  }
  await catchUp(state, index, sayTo(io));
  return list(write);
}
