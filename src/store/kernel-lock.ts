/**
 * Kernel locks on files, taken through SQLite because Node has no API for them (ADR 0013).
 * Contract: a lock is released when its process exits, even after kill -9, in another container or after a reboot, and
 * child processes do not inherit it. No other code may open the file: closing any descriptor of it in this process would
 * release the lock. The file stays empty.
 */
import { type BigIntStats, closeSync, fstatSync, lstatSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ELSEWHERE, errnoOf, fileError, TachoError, withPath } from '../lib/errors.ts';
import { processWide } from '../lib/process-wide.ts';
import { createPrivate, errno, openRead, refuseIrregular, unlinkQuietly } from './files.ts';
import { openSqlite, SQLITE, sqliteCode } from './index/sqlite.ts';

const STAGE = 'lock';
/** Each further attempt means that another process removed the file at that moment. */
const TRIES_MAX = 100;

/** By file. Referenced here because garbage collection would close the connection and release its lock. */
const held = processWide('held_locks', () => new Map<string, DatabaseSync>());

/**
 * `exclusive` also blocks `lockState`. If several processes try `exclusive` concurrently, possibly none succeeds; with
 * `immediate`, exactly one does.
 */
export type LockMode = 'immediate' | 'exclusive';

/** Returns the function that releases the lock and removes the file. Null while another connection holds the lock. */
export function lockFile(path: string, mode: LockMode): (() => void) | null {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    // A file that this process has locked is not opened again: closing it would release the lock.
    if (held.has(ensureFile(path))) return null;
    const pin = openPin(path);
    if (pin === null) continue;
    const id = idOf(fstatSync(pin, { bigint: true }));
    const db = beginPinned(pin, path, mode);
    if (db === null) return null;
    // The holder removed it in between: no other process would find the lock on it.
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
 * Stays open as long as the lock is held: no other file gets this file's inode number, so the same number at the path
 * means the same file, for the connection too. Null if the file was removed.
 */
function openPin(path: string): number | null {
  try {
    return openRead(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw fileError(cause, path, STAGE);
  }
}

/** Closes the pin if there is no lock. */
function beginPinned(pin: number, path: string, mode: LockMode): DatabaseSync | null {
  let db: DatabaseSync | null = null;
  try {
    db = begin(path, `BEGIN ${mode}`);
    return db;
  } finally {
    if (db === null) closeSync(pin);
  }
}

/**
 * Whether an `exclusive` lock is held on the file. Changes nothing, so any number of processes may check concurrently.
 */
export function lockState(path: string): 'missing' | 'free' | 'held' {
  if (fileId(path) === null) return 'missing';
  const db = begin(path, 'SELECT count(*) FROM sqlite_schema');
  db?.close();
  return db === null ? 'held' : 'free';
}

/** Removes the file unless it is locked exclusively. */
export function removeUnlocked(path: string): boolean {
  if (fileId(path) === null) return false;
  // The shared lock makes the next holder of a new file wait. It then finds the file removed and creates another one.
  const db = begin(path, 'BEGIN; SELECT count(*) FROM sqlite_schema');
  if (db === null) return false;
  unlinkQuietly(path);
  db.close();
  return true;
}

/** A file that is not one of our locks, which are empty: an older tacho wrote its owner to the file. */
export class ForeignLockError extends Error {}

/** Null if another connection holds the lock. */
function begin(path: string, sql: string): DatabaseSync | null {
  // This may also be a foreign database, which SQLite would lock.
  if (lstatSync(path, { throwIfNoEntry: false })?.size) throw new ForeignLockError(path);
  let db: DatabaseSync | null = null;
  try {
    db = openSqlite(path);
    // In memory: a kill would leave a journal file behind.
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

/** Creates the file only if it is missing: opening and closing it would release a lock of this process on it. */
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

/** Null if there is none. Refuses anything but a regular file. */
function fileId(path: string): string | null {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (stat === undefined) return null;
  withPath(path, STAGE, () => refuseIrregular(stat));
  return idOf(stat);
}

const idOf = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;
