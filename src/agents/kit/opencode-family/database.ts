/** Reads the CLI's database in place: the rows of one session and its sub-agents, one per line. */

import { existsSync, lstatSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
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
/** Each session and the session that it belongs to. */
const ALL = `WITH RECURSIVE family(root, id, updated) AS (
  SELECT id, id, time_updated FROM session WHERE parent_id IS NULL
  UNION SELECT root, session.id, time_updated FROM session JOIN family ON session.parent_id = family.id
) SELECT root, id, updated FROM family`;
/** The CLI writes messages and parts after the time of their session. Earlier messages do not change any more. */
const LAST_WRITE = `SELECT max(max(time_updated, ifnull(
    (SELECT max(time_updated) FROM part WHERE message_id = last.id), 0))) AS at
  FROM (SELECT id, time_updated FROM message WHERE session_id = ?
    ORDER BY time_created DESC, id DESC LIMIT 8) AS last`;
/** Before the newest session of the database: earlier ones are not in use, and their own time is exact enough. */
const IN_USE_MS = 86_400_000;
/** The CLI may still be writing. */
const BUSY_WAIT_MS = 1_000;

/** Contract: `use` sees one state of the database, even if the CLI writes in the meantime. */
function* reading<T>(path: string, use: (db: DatabaseSync) => Iterable<T>): Generator<T> {
  // If a journal file is a pipe, SQLite would wait for its writer.
  for (const beside of [`${path}-journal`, `${path}-wal`, `${path}-shm`]) {
    const found = lstatSync(beside, { throwIfNoEntry: false });
    if (found?.isFile() === false) throw new Error(`${beside} is not a regular file`);
  }
  // Loaded only here: most commands never need it.
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  const before = stateOf(path);
  const alone = before.log === '';
  const place = pathToFileURL(path);
  // Otherwise SQLite would create files next to the database. Nobody writes to one without a log or a journal.
  if (alone) place.searchParams.set('immutable', '1');
  const db = new Sqlite(place, { readOnly: true, timeout: BUSY_WAIT_MS });
  try {
    db.exec('PRAGMA trusted_schema = OFF; BEGIN');
    yield* use(db);
  } finally {
    db.close();
  }
  const after = stateOf(path);
  if (alone && (after.log !== '' || after.file !== before.file))
    throw busy('the database is locked: it changed while it was read');
}

/** An error like that of a database that is locked: another attempt may succeed. */
export const busy = (message: string) => Object.assign(new Error(message), { errcode: 5 });

/** The files of a database, by their sizes, times and inodes. `log` is empty if nobody has it open for writing. */
function stateOf(path: string): { file: string; log: string } {
  const of = (name: string, least: number) => {
    const found = statSync(name, { throwIfNoEntry: false });
    if (found === undefined || found.size < least) return '';
    return [found.size, found.mtimeMs, found.ino].join(' ');
  };
  // While it is open, the log may be empty, and its index exists.
  const log = [of(`${path}-journal`, 1), of(`${path}-wal`, existsSync(`${path}-shm`) ? 0 : 1)];
  return { file: of(path, 0), log: log.join('') };
}

/**
 * Sessions that no other session started, most recently used first, with the time of the last write to them or to their
 * sub-agents. Throws if this is not a database of the CLI.
 */
export function rootSessions(database: string): Omit<SessionFile, 'path'>[] {
  const times = new Map<string, number>();
  for (const [id, at_ms] of reading(database, writesIn))
    times.set(id, Math.max(at_ms, times.get(id) ?? 0));
  return [...times]
    .map(([session_id, modified_ms]) => ({ session_id, modified_ms }))
    .sort((a, b) => b.modified_ms - a.modified_ms || (a.session_id < b.session_id ? -1 : 1));
}

/** Root sessions with times of writes. */
function* writesIn(db: DatabaseSync): Generator<[id: string, at_ms: number]> {
  const rows = db.prepare(ALL).all();
  const last = lastWrites(db);
  const newest = rows.reduce((most, { updated }) => Math.max(most, countOf(updated) ?? 0), 0);
  for (const { root, id, updated } of rows) {
    const session_id = idOf(root);
    if (session_id === null) continue;
    const at_ms = countOf(updated) ?? 0;
    yield [session_id, at_ms];
    if (last !== null && at_ms >= newest - IN_USE_MS)
      yield [session_id, countOf(last.get(String(id))?.at) ?? 0];
  }
}

/** Null: earlier versions of the CLI have other tables. */
function lastWrites(db: DatabaseSync) {
  try {
    return db.prepare(LAST_WRITE);
  } catch {
    return null;
  }
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
