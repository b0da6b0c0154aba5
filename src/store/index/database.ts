/** The SQLite file of the index: reading, writing, and moving it aside if it is damaged. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { errnoOf, fileError, TachoError } from '../../lib/errors.ts';
import { errno, removeBeside } from '../files.ts';
import {
  ASIDE,
  BUSY_TIMEOUT,
  type FileSchema,
  inode,
  moveAside,
  type OpenFile,
  openPatiently,
  STAGE,
} from './database-file.ts';
import { inTransaction, type Prepared } from './prepared.ts';
import { SQLITE, sqliteCode } from './sqlite.ts';

export type Database = ReturnType<typeof openDatabase>;
type Body<T> = (db: Prepared) => T;
type Row = Record<string, unknown>;

export function openDatabase(
  path: string,
  clock: Clock = systemClock,
  schema: FileSchema | undefined = undefined,
) {
  let moved_to: string | null = null;
  let open = attempt();

  function attempt(): OpenFile {
    try {
      return openPatiently(path, schema);
    } catch (cause) {
      if (!isDamaged(cause)) throw databaseError(cause, path);
      moved_to = moveAside(path, inode(path), clock.now()) ?? moved_to;
      return openPatiently(path, schema);
    }
  }

  /** Rethrows the cause if it is not damage. */
  function replaceDamaged(cause: unknown): void {
    if (!isDamaged(cause)) throw databaseError(cause, path);
    open.db.close();
    moved_to = moveAside(path, open.inode, clock.now()) ?? moved_to;
    open = attempt();
  }

  /**
   * Damage may be detected only when a page is read. The content can be rebuilt from the journal. Until then, reads of
   * the new file fail.
   */
  function guarded<T>(body: Body<T>, answers = true): T {
    try {
      return body(open.prepared);
    } catch (cause) {
      replaceDamaged(cause);
      if (!answers) throw damaged(path, moved_to);
    }
    try {
      return body(open.prepared);
    } catch (cause) {
      throw databaseError(cause, path);
    }
  }

  return {
    /** Throws if the file turns out to be damaged. The next read uses the new file that replaces it. */
    read: <T>(body: Body<T>) => guarded(body, false),
    /**
     * The same for many rows, one by one. `make` converts each row; the result is consumed before the next row is
     * read.
     */
    *each<T>(sql: string, values: readonly SQLInputValue[], make: (row: Row) => T): Generator<T> {
      try {
        for (const row of open.prepared.iterate(sql, ...values)) yield make(row);
      } catch (cause) {
        replaceDamaged(cause);
        throw damaged(path, moved_to);
      }
    },
    /** A read that an empty file may answer: for data that only decides whether to read the journal. */
    readOrNone: <T>(body: Body<T>) => guarded(body),
    /** One transaction. */
    write: <T>(body: Body<T>) => guarded((prepared) => inTransaction(prepared, body)),
    /** The same for optional data: does not wait, and is skipped if others are writing or the disk fails. */
    tryWrite(body: Body<void>): boolean {
      const { db } = open;
      try {
        db.exec('PRAGMA busy_timeout = 0');
        inTransaction(open.prepared, body);
        return true;
      } catch (cause) {
        if (isDamaged(cause)) replaceDamaged(cause);
        else if (sqliteCode(cause) === 0) throw cause;
        return false;
      } finally {
        if (db.isOpen) db.exec(BUSY_TIMEOUT);
      }
    },
    /** One transaction with another database attached under a name. */
    withFile: <T>(name: string, path: string, body: Body<T>) =>
      guarded((prepared) => {
        prepared.run(`ATTACH ? AS ${name}`, path);
        try {
          return inTransaction(prepared, body);
        } finally {
          prepared.run(`DETACH ${name}`);
        }
      }),
    /** The path that a damaged file was moved to, or null. */
    get moved_to() {
      return moved_to;
    },
    /** Shrinks the file to its content, unless others are using it. Removes damaged files that were moved aside. */
    compact() {
      // They contain rows of runs that have since been deleted, and nothing that the journal lacks.
      removeBeside(path, ASIDE);
      shrink(open, path);
    },
    close() {
      if (open.db.isOpen) open.db.close();
    },
  };
}

function shrink({ db }: OpenFile, path: string): void {
  try {
    db.exec('VACUUM');
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (cause) {
    if (sqliteCode(cause) !== SQLITE.busy) throw databaseError(cause, path);
  }
}

/** A row that is no longer valid JSON is also damage, although SQLite does not notice. */
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
      const text = `${path}: another process is using it: try again`;
      return new TachoError('busy', text, { stage: STAGE, retryable: true, cause });
    }
    case SQLITE.full:
      return fileError(withCause('ENOSPC', cause), path, STAGE);
    case SQLITE.readonly:
      return fileError(withCause(readOnlyCode(path), cause), path, STAGE);
    case SQLITE.io_error: {
      const text = `${path}: disk error: ${(cause as Error).message}`;
      return new TachoError('state_unusable', text, { stage: STAGE, cause });
    }
    default:
      return fileError(cause, path, STAGE);
  }
}

function damaged(path: string, moved_to: string | null): TachoError {
  const where = moved_to === null ? '' : ` and is now ${moved_to}`;
  const text = `${path}: the index was damaged${where}: run the command again to rebuild it from the journal`;
  return new TachoError('state_unusable', text, { stage: STAGE, retryable: true });
}

/** SQLite uses one code for a read-only file system and for a file or folder without write permission. */
function readOnlyCode(path: string): string {
  try {
    for (const one of [dirname(path), path]) accessSync(one, constants.W_OK);
  } catch (cause) {
    return errnoOf(cause) || 'EROFS';
  }
  return 'EROFS';
}

function withCause(code: string, cause: unknown): Error {
  const error = errno(code, (cause as Error).message);
  error.cause = cause;
  return error;
}
