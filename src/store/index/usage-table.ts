/** Usage of runs by time and model. Contract: a run's rows are replaced together with its outcome. */
import { wellFormed } from '../../lib/utf8.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import type { CostSource, ExitReason } from '../../model/words.ts';
import type { Database } from './database.ts';
import { DELETE_USAGE } from './index-schema.ts';
import { integer, type Prepared } from './prepared.ts';
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
    (SELECT run_id, ${RUN_FACTS}, cost AS run_cost FROM runs ${where})
  SELECT run.run_id, ${RUN_FACTS}, run_cost, at_ms, usage.model, sub_agent, ${TOKENS}, cost, computed,
    iif(run_cost IS NULL, 'unknown', iif(EXISTS (SELECT 1 FROM usage AS own
      WHERE own.run_id = run.run_id AND own.computed IS NOT NULL), 'computed', 'agent')) AS run_cost_source
  FROM run LEFT JOIN usage USING (run_id)`;

/** The time of a row, or the start of its run. */
const ROW_TIME = 'ifnull(nullif(at_ms, 0), started_ms)';

export function usageTable(db: Database) {
  return {
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
  const { at_ms, model, sub_agent, labels, success, cost, computed, ...facts } = row;
  const { input, output, cache_read, cache_write, reasoning, ...run } = facts;
  return {
    ...(run as Pick<RunUsage, 'run_id'>),
    success: success === 1,
    labels: JSON.parse(String(labels)),
    at_ms: at_ms || null,
    model: model || null,
    sub_agent: sub_agent === 1,
    tokens: { input, output, cache_read, cache_write, reasoning },
    cost_usd: cost,
    computed_usd: computed,
    measured: at_ms !== null,
  } as RunUsage;
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
