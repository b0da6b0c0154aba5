/** Filters for lists of runs, as SQL. */
import { sep } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { own } from '../../lib/own.ts';
import { COST_SOURCE, IN_ORDER, RUN_COLUMNS } from './index-schema.ts';

export interface RunQuery {
  limit?: number;
  run_id?: string;
  agent?: string;
  /** `ok`, `failed`, or an exit reason. */
  status?: string;
  /** Started at or after this time. */
  since_ms?: number;
  /** Started before this time. */
  until_ms?: number;
  /** Absolute path: runs of this project and of folders in it. */
  project?: string;
  /** All of these must match. A null value matches any value. */
  labels?: readonly { name: string; value: string | null }[];
  /** A part of the model's name, case-insensitive. */
  model?: string;
}

type Condition = [sql: string, ...values: SQLInputValue[]];

/** The SQL condition of each query field. */
const CONDITIONS: {
  [Field in Exclude<keyof RunQuery, 'limit'>]-?: (
    value: NonNullable<RunQuery[Field]>,
  ) => Condition[];
} = {
  run_id: (run_id) => [['run_id = ?', run_id]],
  agent: (agent) => [['agent = ?', agent]],
  status: (status) =>
    status === 'ok' || status === 'failed'
      ? [['success = ?', status === 'ok' ? 1 : 0]]
      : [['exit_reason = ?', status]],
  since_ms: (since_ms) => [['started_ms >= ?', since_ms]],
  until_ms: (until_ms) => [['started_ms < ?', until_ms]],
  project: (project) => {
    const within = project.endsWith(sep) ? project : project + sep;
    const after = within.slice(0, -1) + String.fromCharCode(sep.charCodeAt(0) + 1);
    return [['(project = ? OR project >= ? AND project < ?)', project, within, after]];
  },
  labels: (labels) =>
    labels.map(({ name, value }) => [
      `EXISTS (SELECT 1 FROM json_each(iif(json_valid(labels), labels, '{}'))
        WHERE key = ? AND value = ifnull(?, value))`,
      name,
      value,
    ]),
  model: (model) => [['instr(lower(model), lower(?)) > 0', model]],
};

/** `WHERE …` with its values, or nothing. */
export function conditionsOf(query: RunQuery): { where: string; values: SQLInputValue[] } {
  const conditions: Condition[] = [];
  for (const [field, value] of Object.entries(query)) {
    const condition = own(CONDITIONS as Record<string, (value: unknown) => Condition[]>, field);
    if (value !== undefined) conditions.push(...(condition?.(value) ?? []));
  }
  const where = conditions.map(([sql]) => sql).join(' AND ');
  const values = conditions.flatMap(([, ...given]) => given);
  return { where: where === '' ? '' : `WHERE ${where}`, values };
}

export function listing(query: RunQuery): { sql: string; values: SQLInputValue[] } {
  const { where, values } = conditionsOf(query);
  const sql = `SELECT ${RUN_COLUMNS}, ${COST_SOURCE} AS cost_source FROM runs ${where} ${IN_ORDER} LIMIT ?`;
  return { sql, values: [...values, query.limit ?? -1] };
}
