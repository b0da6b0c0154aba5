/** The tables of the index as migrations: a database from an older tacho gets the steps that it lacks. */

/** The digest in the labels of an import; null for other runs. */
export const RUN_DIGEST =
  "iif(json_valid(labels), json_extract(labels, '$.imported_sha256'), NULL)";

/** Calls of a stored outcome with one of these statuses. Null if the outcome does not list all calls. */
function callsWith(statuses: string): string {
  return `iif(json_valid(outcome), iif(json_array_length(outcome, '$.tool_calls') = tool_calls,
    (SELECT count(*) FROM json_each(outcome, '$.tool_calls')
      WHERE json_extract(value, '$.status') IN (${statuses})), NULL), NULL)`;
}

/** Step n creates schema n. A published step is never changed. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    session_id TEXT,
    model TEXT,
    started_ms INTEGER,
    finished_ms INTEGER,
    success INTEGER NOT NULL,
    exit_reason TEXT NOT NULL,
    cost REAL,
    tokens INTEGER,
    steps INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    prompt TEXT,
    labels TEXT NOT NULL,
    outcome TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_start ON runs (started_ms, run_id);
  CREATE INDEX runs_by_session ON runs (session_id) WHERE session_id IS NOT NULL;`,

  `CREATE TABLE positions (
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    segment TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    PRIMARY KEY (session, source, segment, first_seq, offset)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX positions_by_segment ON positions (segment);
  CREATE TABLE segments (
    segment TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,

  // Read again from the journal: earlier versions did not keep the positions of deleted runs, which show what a gc
  // can free.
  `DELETE FROM positions;
  DELETE FROM segments;
  ALTER TABLE segments ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;`,

  // The filters of lists, in the order of lists; by agent with all summed columns, so that no outcome is read.
  `ALTER TABLE runs ADD COLUMN file_bytes INTEGER;
  CREATE INDEX runs_by_agent ON runs
    (agent, started_ms, run_id, success, cost, tokens, tool_calls, file_bytes);
  CREATE INDEX runs_by_reason ON runs (exit_reason, started_ms, run_id);
  CREATE INDEX runs_by_success ON runs (success, started_ms, run_id);
  CREATE INDEX runs_unmeasured ON runs (run_id) WHERE file_bytes IS NULL;`,

  // Imports by their content, and facts about the files that were read.
  `CREATE INDEX runs_by_digest ON runs (iif(json_valid(labels), json_extract(labels, '$.imported_sha256'), NULL));
  CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    facts TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,

  // Closed segments (packed: 0 or 1; NULL: not closed), the bytes per entry in each, and the folder as it was listed.
  // The journal bytes of a run, once all its segments are closed.
  `ALTER TABLE segments ADD COLUMN packed INTEGER;
  ALTER TABLE segments ADD COLUMN entry_bytes REAL;
  CREATE INDEX segments_open ON segments (segment) WHERE packed IS NULL;
  CREATE INDEX segments_unsettled ON segments (segment) WHERE settled < bytes;
  CREATE TABLE folder (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    identity TEXT NOT NULL,
    stamp TEXT NOT NULL,
    open TEXT NOT NULL,
    generation INTEGER NOT NULL
  ) STRICT;
  ALTER TABLE runs ADD COLUMN journal_bytes REAL;
  CREATE INDEX runs_unweighed ON runs (run_id) WHERE journal_bytes IS NULL;
  DROP INDEX runs_by_agent;
  CREATE INDEX runs_by_agent ON runs
    (agent, started_ms, run_id, success, cost, tokens, tool_calls, file_bytes, journal_bytes);`,

  // The project of a run, and its calls that failed or were denied. The table is created again: columns after the
  // outcome are slow to read. Older runs get their project from `tacho runs reindex`.
  `ALTER TABLE runs RENAME TO runs_before;
  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    session_id TEXT,
    model TEXT,
    started_ms INTEGER,
    finished_ms INTEGER,
    success INTEGER NOT NULL,
    exit_reason TEXT NOT NULL,
    cost REAL,
    tokens INTEGER,
    steps INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    failed_calls INTEGER,
    denied_calls INTEGER,
    project TEXT,
    project_remote TEXT,
    file_bytes INTEGER,
    journal_bytes REAL,
    prompt TEXT,
    labels TEXT NOT NULL,
    outcome TEXT NOT NULL
  ) STRICT;
  INSERT INTO runs SELECT run_id, agent, session_id, model, started_ms, finished_ms, success, exit_reason, cost, tokens,
    steps, tool_calls, ${callsWith("'error', 'timeout'")}, ${callsWith("'denied'")}, NULL, NULL,
    file_bytes, journal_bytes, prompt, labels, outcome FROM runs_before;
  DROP TABLE runs_before;
  CREATE INDEX runs_by_start ON runs (started_ms, run_id);
  CREATE INDEX runs_by_session ON runs (session_id) WHERE session_id IS NOT NULL;
  CREATE INDEX runs_by_agent ON runs
    (agent, started_ms, run_id, success, cost, tokens, tool_calls, file_bytes, journal_bytes);
  CREATE INDEX runs_by_reason ON runs (exit_reason, started_ms, run_id);
  CREATE INDEX runs_by_success ON runs (success, started_ms, run_id);
  CREATE INDEX runs_by_project ON runs (project, started_ms, run_id) WHERE project IS NOT NULL;
  CREATE INDEX runs_by_digest ON runs (iif(json_valid(labels), json_extract(labels, '$.imported_sha256'), NULL));
  CREATE INDEX runs_unmeasured ON runs (run_id) WHERE file_bytes IS NULL;
  CREATE INDEX runs_unweighed ON runs (run_id) WHERE journal_bytes IS NULL;`,

  // Runs that may grow: the number of events that their outcome covers, and the evidence for the state of those that may
  // not be finished. In tables of their own, because columns after the outcome are slow to read.
  `CREATE TABLE grown (
    run_id TEXT PRIMARY KEY,
    events INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE unfinished (
    run_id TEXT PRIMARY KEY,
    evidence TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  DROP TABLE sources;
  CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    run_id TEXT,
    facts TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sources_by_run ON sources (run_id) WHERE run_id IS NOT NULL;`,

  // Usage of runs by time and model; time 0 and the model '' are unknown. Older runs have no rows: tacho usage and
  // tacho runs reindex make them from the journal.
  `CREATE TABLE usage (
    run_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    model TEXT NOT NULL,
    sub_agent INTEGER NOT NULL,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    reasoning INTEGER,
    cost REAL,
    computed REAL,
    PRIMARY KEY (run_id, at_ms, model, sub_agent)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE prices (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    list TEXT NOT NULL
  ) STRICT;`,
];

export const SCHEMA_VERSION = MIGRATIONS.length;

export const TABLES = [
  'runs',
  'positions',
  'segments',
  'sources',
  'folder',
  'grown',
  'unfinished',
  'usage',
  'prices',
] as const;

export const RUN_COLUMNS =
  'run_id, agent, session_id, model, started_ms, finished_ms, success, exit_reason, cost, tokens, steps, tool_calls, failed_calls, denied_calls, project, project_remote, prompt, labels';

/** Of a row of `runs`. */
export const COST_SOURCE = `iif(cost IS NULL, 'unknown', iif(EXISTS (SELECT 1 FROM usage
  WHERE usage.run_id = runs.run_id AND computed IS NOT NULL), 'computed', 'agent'))`;

