/** Rows of runs: the columns that lists show, and the outcome without content. */
import type { SQLInputValue } from 'node:sqlite';
import { wellFormed } from '../../lib/utf8.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import type { CallStatus, CostSource, ExitReason } from '../../model/words.ts';
import { STORE_LIMITS } from '../limits.ts';
import type { Database } from './database.ts';
import { findRuns } from './find-run.ts';
import {
  DELETE_GROWN,
  DELETE_RUNS,
  DELETE_UNFINISHED,
  DELETE_USAGE,
  SAVE_GROWN,
  SAVE_RUN,
  type SumKey,
  sumRuns,
  WEIGH_CLOSED,
  WEIGH_RUNS,
} from './index-schema.ts';
import { integer, outcomeOf, type Prepared } from './prepared.ts';
import { conditionsOf, listing, type RunQuery } from './run-query.ts';
import { putUsage } from './usage-table.ts';

export type { RunQuery } from './run-query.ts';

/** A run as shown in lists. */
export interface RunRow {
  /** Id of the run. */
  run_id: string;
  /** Id of the agent. */
  agent: string;
  /** Id of the agent's session; null if unknown. */
  session_id: string | null;
  /** Name of the model; null if unknown. */
  model: string | null;
  /** Start, in milliseconds since 1970; null if unknown. */
  started_ms: number | null;
  /** End, in milliseconds since 1970; null if unknown. */
  finished_ms: number | null;
  /** Whether the run succeeded. */
  success: boolean;
  /** Why the run ended. */
  exit_reason: ExitReason;
  /** US dollars; null if unknown. */
  cost: number | null;
  /** `agent`: as the agent reported it; `computed`: from tokens and prices; `unknown`. */
  cost_source: CostSource;
  /** Tokens of all kinds; null if unknown. */
  tokens: number | null;
  /** Number of steps. */
  steps: number;
  /** Number of tool calls. */
  tool_calls: number;
  /** Number of failed calls; null if not every call is known. */
  failed_calls: number | null;
  /** Number of denied calls; null if not every call is known. */
  denied_calls: number | null;
  /** Absolute path of the root of the git work tree, otherwise the working directory. */
  project: string | null;
  /** URL of the git remote, without credentials. */
  project_remote: string | null;
  /** Beginning of the prompt; null if unknown. */
  prompt: string | null;
  /** Labels of the run. */
  labels: Record<string, string>;
}

/** A run's disk usage, and the facts that decide whether it is removed. */
export type WeighedRun = Pick<
  RunRow,
  | 'run_id'
  | 'agent'
  | 'success'
  | 'exit_reason'
  | 'started_ms'
  | 'finished_ms'
  | 'project'
  | 'labels'
> & { bytes: number };

/** Runs of one group that started on the same local day. */
export interface RunSums {
  /** The agent, model or project. Null if unknown. */
  name: string | null;
  /** `2026-11-15`. Null if unknown. */
  day: string | null;
  runs: number;
  ok: number;
  tool_calls: number;
  bytes: number;
  /** Of the runs with a known cost. Null if there are none. */
  cost: number | null;
  cost_known_runs: number;
  cost_computed_runs: number;
  tokens: number | null;
  tokens_known_runs: number;
}

/** Sizes that the index does not contain. */
export interface Weights {
  /** Average bytes per entry, by segment, of segments that are not closed. */
  entry_bytes: Readonly<Record<string, number>>;
  /** Bytes of the files of runs that are not measured. */
  file_bytes: Readonly<Record<string, number>>;
}

/** The bytes of a run's files outside of the journal. */
export type FileBytes = (run: { agent: string; run_id: string }) => number;

const valuesOf = ({ entry_bytes, file_bytes }: Weights) => [
  JSON.stringify(entry_bytes),
  JSON.stringify(file_bytes),
];

const UNMEASURED = `SELECT run_id, agent FROM runs WHERE file_bytes IS NULL AND run_id > ?
  ORDER BY run_id LIMIT 1000`;
const PROJECTS = 'SELECT DISTINCT project FROM runs WHERE project IS NOT NULL ORDER BY project';
const UNWEIGHED = 'SELECT 1 FROM runs WHERE journal_bytes IS NULL LIMIT 1';
const MEASURED = 'UPDATE runs SET file_bytes = ? WHERE run_id = ? AND file_bytes IS NULL';

function measureFiles(db: Database, fileBytes: FileBytes): Weights['file_bytes'] {
  const left: Record<string, number> = {};
  for (let after = ''; ; ) {
    const runs = db.read((prepared) => prepared.all(UNMEASURED, after));
    if (runs.length === 0) return left;
    const sizes = (runs as { run_id: string; agent: string }[]).map(
      (run) => [run.run_id, fileBytes(run)] as const,
    );
    const kept = db.tryWrite((prepared) => {
      for (const [run_id, bytes] of sizes) prepared.run(MEASURED, bytes, run_id);
    });
    if (!kept) Object.assign(left, Object.fromEntries(sizes));
    after = sizes.at(-1)?.[0] as string;
  }
}

