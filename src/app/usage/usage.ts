/** Tokens and costs of runs, summed up by time, agent, model, project or label (SE-5). */
import type { UsageRow } from '../../model/usage.ts';
import {
  type CostedRow,
  inQuarters,
  type UsageReport,
  UsageReportFold,
  type UsageRequest,
  type UsedRun,
} from '../../projections/usage/usage-report.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunQuery } from '../../store/index/runs-table.ts';
import type { RunUsage } from '../../store/index/usage-table.ts';
import type { StateDir } from '../../store/state-dir.ts';

/** `query`: the runs, of any time. */
export interface UsageQuery extends UsageRequest {
  query: Omit<RunQuery, 'since_ms' | 'until_ms' | 'model' | 'limit'>;
}

export function usageOf(state: StateDir, request: UsageQuery): UsageReport {
  using index = openIndex(state);
  const fold = new UsageReportFold(request);
  for (const run of usedRuns(index, request)) fold.add(run);
  return fold.report();
}

/** The runs with usage in the requested time, one by one. */
export function usedRuns(index: Index, request: UsageQuery): Generator<UsedRun, void> {
  const unfinished = new Set(index.unfinished().map(({ run_id }) => run_id));
  const { since_ms, until_ms } = inQuarters(request);
  const rows = index.usage({
    ...request.query,
    ...(since_ms !== null && { since_ms }),
    ...(until_ms !== null && { until_ms }),
  });
  return runsOfRows(rows, unfinished);
}

/** Rows of one run follow each other. `unfinished`: runs that may not be finished. */
export function* runsOfRows(
  rows: Iterable<RunUsage>,
  unfinished: ReadonlySet<string> = new Set(),
): Generator<UsedRun, void> {
  let run: (UsedRun & { rows: CostedRow[] }) | null = null;
  for (const row of rows) {
    const { run_id, agent, project, started_ms, labels, success, exit_reason } = row;
    if (run !== null && run.run_id !== run_id) yield run;
    if (run === null || run.run_id !== run_id) {
      // After a turn there is an outcome, also while the agent waits for the next prompt.
      const finished: boolean = exit_reason !== 'incomplete' || !unfinished.has(run_id);
      run = { run_id, agent, project, started_ms, labels, success, finished, rows: [] };
    }
    run.rows.push({ ...rowOf(row), ...costOf(row) });
  }
  if (run !== null) yield run;
}

const rowOf = ({
  at_ms,
  model,
  sub_agent,
  tokens,
  cost_usd,
  computed_usd,
}: RunUsage): UsageRow => ({
  ...{ at_ms, model, sub_agent, tokens, cost_usd, computed_usd },
});

function costOf({ cost_usd, computed_usd, run_cost_source }: RunUsage) {
  if (cost_usd !== null) return { cost: cost_usd, source: 'agent' as const };
  if (computed_usd !== null) return { cost: computed_usd, source: 'computed' as const };
  return { cost: null, source: run_cost_source === 'agent' ? 'elsewhere' : 'unknown' } as const;
}