const SAVED_COLUMNS = `${RUN_COLUMNS}, outcome, file_bytes`;

export const SAVE_RUN = `INSERT OR REPLACE INTO runs (${SAVED_COLUMNS})
  VALUES (${SAVED_COLUMNS.replaceAll(/\w+/g, '?')})`;

export const SAVE_POSITION = `INSERT INTO positions (session, source, segment, first_seq, last_seq, offset)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET last_seq = max(last_seq, excluded.last_seq)`;

export const SAVE_SEGMENT = `INSERT INTO segments (segment, bytes) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET bytes = max(bytes, excluded.bytes)`;

export const SETTLE_SEGMENT = `INSERT INTO segments (segment, bytes, settled) VALUES (?, 0, ?)
  ON CONFLICT DO UPDATE SET settled = max(settled, excluded.settled)`;

/**
 * Parameters: two JSON objects, with the bytes per entry in each segment that is not closed, and with the file sizes of
 * runs that are not measured. The bytes of a segment are divided among its entries.
 */
const WEIGHTS = `WITH entry_bytes AS MATERIALIZED
  (SELECT key AS segment, value AS bytes FROM json_each(?)),
  unmeasured AS MATERIALIZED (SELECT key AS run_id, value AS bytes FROM json_each(?))`;
const JOURNAL_BYTES = `SELECT total((last_seq - first_seq + 1) *
    iif(packed IS NULL, entry_bytes.bytes, segments.entry_bytes))
  FROM positions LEFT JOIN segments USING (segment) LEFT JOIN entry_bytes USING (segment)
  WHERE session = run_id`;
