/** Rows of runs: what lists show, and the outcome without content. */
import type { SQLInputValue } from 'node:sqlite';
import { TachoError } from '../../lib/errors.ts';
import { wellFormed } from '../../lib/utf8.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { ExitReason } from '../../model/words.ts';
import { STORE_LIMITS } from '../limits.ts';
import type { Database } from './database.ts';
import { DELETE_RUNS, RUN_COLUMNS, SAVE_RUN } from './index-schema.ts';
import type { Prepared } from './prepared.ts';

/** A run as lists show it. */
export interface RunRow {
  run_id: string;
  agent: string;
  session_id: string | null;
  model: string | null;
  started_ms: number | null;
  finished_ms: number | null;
  success: boolean;
  exit_reason: ExitReason;
  cost: number | null;
  tokens: number | null;
  steps: number;
  tool_calls: number;
  /** Its beginning. */
  prompt: string | null;
  labels: Record<string, string>;
}

export interface RunQuery {
  limit?: number;
  agent?: string;
  /** `ok`, `failed`, or an exit reason. */
  status?: string;
  since_ms?: number;
  /** Only runs that come after this one in the list. */
  before?: string;
}

export function runsTable(db: Database) {
  return {
    saveOutcomes: (outcomes: readonly RunOutcome[]) =>
      db.write((prepared) => {
        for (const outcome of outcomes) putRun(prepared, outcome);
      }),
    getRun: (run_id: string) => db.read((prepared) => outcomeOf(prepared, run_id)),
    /** By id, by the beginning of an id (with or without `r_`), or `last`. Throws when several runs begin so. */
    findRun: (text: string) => db.read((prepared) => findRun(prepared, text)),
    /** Newest first. */
    listRuns: (query: RunQuery = {}) => db.read((prepared) => listRuns(prepared, query)),
    /** Deletes the runs' rows. Positions stay as long as the segments hold the entries. */
    deleteRuns: (run_ids: readonly string[]) =>
      db.write((prepared) => prepared.run(DELETE_RUNS, JSON.stringify(run_ids))),
    /** Of all runs, or of some. */
    runIds: (most?: number) =>
      db.readOrNone((prepared) =>
        // -1: no limit.
        prepared
          .all('SELECT run_id FROM runs LIMIT ?', most ?? -1)
          .map(({ run_id }) => String(run_id)),
      ),
  };
}

export function putRun(prepared: Prepared, outcome: RunOutcome): void {
  prepared.run(SAVE_RUN, ...runValues(outcome));
}

function runValues(outcome: RunOutcome): SQLInputValue[] {
  const { metrics, metadata } = outcome;
  const prompt = metadata.initial_prompt;
  return [
    outcome.run_id,
    outcome.agent,
    text(outcome.session_id),
    text(metrics.model_name),
    integer(metrics.start_time_ms),
    integer(metrics.end_time_ms),
    outcome.success ? 1 : 0,
    outcome.exit_reason,
    metrics.cost,
    integer(metrics.tokens_used),
    integer(metrics.steps) ?? 0,
    integer(metrics.tool_calls_count) ?? 0,
    prompt === null ? null : text(prompt.slice(0, STORE_LIMITS.prompt_preview_chars)),
    JSON.stringify(metadata.labels),
    JSON.stringify(withoutContent(outcome)),
  ];
}

/** Figures come from agents, and from journals that others may have edited: what SQLite cannot keep is not known. */
function integer(value: number | null): number | null {
  return Number.isSafeInteger(value) ? value : null;
}

function text(value: string | null): string | null {
  return value === null ? null : wellFormed(value);
}

/** The outcome without what the tools were given and gave back (ST-1). */
export function withoutContent(outcome: RunOutcome): RunOutcome {
  const tool_calls = outcome.tool_calls.map(
    ({ inputs: _inputs, outputs: _outputs, ...kept }) => kept,
  );
  return { ...outcome, tool_calls };
}

function outcomeOf(prepared: Prepared, run_id: string): RunOutcome | null {
  const row = prepared.get('SELECT outcome FROM runs WHERE run_id = ?', run_id);
  return row === undefined ? null : (JSON.parse(String(row.outcome)) as RunOutcome);
}

function findRun(prepared: Prepared, wanted: string): RunOutcome | null {
  if (wanted === 'last') {
    const row = prepared.get(
      'SELECT run_id FROM runs ORDER BY started_ms DESC, run_id DESC LIMIT 1',
    );
    return row === undefined ? null : outcomeOf(prepared, String(row.run_id));
  }
  const exact = outcomeOf(prepared, wanted);
  if (exact !== null || !/^[0-9a-z_]+$/.test(wanted)) return exact;
  const prefix = wanted.startsWith('r_') ? wanted : `r_${wanted}`;
  const sql = 'SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 4';
  const found = prepared.all(sql, prefix, `${prefix}\x7f`).map((row) => String(row.run_id));
  if (found.length > 1) {
    const shown = `${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`;
    throw new TachoError('usage', `${wanted} is the beginning of several run ids: ${shown}`, {
      stage: 'index',
    });
  }
  return found[0] === undefined ? null : outcomeOf(prepared, found[0]);
}

function listRuns(prepared: Prepared, query: RunQuery): RunRow[] {
  const where: string[] = [];
  const values: SQLInputValue[] = [];
  const add = (condition: string, ...given: SQLInputValue[]) => {
    where.push(condition);
    values.push(...given);
  };
  if (query.agent !== undefined) add('agent = ?', query.agent);
  if (query.status === 'ok') add('success = 1');
  else if (query.status === 'failed') add('success = 0');
  else if (query.status !== undefined) add('exit_reason = ?', query.status);
  if (query.since_ms !== undefined) add('started_ms >= ?', query.since_ms);
  if (query.before !== undefined) {
    add(
      '(ifnull(started_ms, 0), run_id) < (SELECT ifnull(started_ms, 0), run_id FROM runs WHERE run_id = ?)',
      query.before,
    );
  }
  const filter = where.length > 0 ? `WHERE ${where.join(' AND ')}` : '';
  const sql = `SELECT ${RUN_COLUMNS} FROM runs ${filter} ORDER BY started_ms DESC, run_id DESC LIMIT ?`;
  return prepared.all(sql, ...values, query.limit ?? -1).map((row) => ({
    ...(row as unknown as RunRow),
    success: row.success === 1,
    labels: JSON.parse(String(row.labels)) as Record<string, string>,
  }));
}
