/** Positions of the entries of sessions in the journal. */

import type { Database } from './database.ts';
import { MERGE, SAVE_POSITION, SAVE_SEGMENT, UNWEIGH, UNWEIGH_RUN } from './index-schema.ts';
import type { Cover, Position } from './position-index.ts';
import type { Prepared } from './prepared.ts';
import { forgetFolder } from './segments-table.ts';

export function positionsTable(db: Database) {
  const sessions = (sql: string, ...values: string[]) =>
    db.read((prepared) => prepared.all(sql, ...values).map(({ session }) => unkey(session)));
  return {
    getPositions: (session: string) =>
      db.read((prepared) =>
        prepared
          .all('SELECT * FROM positions WHERE session = ?', key(session))
          .map((row) => ({ ...(row as unknown as Position), session, source: unkey(row.source) })),
      ),
    cover: (segment: string, bytes: number, positions: readonly Position[]) =>
      db.write((prepared) => putCover(prepared, { segment, bytes, positions })),
    coverAll: (covers: readonly Cover[]) =>
      db.write((prepared) => {
        for (const cover of covers) putCover(prepared, cover);
      }),
    forgetSegment: (segment: string) =>
      db.write((prepared) => {
        prepared.run(UNWEIGH, segment);
        prepared.run('DELETE FROM positions WHERE segment = ?', segment);
        prepared.run('DELETE FROM segments WHERE segment = ?', segment);
        forgetFolder(prepared);
      }),
    /** Sessions with entries in a segment, as far as they are covered. */
    sessionsIn: (segment: string) =>
      sessions('SELECT DISTINCT session FROM positions WHERE segment = ?', segment),
    /** Sessions in the covered part of the journal that are not in the list of runs. */
    unlistedSessions: () =>
      sessions(`SELECT DISTINCT session FROM positions
        WHERE session NOT IN (SELECT run_id FROM runs)`),
    /** Sessions with more than one position. */
    sessionsInPieces: () =>
      sessions('SELECT session FROM positions GROUP BY session HAVING count(*) > 1'),
    /** Segments with entries of any of these sessions, as far as they are covered. */
    segmentsWith: (sessions_wanted: Iterable<string>) =>
      db.read((prepared) => {
        const sql = `SELECT DISTINCT segment FROM positions
          WHERE session IN (SELECT value FROM json_each(?))`;
        const keys = JSON.stringify([...sessions_wanted].map(key));
        return new Set(prepared.all(sql, keys).map(({ segment }) => String(segment)));
      }),
    /** Replaces the rows that `known` names with the rows of the index in another file, in one transaction. */
    mergeFrom: (path: string, known: { runs: readonly string[]; segments: readonly string[] }) =>
      db.withFile('fresh', path, (prepared) => {
        for (const [sql, part] of MERGE)
          prepared.run(sql, ...(part === null ? [] : [JSON.stringify(known[part])]));
        forgetFolder(prepared);
      }),
  };
}

export function putCover(prepared: Prepared, { segment, bytes, positions }: Cover): void {
  for (const { session, source, first_seq, last_seq, offset } of positions)
    prepared.run(SAVE_POSITION, key(session), key(source), segment, first_seq, last_seq, offset);
  prepared.run(SAVE_SEGMENT, segment, bytes);
  for (const session of new Set(positions.map((position) => position.session)))
    prepared.run(UNWEIGH_RUN, session);
}

/** Foreign ids as JSON text if SQLite would change them: it preserves neither lone surrogates nor text after a NUL. */
function key(id: string): string {
  const kept = id.isWellFormed() && !id.includes('\0') && !id.startsWith('"');
  return kept ? id : JSON.stringify(id);
}

function unkey(stored: unknown): string {
  const text = String(stored);
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
