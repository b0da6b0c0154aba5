/**
 * Lookups for imports: runs by session, by start time and by content, and facts about files that have not changed since
 * they were read. These facts are a cache: without them the files are read again.
 */
import { wellFormed } from '../../lib/utf8.ts';
import { STORE_LIMITS } from '../limits.ts';
import type { Database } from './database.ts';
import { RUN_DIGEST } from './index-schema.ts';
import type { Prepared } from './prepared.ts';
import type { RunRow } from './runs-table.ts';

export type ImportRow = Pick<
  RunRow,
  | 'run_id'
  | 'agent'
  | 'session_id'
  | 'started_ms'
  | 'finished_ms'
  | 'steps'
  | 'tool_calls'
  | 'labels'
>;

/** A session's files as they were when read. */
export interface SourceRow {
  /** Identifies the session. Not a path, which may contain text that must not be stored. */
  source: string;
  /** Changes with every change to a file of the session. */
  stamp: string;
  /** The run that has all of it. */
  run_id: string | null;
  /** Further facts about them, as JSON. */
  facts: string;
}

const COLUMNS = 'run_id, agent, session_id, started_ms, finished_ms, steps, tool_calls, labels';

const SESSIONS_OF_SEVERAL = `SELECT DISTINCT agent, session_id FROM runs AS one
  WHERE run_id IN (SELECT value FROM json_each(?)) AND ${RUN_DIGEST} IS NOT NULL
    AND EXISTS (SELECT 1 FROM runs AS other WHERE other.session_id = one.session_id
      AND other.agent = one.agent AND other.run_id <> one.run_id)`;

export function sourcesTable(db: Database) {
  const runs = (where: string, ...values: (string | number)[]): ImportRow[] =>
    db.read((prepared) =>
      prepared.all(`SELECT ${COLUMNS} FROM runs WHERE ${where}`, ...values).map((row) => ({
        ...(row as unknown as ImportRow),
        labels: JSON.parse(String(row.labels)) as Record<string, string>,
      })),
    );
  return {
    runsOfSession: (agent: string, session_id: string) =>
      runs('session_id = ? AND agent = ?', wellFormed(session_id), agent),
    runsBegunAt: (agent: string, started_ms: number) =>
      runs('started_ms = ? AND agent = ?', started_ms, agent),
    /** Runs with this digest in their labels. */
    runsOfDigest: (agent: string, sha256: string) =>
      runs(`${RUN_DIGEST} = ? AND agent = ?`, sha256, agent),
    /** Sessions that these runs share with other runs, if one of these may be an import. */
    sessionsOfSeveral: (run_ids: readonly string[]) =>
      db.read((prepared) =>
        prepared.all(SESSIONS_OF_SEVERAL, JSON.stringify(run_ids)),
      ) as unknown[] as {
        agent: string;
        session_id: string;
      }[],
    /** The facts about a session, or null. */
    getSource: (source: string) =>
      db.readOrNone((prepared) => {
        const sql = 'SELECT * FROM sources WHERE source = ?';
        return (prepared.get(sql, source) as SourceRow | undefined) ?? null;
      }),
    /** The sessions that a run has. */
    sourcesOf: (run_id: string) =>
      db.readOrNone((prepared) => {
        const sql = 'SELECT * FROM sources WHERE run_id = ?';
        return prepared.all(sql, run_id) as unknown[] as SourceRow[];
      }),
    saveSources: (rows: readonly SourceRow[]) =>
      db.write((prepared) => {
        for (const { source, stamp, run_id, facts } of rows)
          prepared.run(
            'INSERT OR REPLACE INTO sources (source, stamp, run_id, facts) VALUES (?, ?, ?, ?)',
            ...[source, stamp, run_id, facts],
          );
        bound(prepared);
      }),
  };
}

/** Missing files are never looked up again, so all rows are deleted when there are too many. */
function bound(prepared: Prepared): void {
  const { count } = prepared.get('SELECT count(*) AS count FROM sources') ?? {};
  if (Number(count) > STORE_LIMITS.sources_max) prepared.run('DELETE FROM sources');
}