export function runsTable(db: Database, fileBytes: FileBytes) {
  return {
    /**
     * In one transaction with the deletion of the rows that they replace. `grown`: for runs that may grow, the number of
     * events that the outcome covers.
     */
    saveRuns: (
      runs: readonly MeasuredRun[],
      replaced: readonly string[] = [],
      grown: ReadonlyMap<string, number> = new Map(),
    ) =>
      db.write((prepared) => {
        for (const run of runs) putRun(prepared, run, fileBytes(run.outcome));
        for (const [run_id, events] of grown) prepared.run(SAVE_GROWN, run_id, events);
        if (replaced.length > 0) deleteRows(prepared, replaced);
      }),
    getRun: (run_id: string) => db.read((prepared) => outcomeOf(prepared, run_id)),
    findRuns: (text: string) => db.read((prepared) => findRuns(prepared, text)),
    /** The projects of all runs, in order. */
    projects: () =>
      db.read((prepared) => prepared.all(PROJECTS)).map((row) => String(Object.values(row)[0])),
    hasRun: (run_id: string) =>
      db.read((prepared) => prepared.get('SELECT 1 FROM runs WHERE run_id = ?', run_id)) !==
      undefined,
    /** Newest first, one by one. */
    listRuns: (query: RunQuery = {}) => {
      const { sql, values } = listing(query);
      return db.each(sql, values, rowOf);
    },
    /** The same for all runs, each with its disk usage. Labels are included only on request. */
    weighRuns: (weights: Weights, with_labels: boolean) =>
      db.each(WEIGH_RUNS, valuesOf(weights), (row) => ({
        ...(row as unknown as WeighedRun),
        success: row.success === 1,
        labels: with_labels ? labelsOf(row) : {},
        bytes: Math.round(Number(row.bytes)),
      })),
    sumRuns: (weights: Weights, key: SumKey, query: RunQuery = {}) => {
      const { where, values } = conditionsOf(query);
      const given = [...valuesOf(weights), ...values];
      return db.read((prepared) =>
        prepared.all(sumRuns(key, where), ...given),
      ) as unknown[] as RunSums[];
    },
    /**
     * Measures the files of runs that an older tacho saved, or that have changed since, and stores the sizes of runs in
     * closed segments. Returns file sizes that could not be stored: it never waits for another writer.
     */
    measure(): Weights['file_bytes'] {
      const left = measureFiles(db, fileBytes);
      const some = db.read((prepared) => prepared.get(UNWEIGHED));
      if (some !== undefined) db.tryWrite((prepared) => void prepared.run(WEIGH_CLOSED));
      return left;
    },
    /** Must be called when the files of a run changed: the next measurement reads them again. */
    unmeasure: (run_id: string) =>
      db.write((prepared) =>
        prepared.run('UPDATE runs SET file_bytes = NULL WHERE run_id = ?', run_id),
      ),
    /** Deletes the runs' rows. Positions stay as long as the segments contain the entries. */
    deleteRuns: (run_ids: readonly string[]) =>
      db.write((prepared) => deleteRows(prepared, run_ids)),
    /** Returns the given runs that have a row. */
    listedOf: (run_ids: readonly string[]) =>
      db.readOrNone((prepared) => {
        const sql = 'SELECT run_id FROM runs WHERE run_id IN (SELECT value FROM json_each(?))';
        return prepared.all(sql, JSON.stringify(run_ids)).map((row) => String(row.run_id));
      }),
    runIds: (most?: number) =>
      db.readOrNone((prepared) => {
        // As one text: one row per run would take ten times the memory. -1: no limit.
        const sql = 'SELECT json_group_array(run_id) AS ids FROM (SELECT run_id FROM runs LIMIT ?)';
        return JSON.parse(String(prepared.get(sql, most ?? -1)?.ids)) as string[];
      }),
  };
}

function deleteRows(prepared: Prepared, run_ids: readonly string[]): void {
  for (const sql of [DELETE_RUNS, DELETE_GROWN, DELETE_UNFINISHED, DELETE_USAGE])
    prepared.run(sql, JSON.stringify(run_ids));
}

export function putRun(prepared: Prepared, run: MeasuredRun, file_bytes: number): void {
  prepared.run(SAVE_RUN, ...runValues(run.outcome), file_bytes);
  putUsage(prepared, run);
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
    callsWith(outcome, ['error', 'timeout']),
    callsWith(outcome, ['denied']),
    text(metadata.project?.path ?? null),
    text(metadata.project?.remote ?? null),
    prompt === null ? null : text(prompt.slice(0, STORE_LIMITS.prompt_preview_chars)),
    JSON.stringify(metadata.labels),
    JSON.stringify(withoutContent(outcome)),
  ];
}

/** Null if the outcome does not list all calls. */
function callsWith(outcome: RunOutcome, statuses: readonly CallStatus[]): number | null {
  const { tool_calls, metrics } = outcome;
  if (tool_calls.length !== metrics.tool_calls_count) return null;
  return tool_calls.filter(({ status }) => statuses.includes(status)).length;
}

function text(value: string | null): string | null {
  return value === null ? null : wellFormed(value);
}

/** The outcome without the inputs and outputs of tools (ST-1). */
export function withoutContent(outcome: RunOutcome): RunOutcome {
  const tool_calls = outcome.tool_calls.map(
    ({ inputs: _inputs, outputs: _outputs, ...kept }) => kept,
  );
  return { ...outcome, tool_calls };
}

function rowOf(row: Record<string, unknown>): RunRow {
  return {
    ...(row as unknown as RunRow),
    success: row.success === 1,
    labels: labelsOf(row),
  };
}

const labelsOf = (row: Record<string, unknown>) =>
  JSON.parse(String(row.labels)) as Record<string, string>;
