/**
 * Finds the runs and events that match. Contract: the newest hits are read first, and at most a fixed number of them is
 * ranked; whether there are more is reported.
 */
import type { SQLInputValue } from 'node:sqlite';
import { PLACES, type Place } from './event-text.ts';
import { SEARCH_LIMITS } from './limits.ts';
import type { SearchDb } from './search-db.ts';
import { firstRow, keyAt, keyIn, keyOf, placeOf, seqOf } from './search-schema.ts';

export interface FindRequest {
  /** The FTS5 expression. Null: every run that meets the conditions is a hit. */
  match: string | null;
  /** Conditions on the columns of runs, all of which must hold. */
  where: readonly { sql: string; values: readonly SQLInputValue[] }[];
  /** Only runs that started at or after this time. Also among the conditions; here it limits the rows that are read. */
  since_ms: number | null;
  sort: 'relevance' | 'time';
  /** At most this many runs, and this many hits of each. */
  runs: number;
  hits: number;
  /** Where the page begins: after the run with this key, for the order of time; after this many runs, for relevance. */
  after: number | null;
  /** Whether a run is wanted; for conditions that only a program can decide. */
  accepts: ((run_id: string) => boolean) | null;
}

interface FoundHit {
  seq: number;
  place: Place;
}

export interface FoundRun {
  key: number;
  run_id: string;
  agent: string;
  model: string | null;
  project: string | null;
  started_ms: number | null;
  /** Null for a run without an end. */
  exit_reason: string | null;
  /** Number of hits in the run that were counted. */
  count: number;
  hits: FoundHit[];
}

export interface Found {
  runs: FoundRun[];
  /** Of all pages. */
  total_runs: number;
  total_hits: number;
  /** Whether the totals are exact. Otherwise there are at least as many. */
  exact: boolean;
  /** Whether there is another page. */
  more: boolean;
}

/** The columns of runs: from their outcomes, or from their first event if they have none. */
const RUN_COLUMNS = `k.key, k.run_id, ifnull(s.agent, k.agent) AS agent, ifnull(s.model, k.model) AS model,
  ifnull(s.project, k.project) AS project, ifnull(s.started_ms, k.started_ms) AS started_ms,
  s.success, s.exit_reason, s.cost, k.problems, ifnull(s.labels, k.labels) AS labels`;
const WITH_OUTCOME = 'LEFT JOIN store.runs AS s ON s.run_id = k.run_id';
const RUNS = `(SELECT ${RUN_COLUMNS} FROM main.runs AS k ${WITH_OUTCOME})`;

const COLUMNS = 'key, run_id, agent, model, project, started_ms, exit_reason';

/** Rows that were found, in memory. Their order is that of time. */
const MAKE_FOUND = 'CREATE TEMP TABLE IF NOT EXISTS found (id INTEGER PRIMARY KEY)';
const CLEAR_FOUND = 'DELETE FROM temp.found';
const FILL = `INSERT OR IGNORE INTO temp.found SELECT rowid FROM text
  WHERE text MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?`;
/** As text: it has more bits than a number. */
const OLDEST = 'SELECT CAST(min(id) AS TEXT) AS id FROM temp.found';
const GROUPED = `SELECT ${keyOf('id')} AS key, count(*) AS count, min(${placeOf('id')}) AS best
  FROM temp.found GROUP BY 1`;
/** In this order: the found runs are few. */
const FOUND_RUNS = `(SELECT ${RUN_COLUMNS}, g.count, g.best FROM (${GROUPED}) AS g
  CROSS JOIN main.runs AS k ON k.key = g.key ${WITH_OUTCOME})`;
const HITS = `SELECT ${seqOf('id')} AS seq, ${placeOf('id')} AS place FROM temp.found
  WHERE id >= ? AND id < ?`;

const RUN_ORDERS = { relevance: 'best, count DESC, key DESC', time: 'key DESC' } as const;
const HIT_ORDERS = { relevance: placeOf('id'), time: 'id' } as const;

/** Reading the next hits is faster than reading runs one by one, unless fields exclude nearly all of them. */
const FILLS_FIRST = 3;
/** After every row of every run. */
const NO_ROW = 2n ** 62n;
/** An outcome may state another start than the first event of its run. */
const START_SLACK_MS = 86_400_000;

type Values = SQLInputValue[];
type Row = Record<string, unknown>;

export function findRuns(db: SearchDb, request: FindRequest): Found {
  const { match } = request;
  return match === null ? listRuns(db, request) : new Finding(db, request, match).run();
}

function conditionsOf({ where }: FindRequest): { sql: string; values: Values } {
  const sql = ['1', ...where.map((one) => `(${one.sql})`)].join(' AND ');
  return { sql, values: where.flatMap(({ values }) => values) };
}