const RUN_BYTES = `ifnull(journal_bytes, (${JOURNAL_BYTES})) +
  coalesce(file_bytes, (SELECT bytes FROM unmeasured WHERE unmeasured.run_id = runs.run_id), 0)`;

/** Stores the journal bytes of runs with only closed segments. */
export const WEIGH_CLOSED = `UPDATE runs SET journal_bytes =
    (SELECT total((last_seq - first_seq + 1) * entry_bytes) FROM positions JOIN segments USING (segment)
      WHERE session = run_id)
  WHERE journal_bytes IS NULL AND NOT EXISTS
    (SELECT 1 FROM positions LEFT JOIN segments USING (segment) WHERE session = run_id AND packed IS NULL)`;

/**
 * Used if a run has more entries, or if one of its segments has changed; the parameter of the second is the
 * segment.
 */
export const UNWEIGH_RUN =
  'UPDATE runs SET journal_bytes = NULL WHERE journal_bytes IS NOT NULL AND run_id = ?';
export const UNWEIGH = `UPDATE runs SET journal_bytes = NULL WHERE journal_bytes IS NOT NULL AND
  run_id IN (SELECT session FROM positions WHERE segment = ?)`;

/** Columns that sums of runs can be grouped by. */
export type SumKey = 'agent' | 'model' | 'project';

/**
 * The sums for each group and local day, of the runs that match a condition. Uses floating point: figures come from
 * outside, and summing them must not fail. Sums by agent read no row of the table.
 */
export const sumRuns = (key: SumKey, where = ''): string => `${WEIGHTS}
  SELECT ${key} AS name, date(started_ms / 1000.0, 'unixepoch', 'localtime') AS day,
    count(*) AS runs, total(success) AS ok, total(tool_calls) AS tool_calls, total(${RUN_BYTES}) AS bytes,
    count(cost) AS cost_known_runs, total(${COST_SOURCE} = 'computed') AS cost_computed_runs, iif(count(cost) = 0, NULL, total(cost)) AS cost,
    count(tokens) AS tokens_known_runs, iif(count(tokens) = 0, NULL, total(tokens)) AS tokens
  FROM runs ${where} GROUP BY 1, 2`;

/** Newest first. */
export const IN_ORDER = 'ORDER BY started_ms DESC, run_id DESC';

export const WEIGH_RUNS = `${WEIGHTS}
  SELECT run_id, agent, success, exit_reason, started_ms, finished_ms, project, labels, ${RUN_BYTES} AS bytes
  FROM runs ${IN_ORDER}`;

export const SAVE_GROWN = 'INSERT OR REPLACE INTO grown (run_id, events) VALUES (?, ?)';

export const SAVE_UNFINISHED = 'INSERT OR REPLACE INTO unfinished (run_id, evidence) VALUES (?, ?)';

export const DELETE_UNFINISHED =
  'DELETE FROM unfinished WHERE run_id IN (SELECT value FROM json_each(?))';

export const DELETE_GROWN = 'DELETE FROM grown WHERE run_id IN (SELECT value FROM json_each(?))';

export const DELETE_USAGE = 'DELETE FROM usage WHERE run_id IN (SELECT value FROM json_each(?))';

export const DELETE_RUNS = 'DELETE FROM runs WHERE run_id IN (SELECT value FROM json_each(?))';

/**
 * Replaces the content of the index with the content of another file; rows that others added since are kept. Each item
 * is a statement and the list that is its parameter, or null.
 */
export const MERGE = [
  // A segment that is closed here stays closed if it has the same bytes.
  [
    `UPDATE fresh.segments SET (packed, entry_bytes) = (SELECT packed, entry_bytes FROM main.segments AS known
      WHERE known.segment = segments.segment AND known.bytes = segments.bytes)`,
    null,
  ],
  [DELETE_RUNS, 'runs'],
  [DELETE_GROWN, 'runs'],
  [DELETE_USAGE, 'runs'],
  ['DELETE FROM positions WHERE segment IN (SELECT value FROM json_each(?))', 'segments'],
  ['DELETE FROM segments WHERE segment IN (SELECT value FROM json_each(?))', 'segments'],
  ['INSERT OR REPLACE INTO runs SELECT * FROM fresh.runs', null],
  ['INSERT OR REPLACE INTO grown SELECT * FROM fresh.grown', null],
  ['DELETE FROM usage WHERE run_id IN (SELECT run_id FROM fresh.runs)', null],
  ['INSERT INTO usage SELECT * FROM fresh.usage', null],
  ['INSERT OR REPLACE INTO positions SELECT * FROM fresh.positions', null],
  ['INSERT OR REPLACE INTO segments SELECT * FROM fresh.segments', null],
] as const;
