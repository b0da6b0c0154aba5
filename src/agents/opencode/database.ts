/**
 * One session out of the CLI's database, as rows in a file: what reads session files reads lines. The file is in a
 * private folder that is removed when this process ends.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { countOf } from './native.ts';

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
/** The CLI may still be writing. */
const BUSY_WAIT_MS = 2_000;

const folders = new Set<string>();

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
}

/** Null when the database has no such session or is none that we know. */
export function dumpSession(database: string, session_id: string): string | null {
  // Loaded only here: most commands never need it.
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  let db: DatabaseSync | null = null;
  try {
    db = new Sqlite(database, { readOnly: true, timeout: BUSY_WAIT_MS });
    const open = db;
    const rows = QUERIES.map((sql) => open.prepare(sql).iterate(session_id) as Iterator<Row>);
    return writeRows(session_id, rows);
  } catch {
    return null;
  } finally {
    db?.close();
  }
}

/** Merges the tables by time, so that every row stands where it happened. */
function writeRows(session_id: string, tables: readonly Iterator<Row>[]): string | null {
  const heads = tables.map((table) => table.next());
  if (heads[0]?.done !== false) return null;
  if (folders.size === 0) process.once('exit', removeFolders);
  const folder = mkdtempSync(join(tmpdir(), 'tacho-opencode-'));
  folders.add(folder);
  const path = join(folder, `${session_id}.jsonl`);
  const fd = openSync(path, 'wx', 0o600);
  try {
    for (;;) {
      let first = -1;
      heads.forEach((head, n) => {
        if (head.done) return;
        const best = first < 0 ? Number.POSITIVE_INFINITY : timeOf(heads[first]?.value);
        if (timeOf(head.value) < best) first = n;
      });
      if (first < 0) return path;
      writeSync(fd, `${JSON.stringify(heads[first]?.value)}\n`);
      heads[first] = tables[first]?.next() ?? { done: true, value: undefined };
    }
  } finally {
    closeSync(fd);
  }
}

function timeOf(row: Row | undefined): number {
  return countOf(row?.time_created) ?? 0;
}
