/** The SQLite file behind the index: opened safely, brought to this schema, moved aside when it is damaged. */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  renameSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createPrivate, errno, removeBeside } from '../files.ts';
import { MIGRATIONS, SCHEMA_VERSION, TABLES } from './index-schema.ts';
import { openSqlite, removePlanted, SQLITE, sqliteCode } from './sqlite.ts';

const STAGE = 'index';
/** Together some five seconds, as for every other lock. */
const OPEN_TRIES = 250;
const OPEN_WAIT_MS = 20;
/** Of a damaged database, behind the name of the one in its place. */
export const ASIDE = '.broken-';

export interface Database {
  /** A read. Throws when the file turns out to be damaged; the next read is of the file that was begun in its place. */
  read<T>(body: (db: Prepared) => T): T;
  /** A read that may be answered by an empty file: of what is only a reason to look into the journal. */
  readOrNone<T>(body: (db: Prepared) => T): T;
  /** One transaction. */
  write<T>(body: (db: Prepared) => T): T;
  /** One transaction with another database attached under a name. */
  withFile<T>(name: string, path: string, body: (db: Prepared) => T): T;
  /** Where a damaged file was put; null when none was. */
  readonly moved_to: string | null;
  /** Shrinks the file to what it holds; left for another time while others use it. Damaged files put aside are removed. */
  compact(): void;
  close(): void;
}

/** Statements by their text, prepared once. */
export interface Prepared {
  all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[];
  get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined;
  run(sql: string, ...values: SQLInputValue[]): number;
}

export function openDatabase(path: string, clock: Clock = systemClock): Database {
  let moved_to: string | null = null;
  let open = attempt();

  function attempt(): Open {
    try {
      return openPatiently(path);
    } catch (cause) {
      if (!isDamaged(cause)) throw databaseError(cause, path);
      moved_to = moveAside(path, inode(path), clock.now()) ?? moved_to;
      return openPatiently(path);
    }
  }

  /**
   * A damaged file may show only when a page of it is read; what it held can be made again from the journal. Until then
   * the new file is no answer to a read.
   */
  function guarded<T>(body: (db: Prepared) => T, answers = true): T {
    try {
      return body(open.prepared);
    } catch (cause) {
      if (!isDamaged(cause)) throw databaseError(cause, path);
      open.db.close();
      moved_to = moveAside(path, open.inode, clock.now()) ?? moved_to;
      open = attempt();
      if (!answers) throw damaged(path, moved_to);
    }
    try {
      return body(open.prepared);
    } catch (cause) {
      throw databaseError(cause, path);
    }
  }

  return {
    read: (body) => guarded(body, false),
    readOrNone: (body) => guarded(body),
    write: (body) => guarded((prepared) => inTransaction(prepared, body)),
    withFile: (name, path, body) =>
      guarded((prepared) => {
        prepared.run(`ATTACH ? AS ${name}`, path);
        try {
          return inTransaction(prepared, body);
        } finally {
          prepared.run(`DETACH ${name}`);
        }
      }),
    get moved_to() {
      return moved_to;
    },
    compact() {
      // They hold rows of runs that are deleted now, and nothing that the journal lacks.
      removeBeside(path, ASIDE);
      try {
        open.db.exec('VACUUM');
        open.db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      } catch (cause) {
        if (sqliteCode(cause) !== SQLITE.busy) throw databaseError(cause, path);
      }
    },
    close() {
      if (open.db.isOpen) open.db.close();
    },
  };
}

interface Open {
  db: DatabaseSync;
  prepared: Prepared;
  inode: number;
}

/** SQLite does not wait while a file changes to its write-ahead log, as it does when several begin one at once. */
function openPatiently(path: string): Open {
  for (let tries = 1; ; tries++) {
    try {
      return openFile(path);
    } catch (cause) {
      if (sqliteCode(cause) !== SQLITE.busy || tries === OPEN_TRIES) throw cause;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPEN_WAIT_MS);
    }
  }
}

