/** Keeps the store small: removes runs by policy, and computes statistics (ST-5). */
import { openIndex } from '../../store/index/index-db.ts';
import type { SumKey } from '../../store/index/index-schema.ts';
import type { RunQuery, RunSums } from '../../store/index/runs-table.ts';
import { collectRuns } from '../../store/journal/gc.ts';
import { planRemoval, type RetentionPolicy } from '../../store/journal/retention.ts';
import { weigh } from '../../store/sizes.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type StoreLockOptions, withStoreLock } from '../../store/store-lock.ts';
import { sweepTemporary } from '../../store/temporary.ts';
import { settleable } from './catch-up.ts';
import { settle } from './settle.ts';
import { WholeRun } from './whole-run.ts';

interface CollectOptions extends StoreLockOptions {
  now_ms: number;
  dry_run: boolean;
}

export function collect(state: StateDir, policies: RetentionPolicy[], options: CollectOptions) {
  return withStoreLock(state, options, () => collectLocked(state, policies, options));
}

/** `leaving`: without the runs that had to be kept. `done`: null on a dry run. */
async function collectLocked(
  state: StateDir,
  policies: readonly RetentionPolicy[],
  options: CollectOptions,
) {
  using index = openIndex(state);
  // The choice depends on all runs.
  await settle(state, index, settleable(state, index));
  sweepTemporary(state.tmp);
  const weights = await weigh(state, index);
  const labelled = policies.some(({ labels }) => Object.keys(labels).length > 0);
  const runs = () => index.weighRuns(weights, labelled);
  const leaving = planRemoval(runs, policies, options.now_ms);
  if (options.dry_run) return { leaving, done: null };
  const going = leaving.map(({ run: { run_id }, archive }) => ({ run_id, archive }));
  const newCheck = (run_id: string) => new WholeRun(run_id);
  const { now_ms } = options;
  const done = await collectRuns(state, index, going, { now_ms, newCheck });
  const kept = new Set(done.kept.map(({ run_id }) => run_id));
  return { leaving: leaving.filter(({ run }) => !kept.has(run.run_id)), done };
}

/** The sums of a group of runs. */
export interface StatsRow {
  /** The agent, model, project or local day; `all` for the total. */
  name: string;
  /** Number of runs. */
  runs: number;
  /** Number of runs that succeeded. */
  ok: number;
  /** US dollars, summed over the runs with a known cost. Null if none has one. */
  cost: number | null;
  /** Number of runs with a known cost. */
  cost_known_runs: number;
  /** Number of runs with a cost that tacho computed. */
  cost_computed_runs: number;
  /** Summed over the runs with known tokens. Null if none has them. */
  tokens: number | null;
  /** Number of runs with known tokens. */
  tokens_known_runs: number;
  /** Number of tool calls. */
  tool_calls: number;
  /** Bytes in the store. */
  bytes: number;
}

/** Sums over runs. Groups with the most runs come first. */
export interface Stats {
  /** All runs that match. */
  total: StatsRow;
  /** A row per agent. */
  by_agent: StatsRow[];
  /** A row per model, if requested. */
  by_model?: StatsRow[];
  /** A row per project, if requested. */
  by_project?: StatsRow[];
  /** Local days, newest first. */
  by_day: StatsRow[];
}

export const NO_STATS: Stats = { total: newRow('all'), by_agent: [], by_day: [] };

interface StatsRequest {
  /** The number of days listed individually. */
  days: number;
  /** Also compute the sums of each model or project. */
  by?: readonly SumKey[] | undefined;
  /** Only these runs. */
  query?: RunQuery;
}

/**
 * Sums over all runs, or those that match a query. `bytes`: a run's share of its journal segments, by its entries,
 * and its transcript and log at the time when it got its row.
 */
export async function statsOf(
  state: StateDir,
  { days, by = [], query = {} }: StatsRequest,
): Promise<Stats> {
  using index = openIndex(state);
  const weights = await weigh(state, index);
  const sums = index.sumRuns(weights, 'agent', query);
  const [total = newRow('all')] = rowsOf(sums, () => 'all');
  const stats: Stats = {
    total,
    by_agent: rowsOf(sums, byName),
    by_day: rowsOf(sums, ({ day }) => day)
      .sort((a, b) => (dayOf(a) < dayOf(b) ? 1 : -1))
      .slice(0, days),
  };
  for (const key of by) stats[`by_${key}`] = rowsOf(index.sumRuns(weights, key, query), byName);
  return stats;
}

const UNKNOWN = 'unknown';
const byName = ({ name }: RunSums) => name;

/** After all days, as in lists. */
const dayOf = ({ name }: StatsRow) => (name === UNKNOWN ? '' : name);

function newRow(name: string): StatsRow {
  const known = {
    cost: null,
    cost_known_runs: 0,
    cost_computed_runs: 0,
    tokens: null,
    tokens_known_runs: 0,
  };
  return { name, runs: 0, ok: 0, ...known, tool_calls: 0, bytes: 0 };
}

/** One row per name, those with the most runs first. */
function rowsOf(sums: readonly RunSums[], nameOf: (one: RunSums) => string | null): StatsRow[] {
  const rows = new Map<string, StatsRow>();
  for (const one of sums) {
    const name = nameOf(one) ?? UNKNOWN;
    const row = rows.get(name) ?? newRow(name);
    rows.set(name, row);
    add(row, one);
  }
  for (const row of rows.values()) row.bytes = Math.round(row.bytes);
  return [...rows.values()].sort((a, b) => b.runs - a.runs);
}

function add(row: StatsRow, sums: RunSums): void {
  row.runs += sums.runs;
  row.ok += sums.ok;
  if (sums.cost !== null) row.cost = (row.cost ?? 0) + sums.cost;
  row.cost_known_runs += sums.cost_known_runs;
  row.cost_computed_runs += sums.cost_computed_runs;
  if (sums.tokens !== null) row.tokens = (row.tokens ?? 0) + sums.tokens;
  row.tokens_known_runs += sums.tokens_known_runs;
  row.tool_calls += sums.tool_calls;
  row.bytes += sums.bytes;
}
