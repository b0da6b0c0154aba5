/** The CLI's database, read where it lies: one session and those of its sub-agents as rows, one a line. */
import { lstatSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { LIMITS } from '../../lib/limits.ts';
import { countOf, idOf } from './native.ts';

type Row = Record<string, unknown>;

const FAMILY = `WITH RECURSIVE family(id) AS (
  SELECT id FROM session WHERE id = ?
  UNION SELECT session.id FROM session JOIN family ON session.parent_id = family.id
)`;
const QUERIES = [
  `${FAMILY} SELECT * FROM session WHERE id IN family ORDER BY time_created, id`,
  `${FAMILY} SELECT * FROM message WHERE session_id IN family ORDER BY time_created, id`,
  `${FAMILY} SELECT * FROM part WHERE session_id IN family ORDER BY time_created, id`,
] as const;
const ROOTS = `SELECT id, time_updated FROM session WHERE parent_id IS NULL
  ORDER BY time_updated DESC, id`;
/** The CLI may still be writing. */
const BUSY_WAIT_MS = 2_000;

/** Contract: `use` sees one state of the database, whatever the CLI writes meanwhile. */
function* reading<T>(path: string, use: (db: DatabaseSync) => Iterable<T>): Generator<T> {
  refusePipes(path);
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

/** SQLite waits for the writer of a pipe that is in the place of a journal. */
function refusePipes(path: string): void {
  for (const beside of [`${path}-journal`, `${path}-wal`, `${path}-shm`]) {
    const found = lstatSync(beside, { throwIfNoEntry: false });
    if (found?.isFile() === false) throw new Error(`${beside} is no regular file`);
  }
}

export interface StoredSession {
  session_id: string;
  modified_ms: number;
}

/** Sessions that no other session started, the last used first. Throws where this is no database of the CLI. */
export function rootSessions(database: string): StoredSession[] {
  const rows = reading(database, (db) => db.prepare(ROOTS).all());
  return [...rows].flatMap(({ id, time_updated }) => {
    const session_id = idOf(id);
    return session_id === null ? [] : [{ session_id, modified_ms: countOf(time_updated) ?? 0 }];
  });
}

/** False also where this is no database of the CLI. */
export function hasSession(database: string, session_id: string): boolean {
  try {
    const asked = 'SELECT 1 FROM session WHERE id = ?';
    return [...reading(database, (db) => db.prepare(asked).all(session_id))].length > 0;
  } catch {
    return false;
  }
}

/** The lines of a session, each row where it happened. Throws where the database cannot be read. */
export function sessionRows(database: string, session_id: string): Generator<Buffer> {
  return reading(database, (db) =>
    inChunks(merged(QUERIES.map((sql) => db.prepare(sql).iterate(session_id) as Iterator<Row>))),
  );
}

/** The tables' rows by time; of one moment, in the order of the tables. */
function* merged(tables: readonly Iterator<Row>[]): Generator<Row> {
  const heads = tables.map((table) => table.next());
  for (;;) {
    let first = -1;
    heads.forEach((head, n) => {
      if (head.done) return;
      const best = first < 0 ? Number.POSITIVE_INFINITY : timeOf(heads[first]?.value);
      if (timeOf(head.value) < best) first = n;
    });
    if (first < 0) return;
    yield heads[first]?.value;
    heads[first] = tables[first]?.next() ?? { done: true, value: undefined };
  }
}

function timeOf(row: Row | undefined): number {
  return countOf(row?.time_created) ?? 0;
}

/** Rows as lines, many at a time. */
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
