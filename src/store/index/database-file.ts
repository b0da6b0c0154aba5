/** Opens the SQLite file of the index safely and migrates it to this schema. */
import { chmodSync, closeSync, existsSync, lstatSync, renameSync, type Stats } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ELSEWHERE, errnoOf, TachoError, withPath } from '../../lib/errors.ts';
import { createPrivate, refuseIrregular, sleepSync } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { MIGRATIONS, TABLES } from './index-schema.ts';
import { inTransaction, type Prepared, prepare } from './prepared.ts';
import { openSqlite, removePlanted, SQLITE, sqliteCode } from './sqlite.ts';

export const STAGE = 'index';
export const BUSY_TIMEOUT = 'PRAGMA busy_timeout = 5000';
/** About five seconds in total, as for every other lock. */
const OPEN_TRIES = 250;
const OPEN_WAIT_MS = 20;
/** Suffix of a damaged database, after the name of its replacement. */
export const ASIDE = '.broken-';

/** The content of a database file. */
export interface FileSchema {
  /** Step n creates version n. */
  migrations: readonly string[];
  tables: readonly string[];
  page_bytes: number;
}

/** Small pages: each table and index has its own page, and most stores contain little data. */
const INDEX_SCHEMA: FileSchema = { migrations: MIGRATIONS, tables: TABLES, page_bytes: 1024 };

export interface OpenFile {
  db: DatabaseSync;
  prepared: Prepared;
  inode: number;
}

/**
 * SQLite does not wait while a file is converted to a write-ahead log, which happens if several processes create one
 * concurrently.
 */
export function openPatiently(path: string, schema: FileSchema = INDEX_SCHEMA): OpenFile {
  for (let tries = 1; ; tries++) {
    try {
      return openFile(path, schema);
    } catch (cause) {
      if (sqliteCode(cause) !== SQLITE.busy || tries === OPEN_TRIES) throw cause;
      sleepSync(OPEN_WAIT_MS);
    }
  }
}

function openFile(path: string, schema: FileSchema): OpenFile {
  const newest = schema.migrations.length;
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) makeFile(path);
  else checkFile(path, stat);
  if (removePlanted(path)) throw new DamagedError('something else was in place of its journal');
  const db = openSqlite(path);
  try {
    db.exec(BUSY_TIMEOUT);
    // Before anything is written: a file from a newer tacho is left unchanged.
    const version = versionOf(db);
    if (version > newest) throw newer(path, version, newest);
    if ((stat?.size ?? 0) <= STORE_LIMITS.index_check_bytes_max) checkWhole(db);
    // For a new file.
    db.exec(`PRAGMA page_size = ${schema.page_bytes}`);
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = NORMAL');
    // Deleted data is overwritten immediately: a process that is killed, or that finds the file in use, cannot compact
    // it.
    db.exec('PRAGMA secure_delete = ON');
    const prepared = prepare(db);
    // Before anything is written, because a write runs triggers.
    refuseForeign(prepared);
    if (version < newest) migrate(db, prepared, schema.migrations);
    checkTables(prepared, schema.tables);
    return { db, prepared, inode: inode(path) };
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Created here, not by SQLite, so that its mode is 0600 from the start; SQLite creates its other files with the same
 * mode. An existing file is never opened here: closing it would release the locks of this process on it.
 */
function makeFile(path: string): void {
  try {
    closeSync(createPrivate(path));
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw cause;
  }
}

function checkFile(path: string, stat: Stats): void {
  refuseIrregular(stat);
  if (process.platform !== 'win32' && (stat.mode & 0o777) !== 0o600) chmodSync(path, 0o600);
}

/** Damage inside an index appears as missing rows, not as an error. */
function checkWhole(db: DatabaseSync): void {
  const said = Object.values(db.prepare('PRAGMA integrity_check(1)').get() ?? {})[0];
  if (said !== 'ok') throw new DamagedError(String(said));
}

/** A file with foreign triggers or views is not our index. */
function refuseForeign(prepared: Prepared): void {
  const sql = `SELECT type FROM sqlite_schema WHERE type IN ('trigger', 'view')`;
  const foreign = prepared.get(sql);
  if (foreign !== undefined) throw new DamagedError(`it contains a ${foreign.type}`);
}

/** A file of this version without our tables is not our index either. */
function checkTables(prepared: Prepared, expected: readonly string[]): void {
  const found = prepared.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`);
  const tables = new Set(found.map(({ name }) => name));
  const lacking = expected.find((name) => !tables.has(name));
  if (lacking !== undefined) throw new DamagedError(`there is no table ${lacking}`);
}

class DamagedError extends Error {
  readonly errcode = SQLITE.corrupt;
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

function migrate(db: DatabaseSync, prepared: Prepared, migrations: readonly string[]): void {
  inTransaction(prepared, () => {
    // Another process may have migrated it while this one waited.
    for (let step = versionOf(db); step < migrations.length; step++) {
      db.exec(migrations[step] as string);
      db.exec(`PRAGMA user_version = ${step + 1}`);
    }
  });
}

/** Another process may already have moved it aside: then the file in its place is intact. */
export function moveAside(path: string, damaged: number, now_ms: number): string | null {
  if (inode(path) !== damaged) return null;
  const stamp = new Date(now_ms).toISOString().replaceAll(/[:.]/g, '-');
  const target = `${path}${ASIDE}${stamp}`;
  withPath(path, STAGE, () => {
    for (const end of ['', '-wal', '-shm'])
      if (end === '' || existsSync(path + end)) renameSync(path + end, target + end);
  });
  return target;
}

export function inode(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function newer(path: string, found: number, known: number): TachoError {
  const text = `${path}: made by a newer tacho (schema ${found}, this one knows ${known}): update tacho, or ${ELSEWHERE}`;
  return new TachoError('state_unusable', text, { stage: STAGE });
}