function openFile(path: string): Open {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) makeFile(path);
  else checkFile(path, stat);
  if (removePlanted(path)) throw new DamagedError('something else was in the place of its journal');
  const db = openSqlite(path);
  try {
    db.exec('PRAGMA busy_timeout = 5000');
    // Before anything is written: what a newer tacho made stays as it is.
    const version = versionOf(db);
    if (version > SCHEMA_VERSION) throw newer(path, version);
    if ((stat?.size ?? 0) <= LIMITS.index_check_bytes_max) checkWhole(db);
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = NORMAL');
    // What is deleted is overwritten at once: a process that is killed, or finds the file in use, cannot compact it.
    db.exec('PRAGMA secure_delete = ON');
    const prepared = prepare(db);
    // Before anything is written: a trigger runs with it.
    refuseForeign(prepared);
    if (version < SCHEMA_VERSION) migrate(db, prepared);
    checkTables(prepared);
    return { db, prepared, inode: inode(path) };
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Made here, not by SQLite: its mode is 0600 from the start, and SQLite gives the files beside it the same. Never opened
 * where it exists: closing it again would end the locks of this process on it.
 */
function makeFile(path: string): void {
  try {
    closeSync(createPrivate(path));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  }
}

function checkFile(path: string, stat: Stats): void {
  if (!stat.isFile()) {
    const code = stat.isSymbolicLink() ? 'ELOOP' : stat.isDirectory() ? 'EISDIR' : 'EINVAL';
    throw fileError(errno(code, 'not a regular file'), path, STAGE);
  }
  if (process.platform !== 'win32' && (stat.mode & 0o777) !== 0o600) chmodSync(path, 0o600);
}

/** Damage inside an index shows as rows that are not found, not as an error. */
function checkWhole(db: DatabaseSync): void {
  const said = Object.values(db.prepare('PRAGMA integrity_check(1)').get() ?? {})[0];
  if (said !== 'ok') throw new DamagedError(String(said));
}

/** With triggers or views of others in it a file is no index. */
function refuseForeign(prepared: Prepared): void {
  const sql = `SELECT type FROM sqlite_schema WHERE type IN ('trigger', 'view')`;
  const foreign = prepared.get(sql);
  if (foreign !== undefined) throw new DamagedError(`it holds a ${foreign.type}`);
}

/** Nor is a file of this version without our tables. */
function checkTables(prepared: Prepared): void {
  const found = prepared.all(`SELECT name FROM sqlite_schema WHERE type = 'table'`);
  const tables = new Set(found.map(({ name }) => name));
  const lacking = TABLES.find((name) => !tables.has(name));
  if (lacking !== undefined) throw new DamagedError(`there is no table ${lacking}`);
}

class DamagedError extends Error {
  readonly errcode = SQLITE.corrupt;
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

function migrate(db: DatabaseSync, prepared: Prepared): void {
  inTransaction(prepared, () => {
    // Another process may have done it while this one waited.
    for (let step = versionOf(db); step < SCHEMA_VERSION; step++) {
      db.exec(MIGRATIONS[step] as string);
      db.exec(`PRAGMA user_version = ${step + 1}`);
    }
  });
}

function prepare(db: DatabaseSync): Prepared {
  const statements = new Map<string, StatementSync>();
  function statement(sql: string): StatementSync {
    let found = statements.get(sql);
    if (found === undefined) {
      found = db.prepare(sql);
      statements.set(sql, found);
    }
    return found;
  }
  return {
    all: (sql, ...values) => statement(sql).all(...values),
    get: (sql, ...values) => statement(sql).get(...values),
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
  };
}

/** IMMEDIATE: a transaction that reads first and writes later fails when another process wrote in between. */
function inTransaction<T>(prepared: Prepared, body: (db: Prepared) => T): T {
  prepared.run('BEGIN IMMEDIATE');
  try {
    const result = body(prepared);
    prepared.run('COMMIT');
    return result;
  } catch (error) {
    try {
      prepared.run('ROLLBACK');
    } catch {
      // SQLite has rolled back itself; the first failure is the one to report.
    }
    throw error;
  }
}

/** Another process may have moved it aside already: then the file that stands there now is a good one. */
function moveAside(path: string, damaged: number, now_ms: number): string | null {
  if (inode(path) !== damaged) return null;
  const stamp = new Date(now_ms).toISOString().replaceAll(/[:.]/g, '-');
  const target = `${path}${ASIDE}${stamp}`;
  try {
    renameSync(path, target);
    for (const end of ['-wal', '-shm']) {
      if (existsSync(path + end)) renameSync(path + end, target + end);
    }
    return target;
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
}

function inode(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

/** A row that is no JSON any more is damage too, though SQLite sees nothing wrong in it. */
function isDamaged(cause: unknown): boolean {
  return (
    cause instanceof SyntaxError ||
    ([SQLITE.corrupt, SQLITE.not_a_database] as number[]).includes(sqliteCode(cause))
  );
}

function databaseError(cause: unknown, path: string): TachoError {
  if (cause instanceof TachoError) return cause;
  switch (sqliteCode(cause)) {
    case 0:
      return fileError(cause, path, STAGE);
    case SQLITE.busy: {
      const text = `${path}: another process holds it: try again`;
      return new TachoError('busy', text, { stage: STAGE, retryable: true, cause });
    }
    case SQLITE.full:
      return fileError(withCause('ENOSPC', cause), path, STAGE);
    case SQLITE.readonly:
      return fileError(withCause(readOnlyCode(path), cause), path, STAGE);
    case SQLITE.io_error: {
      const text = `${path}: the disk fails: ${(cause as Error).message}`;
      return new TachoError('state_unusable', text, { stage: STAGE, cause });
    }
    default:
      return fileError(cause, path, STAGE);
  }
}

function damaged(path: string, moved_to: string | null): TachoError {
  const where = moved_to === null ? '' : ` and is now ${moved_to}`;
  const text = `${path}: the index was damaged${where}: run the command again, it is rebuilt from the journal`;
  return new TachoError('state_unusable', text, { stage: STAGE, retryable: true });
}

/** SQLite has one code for a file system that is read-only and for a file or folder that we may not write. */
function readOnlyCode(path: string): string {
  try {
    for (const one of [dirname(path), path]) accessSync(one, constants.W_OK);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code ?? 'EROFS';
  }
  return 'EROFS';
}

function withCause(code: string, cause: unknown): Error {
  const error = errno(code, (cause as Error).message);
  error.cause = cause;
  return error;
}

function newer(path: string, found: number): TachoError {
  const text = `${path}: made by a newer tacho (schema ${found}, this one knows ${SCHEMA_VERSION}): update tacho or choose another --state-dir`;
  return new TachoError('state_unusable', text, { stage: STAGE });
}
