/**
 * The index: outcomes of runs, and where each session's events lie in the journal. Small, and made again from the
 * journal at any time. Contract: no conversation, no raw output, no tool inputs or outputs in it (ST-1).
 */
import type { SQLInputValue } from 'node:sqlite';
import type { Clock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { wellFormed } from '../../lib/utf8.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { ExitReason } from '../../model/words.ts';
import type { StateDir } from '../state-dir.ts';
import type { Cover, Position, PositionIndex } from './catalogue.ts';
import { openDatabase, type Prepared } from './database.ts';
import {
  MERGE,
  RUN_COLUMNS,
  SAVE_POSITION,
  SAVE_RUN,
  SAVE_SEGMENT,
  SCHEMA_VERSION,
  SETTLE_SEGMENT,
} from './index-schema.ts';

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

export interface Index extends PositionIndex {
  saveOutcome(outcome: RunOutcome): void;
  saveOutcomes(outcomes: readonly RunOutcome[]): void;
  getRun(run_id: string): RunOutcome | null;
  /** By id, by the beginning of an id (with or without `r_`), or `last`. Throws when several runs begin so. */
  findRun(text: string): RunOutcome | null;
  /** Newest first. */
  listRuns(query?: RunQuery): RunRow[];
  /** The outcome and what the journal holds of the run, in one transaction. */
  saveRun(outcome: RunOutcome, covers: readonly Cover[]): void;
  /** Deletes the runs' rows. Positions stay as long as the segments hold the entries. */
  deleteRuns(run_ids: readonly string[]): void;
  /** Of all runs, or of some. */
  runIds(most?: number): string[];
  setPositions(positions: readonly Position[]): void;
  /** Sessions that a segment holds, as far as they are covered. */
  sessionsIn(segment: string): string[];
  /** Sessions in the journal, as far as it is covered, that are not in the list of runs. */
  unlistedSessions(): string[];
  /** Sessions with more than one position. */
  sessionsInPieces(): string[];
  /** How many entries each session has in each segment. */
  entriesBySession(): { segment: string; session: string; entries: number }[];
  /** Up to which byte of a segment all finished runs have their row. */
  settled(): Map<string, number>;
  settle(segments: ReadonlyMap<string, number>): void;
  /** Replaces what `known` names by what the index in another file holds, in one transaction. */
  mergeFrom(path: string, known: { runs: readonly string[]; segments: readonly string[] }): void;
  stats(): IndexStats;
  /** Gives the room of what was deleted back to the disk, bytes and all; not while others use the file. */
  compact(): void;
  /** Where a damaged database was put when this one was begun in its place; null when none was. */
  readonly moved_to: string | null;
  close(): void;
}

export interface IndexStats {
  schema: number;
  runs: number;
  positions: number;
  segments: number;
  bytes: number;
}

export function openIndex(state: StateDir, options: { clock?: Clock } = {}): Index {
  const db = openDatabase(state.db, options.clock);
  const save = (outcomes: readonly RunOutcome[]) =>
    db.write((prepared) => {
      for (const outcome of outcomes) prepared.run(SAVE_RUN, ...runValues(outcome));
    });
  return {
    saveOutcome: (outcome) => save([outcome]),
    saveOutcomes: save,
    saveRun: (outcome, covers) =>
      db.write((prepared) => {
        prepared.run(SAVE_RUN, ...runValues(outcome));
        for (const { segment, bytes, positions } of covers) {
          put(prepared, positions);
          prepared.run(SAVE_SEGMENT, segment, bytes);
          prepared.run(SETTLE_SEGMENT, segment, bytes);
        }
      }),
    getRun: (run_id) => db.read((prepared) => outcomeOf(prepared, run_id)),
    findRun: (text) => db.read((prepared) => findRun(prepared, text)),
    listRuns: (query = {}) => db.read((prepared) => listRuns(prepared, query)),
    deleteRuns: (run_ids) =>
      db.write((prepared) => {
        prepared.run(
          'DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?))',
          JSON.stringify(run_ids),
        );
      }),
    // -1: no limit.
    runIds: (most = -1) =>
      db.readOrNone((prepared) =>
        prepared.all('SELECT run_id FROM runs LIMIT ?', most).map((row) => String(row.run_id)),
      ),
    ...positionsOf(db),
    stats: () => db.read(statsOf),
    compact: db.compact,
    get moved_to() {
      return db.moved_to;
    },
    close: db.close,
  };
}

type PositionPart = Pick<
  Index,
  | 'setPositions'
  | 'getPositions'
  | 'covered'
  | 'cover'
  | 'sessionsIn'
  | 'unlistedSessions'
  | 'sessionsInPieces'
  | 'entriesBySession'
  | 'forgetSegment'
  | 'settled'
  | 'settle'
  | 'mergeFrom'
>;

function put(prepared: Prepared, positions: readonly Position[]): void {
  for (const { session, source, segment, first_seq, last_seq, offset } of positions) {
    prepared.run(SAVE_POSITION, key(session), key(source), segment, first_seq, last_seq, offset);
  }
}

function positionsOf(db: ReturnType<typeof openDatabase>): PositionPart {
  return {
    setPositions: (positions) => db.write((prepared) => put(prepared, positions)),
    getPositions: (session) =>
      db.read((prepared) => {
        const rows = prepared.all('SELECT * FROM positions WHERE session = ?', key(session));
        return rows.map((row) => ({
          ...(row as unknown as Position),
          session,
          source: unkey(row.source),
        }));
      }),
    covered: () =>
      db.readOrNone((prepared) => {
        const rows = prepared.all('SELECT segment, bytes FROM segments');
        return new Map(rows.map((row) => [String(row.segment), Number(row.bytes)]));
      }),
    cover: (segment, bytes, positions) =>
      db.write((prepared) => {
        put(prepared, positions);
        prepared.run(SAVE_SEGMENT, segment, bytes);
      }),
    sessionsIn: (segment) =>
      db.read((prepared) => {
        const sql = 'SELECT DISTINCT session FROM positions WHERE segment = ?';
        return prepared.all(sql, segment).map((row) => unkey(row.session));
      }),
    unlistedSessions: () =>
      db.read((prepared) => {
        const sql = `SELECT DISTINCT session FROM positions
          WHERE session NOT IN (SELECT run_id FROM runs)`;
        return prepared.all(sql).map((row) => unkey(row.session));
      }),
    sessionsInPieces: () =>
      db.read((prepared) => {
        const sql = 'SELECT session FROM positions GROUP BY session HAVING count(*) > 1';
        return prepared.all(sql).map((row) => unkey(row.session));
      }),
    entriesBySession: () =>
      db.read((prepared) => {
        const sql = `SELECT segment, session, sum(last_seq - first_seq + 1) AS entries
          FROM positions GROUP BY segment, session`;
        return prepared.all(sql).map((row) => ({
          segment: String(row.segment),
          session: unkey(row.session),
          entries: Number(row.entries),
        }));
      }),
    forgetSegment: (segment) =>
      db.write((prepared) => {
        prepared.run('DELETE FROM positions WHERE segment = ?', segment);
        prepared.run('DELETE FROM segments WHERE segment = ?', segment);
      }),
    settled: () =>
      db.readOrNone((prepared) => {
        const rows = prepared.all('SELECT segment, settled FROM segments');
        return new Map(rows.map((row) => [String(row.segment), Number(row.settled)]));
      }),
    settle: (segments) =>
      db.write((prepared) => {
        for (const [segment, bytes] of segments) prepared.run(SETTLE_SEGMENT, segment, bytes);
      }),
    mergeFrom: (path, known) =>
      db.withFile('fresh', path, (prepared) => {
        const segments = JSON.stringify(known.segments);
        const values = [JSON.stringify(known.runs), segments, segments];
        for (const [at, sql] of MERGE.entries())
          prepared.run(sql, ...(at < values.length ? [values[at] as string] : []));
      }),
  };
}

/** Ids from outside as JSON text where SQLite would change them: it keeps neither lone surrogates nor what follows a NUL. */
function key(id: string): string {
  const kept = id.isWellFormed() && !id.includes('\0') && !id.startsWith('"');
  return kept ? id : JSON.stringify(id);
}

function unkey(stored: unknown): string {
  const text = String(stored);
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
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
    prompt === null ? null : text(prompt.slice(0, LIMITS.prompt_preview_chars)),
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

function statsOf(prepared: Prepared): IndexStats {
  const number = (sql: string) => Number(Object.values(prepared.get(sql) ?? { none: 0 })[0]);
  return {
    schema: SCHEMA_VERSION,
    runs: number('SELECT count(*) FROM runs'),
    positions: number('SELECT count(*) FROM positions'),
    segments: number('SELECT count(*) FROM segments'),
    bytes: number('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'),
  };
}