/** Every run that meets the conditions, newest first. */
function listRuns(db: SearchDb, request: FindRequest): Found {
  const { sql, values } = conditionsOf(request);
  const most = SEARCH_LIMITS.ranked_hits_max;
  const before = request.after ?? Number.MAX_SAFE_INTEGER;
  const from = `FROM ${RUNS} WHERE ${sql} AND key < ? ORDER BY key DESC LIMIT ${most}`;
  const rows = db.read((prepared) =>
    prepared.all(`SELECT ${COLUMNS}, 1 AS count ${from}`, ...values, before),
  );
  const kept = accepted(rows, request);
  return {
    runs: kept.slice(0, request.runs).map((row) => runOf(row, [{ seq: 1, place: 'prompt' }])),
    ...{ total_runs: kept.length, total_hits: kept.length },
    exact: rows.length < most && request.after === null,
    more: kept.length > request.runs,
  };
}

const accepted = (rows: Row[], { accepts }: FindRequest) =>
  accepts === null ? rows : rows.filter(({ run_id }) => accepts(String(run_id)));

function runOf(row: Row, hits: FoundHit[]): FoundRun {
  const { key, run_id, agent, model, project, started_ms, exit_reason, count } = row;
  return { key, run_id, agent, model, project, started_ms, exit_reason, count, hits } as FoundRun;
}

class Finding {
  readonly #db: SearchDb;
  readonly #request: FindRequest;
  readonly #match: string;
  readonly #first: bigint;
  /** Rows from here on are read. */
  #reached: bigint;
  /** Whether every row that may count was read. */
  #exhausted = false;

  constructor(db: SearchDb, request: FindRequest, match: string) {
    const { since_ms, sort, after } = request;
    this.#db = db;
    this.#request = request;
    this.#match = match;
    this.#first = since_ms === null ? 0n : firstRow(keyAt(since_ms - START_SLACK_MS));
    this.#reached = sort === 'time' && after !== null ? firstRow(after) : NO_ROW;
  }

  run(): Found {
    const { runs, sort, after } = this.#request;
    const skip = sort === 'relevance' ? (after ?? 0) : 0;
    this.#db.read((prepared) => prepared.run(MAKE_FOUND));
    this.#db.read((prepared) => prepared.run(CLEAR_FOUND));
    this.#fill();
    let rows = this.#grouped();
    for (let n = 1; n < FILLS_FIRST && !this.#exhausted && rows.length <= skip + runs; n++) {
      this.#fill();
      rows = this.#grouped();
    }
    if (!this.#exhausted && rows.length <= skip + runs) {
      this.#probe(skip + runs + 1 - rows.length);
      rows = this.#grouped();
    }
    while (!this.#exhausted && rows.length <= skip + runs) {
      this.#fill();
      rows = this.#grouped();
    }
    const hits = rows.reduce((sum, { count }) => sum + Number(count), 0);
    return {
      runs: rows.slice(skip, skip + runs).map((row) => runOf(row, this.#hits(Number(row.key)))),
      ...{ total_runs: rows.length, total_hits: hits },
      exact: this.#exhausted && (sort === 'relevance' || after === null),
      more: rows.length > skip + runs || (!this.#exhausted && sort === 'time'),
    };
  }

  /** Reads the next hits, newest first. */
  #fill(): void {
    const most = SEARCH_LIMITS.ranked_hits_max;
    const { read } = this.#db;
    const values = [this.#match, this.#first, this.#reached, most] as const;
    const added = read((prepared) => prepared.run(FILL, ...values));
    this.#exhausted = added < most;
    if (added > 0) this.#reached = BigInt(String(read((prepared) => prepared.get(OLDEST))?.id));
  }

  /** Reads the hits of runs that meet the conditions, one run after the other, newest first. */
  #probe(wanted: number): void {
    const { sql, values } = conditionsOf(this.#request);
    const { read } = this.#db;
    const most = SEARCH_LIMITS.probed_runs_max;
    // With the last run, which may have been read only in part.
    const before = keyIn(this.#reached);
    const runs = read((prepared) =>
      prepared.all(
        `SELECT key, run_id FROM ${RUNS} WHERE ${sql} AND key <= ? ORDER BY key DESC LIMIT ${most}`,
        ...values,
        before,
      ),
    );
    let found = 0;
    for (const { key } of accepted(runs, this.#request)) {
      const [from, to] = [firstRow(Number(key)), firstRow(Number(key) + 1)];
      const limit = SEARCH_LIMITS.ranked_hits_max;
      if (read((prepared) => prepared.run(FILL, this.#match, from, to, limit)) > 0) found += 1;
      this.#reached = from;
      if (found >= wanted) return;
    }
    if (runs.length < most) this.#exhausted = true;
  }

  #grouped(): Row[] {
    const { sql, values } = conditionsOf(this.#request);
    const order = RUN_ORDERS[this.#request.sort];
    const all = `SELECT ${COLUMNS}, count FROM ${FOUND_RUNS} WHERE ${sql} ORDER BY ${order}`;
    return accepted(
      this.#db.read((prepared) => prepared.all(all, ...values)),
      this.#request,
    );
  }

  #hits(key: number): FoundHit[] {
    const order = HIT_ORDERS[this.#request.sort];
    const rows = this.#db.read((prepared) =>
      prepared.all(
        `${HITS} ORDER BY ${order}, id LIMIT ?`,
        ...[firstRow(key), firstRow(key + 1), this.#request.hits],
      ),
    );
    return rows.map(({ seq, place }) => ({
      ...{ seq: Number(seq), place: PLACES[Number(place)] as Place },
    }));
  }
}
