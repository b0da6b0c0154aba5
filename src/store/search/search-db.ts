/** Opens the search index, with the index of runs attached as `store`. */
import { lstatSync } from 'node:fs';
import { unlinkQuietly } from '../files.ts';
import { type Database, openDatabase } from '../index/database.ts';
import type { StateDir } from '../state-dir.ts';
import { SEARCH_SCHEMA } from './search-schema.ts';

export interface SearchDb extends Pick<Database, 'read' | 'write' | 'moved_to'> {
  [Symbol.dispose](): void;
}

export const hasSearch = ({ search }: StateDir) =>
  lstatSync(search, { throwIfNoEntry: false }) !== undefined;

/** Created if it is missing; a damaged one is moved aside. The index of runs exists already. */
export function openSearch(state: StateDir): SearchDb {
  const db = openDatabase(state.search, undefined, SEARCH_SCHEMA);
  db.read((prepared) => prepared.run('ATTACH ? AS store', state.db));
  return {
    read: db.read,
    write: db.write,
    get moved_to() {
      return db.moved_to;
    },
    [Symbol.dispose]: db.close,
  };
}

/** Removes the search index. The next search builds it from the journal. A process that uses it keeps its own copy. */
export function dropSearch({ search }: StateDir): void {
  for (const end of ['', '-wal', '-shm', '-journal']) unlinkQuietly(search + end);
}
