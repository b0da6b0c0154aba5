/**
 * Reads an index without changing anything: for shell completion and status lines, which must not create, repair or
 * migrate a store. Contract: an index that is missing, foreign or from another version is not read.
 */
import { lstatSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { SCHEMA_VERSION } from './index-schema.ts';

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** SQLite would create the files of its write-ahead log, and roll back a journal, unless the file is immutable. */
function address(path: string): URL {
  const url = pathToFileURL(path);
  if (!(isFile(`${path}-wal`) && isFile(`${path}-shm`))) url.searchParams.set('immutable', '1');
  return url;
}

/** Null if there is nothing to read. */
export function readOnly<T>(path: string, read: (db: DatabaseSync) => T): T | null {
  if (!isFile(path) || isThere(`${path}-journal`)) return null;
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  const db = new Sqlite(address(path), { readOnly: true, defensive: true });
  try {
    db.exec('PRAGMA trusted_schema = OFF');
    const version = db.prepare('PRAGMA user_version').get()?.user_version;
    // A view in place of a table could take any amount of time.
    const foreign = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')`);
    if (version !== SCHEMA_VERSION || foreign.get() !== undefined) return null;
    return read(db);
  } finally {
    db.close();
  }
}
