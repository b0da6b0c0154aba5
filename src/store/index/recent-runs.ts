/**
 * The newest runs of an index, read without changing anything: for shell completion, where a key press must not
 * create, repair or migrate a store. Contract: an index that is missing, foreign or from another version has no runs.
 */
import { lstatSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { IN_ORDER, SCHEMA_VERSION } from './index-schema.ts';
import type { RunRow } from './runs-table.ts';

export type RecentRun = Pick<
  RunRow,
  'run_id' | 'agent' | 'model' | 'project' | 'prompt' | 'labels'
>;

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** SQLite would create the files of its write-ahead log, and roll back a journal, unless the file is immutable. */
function address(path: string): URL {
  const url = pathToFileURL(path);
  if (!(isFile(`${path}-wal`) && isFile(`${path}-shm`))) url.searchParams.set('immutable', '1');
  return url;
}

export function recentRuns(path: string, most: number): RecentRun[] {
  if (!isFile(path) || isThere(`${path}-journal`)) return [];
  const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
  const db = new Sqlite(address(path), { readOnly: true, defensive: true });
  try {
    db.exec('PRAGMA trusted_schema = OFF');
    const version = db.prepare('PRAGMA user_version').get()?.user_version;
    // A view in place of a table could take any amount of time.
    const foreign = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view')`);
    if (version !== SCHEMA_VERSION || foreign.get() !== undefined) return [];
    const sql = `SELECT run_id, agent, model, project, prompt, labels FROM runs ${IN_ORDER} LIMIT ?`;
    return db.prepare(sql).all(most).map(recentOf);
  } finally {
    db.close();
  }
}

function recentOf({ labels, ...row }: Record<string, unknown>): RecentRun {
  return { ...(row as unknown as RecentRun), labels: JSON.parse(String(labels)) };
}
