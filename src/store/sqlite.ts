/** SQLite's result codes, and the library itself, loaded by those commands alone that need it. */
import type { DatabaseSync } from 'node:sqlite';

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

/** The result code of an error, without its extension; 0 for an error of something else. */
export function sqliteCode(cause: unknown): number {
  const code = (cause as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : 0;
}

export function openSqlite(path: string): DatabaseSync {
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  return new Sqlite(path);
}
