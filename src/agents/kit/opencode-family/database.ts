/** Reads the CLI's database in place: the rows of one session and its sub-agents, one per line. */

import { lstatSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { LIMITS } from '../../../lib/limits.ts';
import type { SessionFile, Unreadable } from '../../../model/agent.ts';
import { countOf, idOf } from '../native.ts';
import { rowTime } from './native.ts';

export type Row = Record<string, unknown>;

const FAMILY = `WITH RECURSIVE family(id) AS (
  SELECT id FROM session WHERE id = ?
  UNION SELECT session.id FROM session JOIN family ON session.parent_id = family.id
)`;
const QUERIES = [
  `${FAMILY} SELECT * FROM session WHERE id IN family ORDER BY parent_id IS NOT NULL, time_created, id`,
  `${FAMILY} SELECT * FROM message WHERE session_id IN family ORDER BY time_created, id`,
  `${FAMILY} SELECT * FROM part WHERE session_id IN family ORDER BY time_created, id`,
] as const;
const ROOTS = `SELECT id, time_updated FROM session WHERE parent_id IS NULL
  ORDER BY time_updated DESC, id`;
/**
 * When a row of a session or of its sub-agents was last written. The session's own row shows only when a turn began. Only
 * for the sessions used last, because all their rows are looked up: a session that others follow has ended long ago.
 */
const WRITTEN = `WITH RECURSIVE recent(id) AS (
  SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC, id LIMIT 20
), family(root, id) AS (
  SELECT id, id FROM recent
  UNION SELECT family.root, session.id FROM session JOIN family ON session.parent_id = family.id
)
SELECT root AS id, max(max(
  (SELECT time_updated FROM session WHERE session.id = family.id),
  coalesce((SELECT max(time_updated) FROM message WHERE session_id = family.id), 0),
  coalesce((SELECT max(time_updated) FROM part WHERE session_id = family.id), 0)
)) AS written_ms FROM family GROUP BY root`;
/** The CLI may still be writing. */
const BUSY_WAIT_MS = 2_000;

/** Contract: `use` sees one state of the database, even if the CLI writes in the meantime. */
function* reading<T>(path: string, use: (db: DatabaseSync) => Iterable<T>): Generator<T> {
  // If a journal file is a pipe, SQLite would wait for its writer.
  for (const beside of [`${path}-journal`, `${path}-wal`, `${path}-shm`]) {
    const found = lstatSync(beside, { throwIfNoEntry: false });
    if (found?.isFile() === false) throw new Error(`${beside} is not a regular file`);
  }
  // Loaded only here: most commands never need it.
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  const db = new Sqlite(path, { readOnly: true, timeout: BUSY_WAIT_MS });
  try {
    db.exec('PRAGMA trusted_schema = OFF; BEGIN');
    yield* use(db);
  } finally {
    db.close();
  }
}

/** Sessions that no other session started, most recently used first. Throws if this is not a database of the CLI. */
export function rootSessions(database: string): Omit<SessionFile, 'path'>[] {
  const rows = reading(database, (db) => [
    ...db
      .prepare(WRITTEN)
      .all()
      .map(({ id, written_ms }) => ({ id, written_ms })),
    ...db.prepare(ROOTS).all(),
  ]);
  const written = new Map<unknown, number | null>();
  const found: Omit<SessionFile, 'path'>[] = [];
  for (const row of rows) {
    const session_id = idOf(row.id);
    if ('written_ms' in row) written.set(row.id, countOf(row.written_ms));
    else if (session_id !== null)
      found.push({
        session_id,
        modified_ms: written.get(row.id) ?? countOf(row.time_updated) ?? 0,
      });
  }
  return found;
}

/** Also false if this is not a database of the CLI. */
export function hasSession(database: string, session_id: string, unreadable?: Unreadable): boolean {
  try {
    const asked = 'SELECT 1 FROM session WHERE id = ?';
    return [...reading(database, (db) => db.prepare(asked).all(session_id))].length > 0;
  } catch (error) {
    unreadable?.(error as Error);
    return false;
  }
}

/** The lines of a session: its own row, then all others by their times. Throws if the database cannot be read. */
export function sessionRows(database: string, session_id: string): Generator<Buffer> {
  return reading(database, (db) =>
    inChunks(merged(QUERIES.map((sql) => db.prepare(sql).iterate(session_id) as Iterator<Row>))),
  );
}

/** Merges the tables' rows by time; rows of the same time in the order of the tables. */
function* merged(tables: readonly Iterator<Row>[]): Generator<Row> {
  const heads = tables.map((table) => ({ table, row: table.next() }));
  const timeOf = ({ row }: (typeof heads)[number]) =>
    row.done ? Number.POSITIVE_INFINITY : (rowTime(row.value) ?? 0);
  for (;;) {
    const head = heads.reduce((best, one) => (timeOf(one) < timeOf(best) ? one : best));
    if (head.row.done) return;
    yield head.row.value;
    head.row = head.table.next();
  }
}

/** Rows as lines, in chunks of many rows. */
export function* inChunks(rows: Iterable<Row>): Generator<Buffer> {
  let text = '';
  for (const row of rows) {
    text += `${JSON.stringify(row)}\n`;
    if (text.length < LIMITS.read_chunk_bytes) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
