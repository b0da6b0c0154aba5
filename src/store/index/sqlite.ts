/** SQLite's result codes, and the library itself, loaded only by commands that need it. */
import { fstatSync, lstatSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { errnoOf, fileError } from '../../lib/errors.ts';
import { withFd } from '../../lib/with-fd.ts';
import { openRead, removeFile } from '../files.ts';

export const SQLITE = {
  perm: 3,
  busy: 5,
  readonly: 8,
  io_error: 10,
  corrupt: 11,
  full: 13,
  cannot_open: 14,
  not_a_database: 26,
} as const;

/** The result code of an error, without its extension. 0 for other errors. */
export function sqliteCode(cause: unknown): number {
  const code = (cause as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : 0;
}

/**
 * Contract: no file next to the database makes SQLite act on another file, and no function in its schema has effects.
 */
export function openSqlite(path: string): DatabaseSync {
  removePlanted(path);
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  const db = new Sqlite(path, { defensive: true });
  db.exec('PRAGMA trusted_schema = OFF');
  return db;
}

const BESIDE = ['-journal', '-wal', '-shm'] as const;
/** The last bytes of a rollback journal that ends with the name of a super-journal. */
const NAME_MAGIC = Buffer.from('d9d505f920a163d7', 'hex');

/**
 * Removes files that tacho never leaves next to a database: links, pipes, and a rollback journal that names a
 * super-journal. SQLite rolls such a journal back and then deletes the named file: with SQLite 3.50 any file of the
 * user, with 3.53.4 only a few. Returns whether anything was removed.
 */
export function removePlanted(path: string): boolean {
  const planted = BESIDE.map((end) => path + end).filter(isPlanted);
  for (const beside of planted) removeFile(beside, 'open');
  return planted.length > 0;
}

function isPlanted(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  // The others are not opened here: closing one would release the locks of this process on it.
  return !stat.isFile() || (path.endsWith('-journal') && namesFile(path));
}

function namesFile(path: string): boolean {
  try {
    return withFd(openRead(path), (fd) => {
      const end = Buffer.alloc(NAME_MAGIC.length);
      readSync(fd, end, 0, end.length, Math.max(0, fstatSync(fd).size - end.length));
      return end.equals(NAME_MAGIC);
    });
  } catch (cause) {
    // Another process has just finished with it.
    if (errnoOf(cause) === 'ENOENT') return false;
    throw fileError(cause, path, 'open');
  }
}
