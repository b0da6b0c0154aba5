/**
 * Removes deleted runs from the search index. Contract: SQLite needs the words of a row to erase them, so this happens
 * before the bytes of the runs are removed from the journal. If they are missing already, the index is dropped; the next
 * search builds it again.
 */
import { jsonIn } from '../../lib/json.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import type { Index } from '../index/index-db.ts';
import { readSession } from '../journal/read.ts';
import type { StateDir } from '../state-dir.ts';
import { SEARCH_LIMITS } from './limits.ts';
import { entryOf, type Row, rowIn } from './row.ts';
import { dropSearch, hasSearch, openSearch, type SearchDb } from './search-db.ts';
import { rowOf } from './search-schema.ts';

const INDEXED = `SELECT key, run_id, last_seq FROM main.runs
  WHERE run_id IN (SELECT value FROM json_each(?))`;
const ERASE = `INSERT INTO text (text, rowid, words, marks, paths) VALUES ('delete', ?, ?, ?, ?)`;
const FORGET = ['DELETE FROM pages WHERE key = ?', 'DELETE FROM main.runs WHERE key = ?'];
/** The words of a run are unknown: everything is removed, and the next search reads the journal again. */
const EMPTY = [
  `INSERT INTO text (text) VALUES ('delete-all')`,
  'DELETE FROM pages',
  'DELETE FROM main.runs',
  'DELETE FROM main.segments',
  'DELETE FROM seen',
];

const inPlace = (flag: 0 | 1) => `INSERT INTO text (text, rank) VALUES ('secure-delete', ${flag})`;
const IS_IN_PLACE = `SELECT v AS in_place FROM text_config WHERE k = 'secure-delete'`;

interface Indexed {
  key: number;
  run_id: string;
  last_seq: number;
}

/** Called before the journal is rewritten without these runs. Whatever fails, none of their words stays in the index. */
export async function purgeSearch(
  state: StateDir,
  index: Index,
  deleted: ReadonlySet<string>,
): Promise<void> {
  if (deleted.size === 0 || !hasSearch(state)) return;
  try {
    using db = openSearch(state);
    const purged = await purgeDeleted(state, index, db, deleted);
    if (purged > 0) db.read((prepared) => prepared.run('PRAGMA wal_checkpoint(TRUNCATE)'));
  } catch {
    dropSearch(state);
  }
}

/** Returns the number of removed runs. */
export async function purgeDeleted(
  state: StateDir,
  index: Index,
  db: SearchDb,
  deleted: ReadonlySet<string>,
): Promise<number> {
  if (deleted.size === 0) return 0;
  const ids = JSON.stringify([...deleted]);
  const runs = db.read((prepared) => prepared.all(INDEXED, ids)) as unknown[] as Indexed[];
  const events = runs.reduce((sum, { last_seq }) => sum + last_seq, 0);
  if (events > SEARCH_LIMITS.erased_events_max) db.write((prepared) => prepared.run(inPlace(0)));
  for (const run of runs) if (!(await purgeRun(state, index, db, run))) break;
  finishErasing(db);
  return runs.length;
}

/**
 * In place, every word of a row is erased separately. Otherwise one merge of the whole index at the end erases all of
 * them. Also called after a kill.
 */
function finishErasing({ read, write }: SearchDb): void {
  if (read((prepared) => prepared.get(IS_IN_PLACE))?.in_place === 1) return;
  write((prepared) => {
    prepared.run(`INSERT INTO text (text) VALUES ('optimize')`);
    prepared.run(inPlace(1));
  });
}

type Erased = Row & { id: bigint };

/** Returns false if the whole index was emptied. */
async function purgeRun(
  state: StateDir,
  index: Index,
  db: SearchDb,
  run: Indexed,
): Promise<boolean> {
  const { key, run_id, last_seq } = run;
  let rows: Erased[] = [];
  let chars = 0;
  let found = 0;
  // A part that a killed process has erased already is erased again without effect.
  const erase = () => {
    const part = rows;
    rows = [];
    chars = 0;
    db.write((prepared) => {
      for (const { id, words, marks, paths } of part) prepared.run(ERASE, id, words, marks, paths);
    });
  };
  for await (const { source, seq, body } of readSession(state.journal, run_id, { index })) {
    if (source !== CAPTURE_SOURCE || seq > last_seq) continue;
    found += 1;
    const entry = entryOf(jsonIn(body));
    const row = entry === null ? null : rowIn(entry);
    if (row === null) continue;
    rows.push({ ...row, id: rowOf(key, seq, row.place) });
    chars += row.words.length;
    if (chars >= SEARCH_LIMITS.batch_chars) erase();
  }
  erase();
  const known = found >= last_seq;
  db.write((prepared) => {
    if (known) for (const sql of FORGET) prepared.run(sql, key);
    else for (const sql of EMPTY) prepared.run(sql);
  });
  return known;
}
