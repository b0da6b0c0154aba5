/** The action of `tacho usage`. */
import { userConfigPath } from '../../app/config/user-config.ts';
import { currentUsage } from '../../app/prices/current-usage.ts';
import { catchUpState } from '../../app/runs/catch-up.ts';
import { noRuns } from '../../app/runs/replay.ts';
import { type UsageQuery, usageOf } from '../../app/usage/usage.ts';
import { beginOf, groupsOf } from '../../app/usage/usage-for-program.ts';
import { UsageReportFold } from '../../projections/usage/usage-report.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type Io, print } from '../command.ts';
import { noneListed } from '../none-listed.ts';
import { type RunFilterFlags, runQuery } from '../run-filter.ts';
import { sayTo, statePath } from '../state.ts';
import { styleOf } from '../style.ts';
import { rangeText, type UsageStyle, usageText } from './text.ts';

export interface UsageFlags extends RunFilterFlags {
  by: string[];
  subAgents?: true;
  /** True: all groups. */
  explain?: true | string;
  statusline?: true;
  json?: true;
}

export async function showUsage(state: StateDir | null, flags: UsageFlags, io: Io): Promise<void> {
  const { since_ms, until_ms, model, ...query } = await runQuery(state, flags);
  const request: UsageQuery = {
    by: groupsOf(flags.by, flags.subAgents ?? false),
    since_ms: beginOf(flags.by, { since_ms, until_ms }, groupOf(flags)),
    until_ms: until_ms ?? null,
    model,
    query,
  };
  if (state !== null) {
    await catchUpState(state, sayTo(io));
    await currentUsage(state, sayTo(io));
  }
  if (flags.explain !== undefined) return explain(state, request, flags, io);
  const report = state === null ? new UsageReportFold(request).report() : usageOf(state, request);
  const none = report.total.runs === 0 ? await noneText(state, request, flags, io) : '';
  await print(io, flags, report, () => none || usageText(report, usageStyle(io)));
}

/** Null: all groups. */
const groupOf = ({ explain: group }: UsageFlags) => (typeof group === 'string' ? group : null);

const usageStyle = (io: Io): UsageStyle => ({
  ...styleOf(io),
  columns: io.out_is_terminal ? io.width : null,
  prices_file: userConfigPath(io.env),
});

/** For an empty table: nothing in the store, or nothing at that time. */
async function noneText(
  state: StateDir | null,
  request: UsageQuery,
  flags: UsageFlags,
  io: Io,
): Promise<string> {
  const { since: _, until: __, ...others } = flags;
  if (state === null) return noneListed(state, flags, io);
  const all = usageOf(state, { ...request, since_ms: null, until_ms: null });
  if (all.total.runs === 0) return noneListed(state, others, io);
  return `No usage ${rangeText(request)}.
  tacho usage --by month --since 2020-01-01   shows all of it
`;
}

async function explain(
  state: StateDir | null,
  request: UsageQuery,
  flags: UsageFlags,
  io: Io,
): Promise<void> {
  if (state === null) throw noRuns(await statePath(io));
  const { explainUsage } = await import('../../app/usage/explain.ts');
  const found = await explainUsage(state, request, groupOf(flags));
  const { explainText } = await import('./explain-text.ts');
  await print(io, flags, found, () => explainText(found, usageStyle(io)));
}
