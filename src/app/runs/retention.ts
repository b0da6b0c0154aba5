/** Keeping the store small: what the policies let go, and what there is (ST-5). */
import { openIndex } from '../../store/index/index-db.ts';
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

/** `leaving`: without those that had to be kept; `done`: null on a dry run. */
async function collectLocked(
  state: StateDir,
  policies: readonly RetentionPolicy[],
  options: CollectOptions,
) {
  using index = openIndex(state);
  // Which runs go is decided over all of them.
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

export interface StatsRow {
  name: string;
  runs: number;
  ok: number;
  /** Null: not known of any of them. */
  cost: number | null;
  tokens: number | null;
  tool_calls: number;
  bytes: number;
}

export interface Stats {
  total: StatsRow;
  by_agent: StatsRow[];
  /** Newest first. */
  by_day: StatsRow[];
}

export const NO_STATS: Stats = { total: newRow('all'), by_agent: [], by_day: [] };

/**
 * Sums over all runs, or those that a query chooses. `bytes`: a run's share of its journal segments, by its entries, and its transcript and log as they
 * were when it got its row.
 */
export async function statsOf(state: StateDir, days: number, query: RunQuery = {}): Promise<Stats> {
  using index = openIndex(state);
  const sums = index.sumRuns(await weigh(state, index), query);
  const total = newRow('all');
  const agents = new Map<string, StatsRow>();
  const by_day = new Map<string, StatsRow>();
  const newest = sums.sort((a, b) => ((a.day ?? '') < (b.day ?? '') ? 1 : -1));
  for (const one of newest) {
    const day = one.day ?? 'unknown';
    for (const row of [total, rowOf(agents, one.agent), rowOf(by_day, day)]) add(row, one);
  }
  for (const row of [total, ...agents.values(), ...by_day.values()])
    row.bytes = Math.round(row.bytes);
  return {
    total,
    by_agent: [...agents.values()].sort((a, b) => b.runs - a.runs),
    by_day: [...by_day.values()].slice(0, days),
  };
}

function newRow(name: string): StatsRow {
  return { name, runs: 0, ok: 0, cost: null, tokens: null, tool_calls: 0, bytes: 0 };
}

function rowOf(rows: Map<string, StatsRow>, name: string): StatsRow {
  const row = rows.get(name) ?? newRow(name);
  rows.set(name, row);
  return row;
}

function add(row: StatsRow, sums: RunSums): void {
  row.runs += sums.runs;
  row.ok += sums.ok;
  if (sums.cost !== null) row.cost = (row.cost ?? 0) + sums.cost;
  if (sums.tokens !== null) row.tokens = (row.tokens ?? 0) + sums.tokens;
  row.tool_calls += sums.tool_calls;
  row.bytes += sums.bytes;
}
