/**
 * Locks of the kernel on files, taken through SQLite because Node has no call for them (ADR 0013).
 * Contract: a lock ends with its process, also after kill -9, in another container or after a restart of the machine, and
 * child processes do not inherit it. Nothing else may open the file: closing any descriptor of it in this process would
 * end the lock. The file stays empty.
 */
import { type BigIntStats, closeSync, fstatSync, lstatSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ELSEWHERE, errnoOf, fileError, TachoError, withPath } from '../lib/errors.ts';
import { processWide } from '../lib/process-wide.ts';
import { createPrivate, errno, openRead, refuseIrregular, unlinkQuietly } from './files.ts';
import { openSqlite, SQLITE, sqliteCode } from './index/sqlite.ts';

const STAGE = 'lock';
/** Every further try needs another process that removed the file at that moment. */
const TRIES_MAX = 100;

/** By file, and referenced here: a collected connection is closed, and its lock with it. */
const held = processWide('held_locks', () => new Map<string, DatabaseSync>());

/**
 * `exclusive` also blocks `lockState`; of several `exclusive` takers at once perhaps none succeeds, of several
 * `immediate` takers exactly one does.
 */
export type LockMode = 'immediate' | 'exclusive';

/** Returns the function that releases the lock and removes the file; null while another connection holds it. */
export function lockFile(path: string, mode: LockMode): (() => void) | null {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    // One that this process has locked is not opened again: the close would end the lock.
    if (held.has(ensureFile(path))) return null;
    const pin = openPin(path);
    if (pin === null) continue;
    const id = idOf(fstatSync(pin, { bigint: true }));
    const db = beginPinned(pin, path, mode);
    if (db === null) return null;
    // Removed in between by its holder: nobody else would find the lock on it.
    if (fileId(path) !== id) {
      db.close();
      closeSync(pin);
      continue;
    }
    held.set(id, db);
    return () => {
      if (held.get(id) !== db) return;
      held.delete(id);
      if (fileId(path) === id) unlinkQuietly(path);
      db.close();
      closeSync(pin);
    };
  }
  return null;
}

/**
 * Open as long as the lock is held: no other file gets the number of this one, so that the same number at the path means
 * the same file, also for the connection. Null: it was removed.
 */
function openPin(path: string): number | null {
  try {
    return openRead(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw fileError(cause, path, STAGE);
  }
}

/** Closes the pin where there is no lock. */
function beginPinned(pin: number, path: string, mode: LockMode): DatabaseSync | null {
  let db: DatabaseSync | null = null;
  try {
    db = begin(path, `BEGIN ${mode}`);
    return db;
  } finally {
    if (db === null) closeSync(pin);
  }
}

/** Whether an `exclusive` lock is held on the file. Changes nothing, so many may ask at once. */
export function lockState(path: string): 'missing' | 'free' | 'held' {
  if (fileId(path) === null) return 'missing';
  const db = begin(path, 'SELECT count(*) FROM sqlite_schema');
  db?.close();
  return db === null ? 'held' : 'free';
}

/** Removes the file unless it is locked exclusively. */
export function removeUnlocked(path: string): boolean {
  if (fileId(path) === null) return false;
  // The shared lock keeps the holder-to-be of a new file waiting; it then finds the file gone and makes another.
  const db = begin(path, 'BEGIN; SELECT count(*) FROM sqlite_schema');
  if (db === null) return false;
  unlinkQuietly(path);
  db.close();
  return true;
}

/** A file that is no lock of ours, which are empty: an older tacho wrote its owner into it. */
export class ForeignLockError extends Error {}

/** Null when another connection holds the lock. */
function begin(path: string, sql: string): DatabaseSync | null {
  // Also a database of others, which SQLite would lock.
  if (lstatSync(path, { throwIfNoEntry: false })?.size) throw new ForeignLockError(path);
  let db: DatabaseSync | null = null;
  try {
    db = openSqlite(path);
    // In memory: a journal file would be left behind by a kill.
    db.exec(`PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY`);
    db.exec(sql);
    return db;
  } catch (cause) {
    db?.close();
    const code = sqliteCode(cause);
    if (code === SQLITE.busy) return null;
    throw lockError(cause, path);
  }
}

function lockError(cause: unknown, path: string): TachoError {
  const code = sqliteCode(cause);
  if (code === SQLITE.io_error) return noLocks(path, cause);
  if (code === SQLITE.full) return fileError(errno('ENOSPC'), path, STAGE);
  const denied = [SQLITE.readonly, SQLITE.cannot_open, SQLITE.perm] as number[];
  return fileError(denied.includes(code) ? errno('EACCES') : cause, path, STAGE);
}

export function noLocks(path: string, cause?: unknown): TachoError {
  const text = `${path}: this file system does not support file locks: ${ELSEWHERE}`;
  return new TachoError('state_unusable', text, { stage: STAGE, cause });
}

/** Made only where it is missing: opening and closing an existing one would end a lock of this process on it. */
function ensureFile(path: string): string {
  for (;;) {
    const id = fileId(path);
    if (id !== null) return id;
    try {
      closeSync(createPrivate(path));
    } catch (cause) {
      if (errnoOf(cause) !== 'EEXIST') throw fileError(cause, path, STAGE);
    }
  }
}

/** Null where there is none. Anything but a regular file is refused. */
function fileId(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (stat === undefined) return null;
  withPath(path, STAGE, () => refuseIrregular(stat));
  return idOf(stat);
}

const idOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;
