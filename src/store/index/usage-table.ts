/** Usage of runs by time and model. Contract: a run's rows are replaced together with its outcome. */
import { wellFormed } from '../../lib/utf8.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import type { CostSource, ExitReason } from '../../model/words.ts';
import type { Database } from './database.ts';
import { COST_SOURCE, DELETE_USAGE } from './index-schema.ts';
import { integer, outcomeOf, type Prepared } from './prepared.ts';
import { conditionsOf, type RunQuery } from './run-query.ts';

/** A row of a run's usage, with facts of the run. */
export interface RunUsage extends UsageRow {
  run_id: string;
  agent: string;
  session_id: string | null;
  project: string | null;
  labels: Record<string, string>;
  success: boolean;
  exit_reason: ExitReason;
  started_ms: number | null;
  /** The cost of the whole run, and its source. */
  run_cost: number | null;
  run_cost_source: CostSource;
  /**
   * False: the only row of a run that an older tacho saved; its figures were not read from the journal yet and are
   * unknown.
   */
  measured: boolean;
}

const TOKENS = 'input, output, cache_read, cache_write, reasoning';
const COLUMNS = `run_id, at_ms, model, sub_agent, ${TOKENS}, cost, computed`;

// Two names that differ only beyond what the store keeps are one row.
const SAVE = `INSERT OR IGNORE INTO usage (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`;

const RUN_FACTS = 'agent, session_id, project, labels, success, exit_reason, started_ms';

/** Rows of one run follow each other. */
export const usageOf = (where: string) => `WITH run AS
    (SELECT run_id, ${RUN_FACTS}, cost AS run_cost, ${COST_SOURCE} AS run_cost_source FROM runs ${where})
  SELECT run.run_id, ${RUN_FACTS}, run_cost, at_ms, usage.model, sub_agent, ${TOKENS}, cost, computed, run_cost_source
  FROM run LEFT JOIN usage USING (run_id)`;

/** The time of a row, or the start of its run. */
const ROW_TIME = 'ifnull(nullif(at_ms, 0), started_ms)';

/** Runs with tokens, but without a cost that the agent reported. */
const WITHOUT_COST = `SELECT run_id FROM runs WHERE tokens IS NOT NULL
  AND (cost IS NULL OR EXISTS (SELECT 1 FROM usage WHERE usage.run_id = runs.run_id AND computed IS NOT NULL))`;

/** Only of the same state of the run: it may have grown since it was read. */
const SAVE_COST = `UPDATE runs SET cost = ?,
    outcome = json_set(outcome, '$.metrics.cost', ?, '$.metrics.cost_source', ?)
  WHERE run_id = ? AND tokens IS ?`;

const UNMEASURED = `SELECT run_id FROM runs
  WHERE NOT EXISTS (SELECT 1 FROM usage WHERE usage.run_id = runs.run_id)`;

const idsOf = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ run_id }) => String(run_id));

export function usageTable(db: Database) {
  return {
    /** Runs that an older tacho saved: their usage by time and model was not read from the journal yet. */
    unmeasured: () => db.read((prepared) => idsOf(prepared.all(UNMEASURED))),
    /** The runs with a cost that depends on the list of prices: all, or those of the given ones. */
    withoutCost: (only: readonly string[] | null) =>
      db.read((prepared) => {
        if (only === null) return idsOf(prepared.all(WITHOUT_COST));
        const sql = `${WITHOUT_COST} AND run_id IN (SELECT value FROM json_each(?))`;
        return idsOf(prepared.all(sql, JSON.stringify(only)));
      }),
    /** A run with its usage, as it was saved. */
    measured: (run_id: string): MeasuredRun | null =>
      db.read((prepared) => {
        const outcome = outcomeOf(prepared, run_id);
        const rows = prepared.all('SELECT * FROM usage WHERE run_id = ?', run_id);
        return outcome === null ? null : { outcome, usage: rows.map(usageRow) };
      }),
    /** Saves the costs of runs and of their usage. */
    saveCosts: (runs: readonly MeasuredRun[]) =>
      db.write((prepared) => {
        for (const run of runs) {
          const { run_id, metrics } = run.outcome;
          const { cost, cost_source, tokens_used } = metrics;
          const values = [cost, cost, cost_source, run_id, integer(tokens_used)];
          if (prepared.run(SAVE_COST, ...values) > 0) putUsage(prepared, run);
        }
      }),
    /** The list of prices that costs were computed with; null if none were. */
    priceList: () =>
      db.readOrNone(
        (prepared) => (prepared.get('SELECT list FROM prices')?.list as string) ?? null,
      ),
    savePriceList: (list: string) =>
      db.write((prepared) =>
        prepared.run('INSERT OR REPLACE INTO prices (id, list) VALUES (1, ?)', list),
      ),
    /** The usage of runs. `since_ms` and `until_ms` select the time of the usage, not the start of the run. */
    usage: ({ since_ms, until_ms, limit: _, ...query }: RunQuery = {}) => {
      const { where, values } = conditionsOf(query);
      const times = [
        ...(since_ms === undefined ? [] : [[`${ROW_TIME} >= ?`, since_ms] as const]),
        ...(until_ms === undefined ? [] : [[`${ROW_TIME} < ?`, until_ms] as const]),
      ];
      const within = times.length === 0 ? '' : `WHERE ${times.map(([sql]) => sql).join(' AND ')}`;
      const given = [...values, ...times.map(([, time]) => time)];
      return db.each(`${usageOf(where)} ${within}`, given, runUsage);
    },
  };
}

export function runUsage(row: Record<string, unknown>): RunUsage {
  const { run_id, agent, session_id, project, labels, success, exit_reason, started_ms } = row;
  const { run_cost, run_cost_source } = row;
  return {
    ...usageRow(row),
    ...{ run_id, agent, session_id, project, exit_reason, started_ms, run_cost, run_cost_source },
    success: success === 1,
    labels: JSON.parse(String(labels)),
    measured: row.at_ms !== null,
  } as RunUsage;
}

function usageRow(row: Record<string, unknown>): UsageRow {
  const { at_ms, model, sub_agent, cost, computed } = row;
  const { input, output, cache_read, cache_write, reasoning } = row;
  return {
    at_ms: at_ms || null,
    model: model || null,
    sub_agent: sub_agent === 1,
    tokens: { input, output, cache_read, cache_write, reasoning },
    cost_usd: cost,
    computed_usd: computed,
  } as UsageRow;
}

/** In the transaction that saves the outcome. */
export function putUsage(prepared: Prepared, { outcome, usage }: MeasuredRun): void {
  const { run_id } = outcome;
  prepared.run(DELETE_USAGE, JSON.stringify([run_id]));
  for (const { at_ms, model, sub_agent, tokens, cost_usd, computed_usd } of usage) {
    const { input, output, cache_read, cache_write, reasoning } = tokens;
    const figures = [input, output, cache_read, cache_write, reasoning].map(integer);
    const place = [run_id, at_ms ?? 0, wellFormed(model ?? ''), sub_agent ? 1 : 0];
    prepared.run(SAVE, ...place, ...figures, cost_usd, computed_usd);
  }
}
