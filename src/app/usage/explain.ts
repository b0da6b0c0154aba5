/** Where the figures of a usage report come from (SE-7): runs, lines of the raw records, prices and sums. */
import { findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { UsageRow } from '../../model/usage.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { type Contribution, ContributionFold } from '../../projections/usage/contributions.ts';
import {
  inQuarters,
  isRequested,
  keyReader,
  type UsageGroup,
  UsageReportFold,
  type UsedRun,
} from '../../projections/usage/usage-report.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { projectName } from '../runs/projects.ts';
import { journalledEvents } from '../runs/replay.ts';
import { costsOf, listOfPrices } from './explain-costs.ts';
import type { ExplainedLine, ExplainedRun, ExplainedUsage } from './explained.ts';
import { type UsageQuery, usedRuns } from './usage.ts';

/** `group`: one group, as the report shows it; null: all. */
export async function explainUsage(
  state: StateDir,
  request: UsageQuery,
  group: string | null,
): Promise<ExplainedUsage> {
  using index = openIndex(state);
  const isChosen = chooser(request, group);
  const fold = new UsageReportFold(request);
  const runs: ExplainedRun[] = [];
  for (const whole of [
    ...(await usedRuns(index, { ...request, since_ms: null, until_ms: null })),
  ]) {
    const run = { ...whole, rows: whole.rows.filter((row) => isChosen(whole, row)) };
    if (run.rows.length === 0) continue;
    fold.add(run);
    runs.push(await explainRun(state, index, whole, (row) => isChosen(whole, row)));
  }
  if (group !== null && runs.length === 0) throw unknownGroup(group);
  return { report: fold.report(), runs, prices: await listOfPrices() };
}

const unknownGroup = (group: string) =>
  new TachoError(
    'not_found',
    `there is no usage in the group "${group}"; give a cell of the first column, or of all columns with commas between`,
    { stage: 'find' },
  );

type Chooser = (run: UsedRun, row: UsageRow) => boolean;

/** Whether a row is in the requested time and group. */
function chooser(request: UsageQuery, group: string | null): Chooser {
  const keysOf = keyReader(request.by);
  const times = inQuarters(request);
  // The table shows the first day of a week too.
  const name = group?.replace(/^(\d+-W\d\d) from [\d-]{5}/, '$1') ?? null;
  return (run, row) =>
    isRequested(run, row, times) && (name === null || namesOf(keysOf(run, row)).includes(name));
}

/** The names of a group: the value of its first key, or of all. */
function namesOf(keys: UsageGroup['keys']): string[] {
  const values = Object.entries(keys).map(([name, value]) => {
    if (value === null) return [name.startsWith('label:') ? '-' : 'unknown'];
    return name === 'project' ? [value, projectName(value)] : [value];
  });
  const all = values.reduce<string[]>(
    (before, some) =>
      before.length === 0
        ? some
        : before.flatMap((first) => some.map((last) => `${first},${last}`)),
    [],
  );
  return [...(values[0] ?? []), ...all];
}

async function explainRun(
  state: StateDir,
  index: Index,
  run: UsedRun,
  isChosen: (row: UsageRow) => boolean,
): Promise<ExplainedRun> {
  const outcome = index.getRun(run.run_id) as RunOutcome;
  const fold = new ContributionFold(outcome);
  for await (const event of journalledEvents(state, run.run_id, index))
    if (event.kind === 'usage_reported') fold.push(event);
  const lines = fold.finish(run.rows).filter(({ row }) => isChosen(row));
  const { session_id, metadata } = outcome;
  const file = metadata.labels[IMPORTED_FILE_LABEL] ?? null;
  return {
    ...{ run_id: run.run_id, agent: run.agent, session_id, project: run.project, file },
    path: file === null ? null : await pathOf(outcome, run.project),
    ...{ success: run.success, finished: run.finished },
    lines: lines.map(lineOf),
    costs: await costsOf(run.agent, run.rows.filter(isChosen)),
  };
}

function lineOf({ event, row }: Contribution): ExplainedLine {
  const { at_ms, model, sub_agent, tokens, cost_usd } = row;
  const own = { model, sub_agent, added: { tokens, cost_usd } };
  if (event === null) return { raw: null, seq: null, at_ms, mode: null, reported: null, ...own };
  const { raw, seq, data } = event;
  const reported = { tokens: data.usage, cost_usd: data.cost_usd };
  return { raw, seq, at_ms: event.at_ms, mode: data.mode, reported, ...own };
}

/** The imported file, where the agent has it. */
async function pathOf({ agent, session_id }: RunOutcome, project: string | null) {
  if (session_id === null) return null;
  const files = (await findAgent(agent))?.session;
  const where = { session_id, cwd: project ?? process.cwd(), env: process.env };
  return (await files?.find(where)) ?? null;
}
