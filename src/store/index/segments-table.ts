/** How far each segment is indexed, and which segments are closed. */

import { PACKED } from '../journal/segment-file.ts';
import { STORE_LIMITS } from '../limits.ts';
import type { Database } from './database.ts';
import { SETTLE_SEGMENT, UNWEIGH } from './index-schema.ts';
import type { Prepared } from './prepared.ts';
import type { ClosedSegment, KnownFolder, SegmentBook } from './segment-book.ts';

export function segmentsTable(db: Database) {
  const bySegment = (column: 'bytes' | 'settled') =>
    db.readOrNone((prepared) => {
      const rows = prepared.all(`SELECT segment, ${column} AS bytes FROM segments`);
      return new Map(rows.map(({ segment, bytes }) => [String(segment), Number(bytes)]));
    });
  const one = (column: 'bytes' | 'settled') => (segment: string) =>
    db.readOrNone((prepared) => {
      const row = prepared.get(`SELECT ${column} AS n FROM segments WHERE segment = ?`, segment);
      return Number(row?.n ?? 0);
    });
  return {
    covered: () => bySegment('bytes'),
    coveredBytes: one('bytes'),
    /** Whether no segment is known. */
    coversNothing: () =>
      db.readOrNone((prepared) => prepared.get('SELECT 1 FROM segments LIMIT 1') === undefined),
    segmentNames: () =>
      db.readOrNone((prepared) => {
        // As one text: one row per segment would take ten times the memory.
        const row = prepared.get('SELECT json_group_array(segment) AS names FROM segments');
        return JSON.parse(String(row?.names)) as string[];
      }),
    /** The offset in each segment up to which all finished runs have a row. */
    settled: () => bySegment('settled'),
    settledBytes: one('settled'),
    /** Closed segments that are not settled to their end. */
    unsettled: () =>
      db.readOrNone((prepared) => {
        const sql = `SELECT segment FROM segments WHERE settled < bytes AND packed IS NOT NULL`;
        return prepared.all(sql).map(({ segment }) => String(segment));
      }),
    /** Closed segments that are not packed although they are large enough. */
    unpacked: () =>
      db.readOrNone((prepared) => {
        const sql = 'SELECT segment FROM segments WHERE packed = 0 AND bytes >= ?';
        const rows = prepared.all(sql, STORE_LIMITS.pack_bytes_min);
        return rows.map(({ segment }) => String(segment));
      }),
    settle: (segments: ReadonlyMap<string, number>) =>
      db.write((prepared) => {
        for (const [segment, bytes] of segments) settle(prepared, segment, bytes);
      }),
    /** The number of entries in each segment that is not closed, as far as it is covered. */
    openEntries: () =>
      db.read((prepared) => {
        const rows = prepared.all(OPEN_ENTRIES);
        return new Map(rows.map((row) => [String(row.segment), Number(row.entries)]));
      }),
    book: segmentBook(db),
  };
}

const OPEN_ENTRIES = `SELECT segment, total(last_seq - first_seq + 1) AS entries
  FROM segments JOIN positions USING (segment) WHERE packed IS NULL GROUP BY 1`;

const CLOSED_FILES = `SELECT group_concat(file, '') AS files FROM
  (SELECT segment || iif(packed, '${PACKED}', '') || char(10) AS file FROM segments
    WHERE packed IS NOT NULL ORDER BY segment)`;

const STILL_OPEN = `SELECT json_group_array(value) AS open FROM json_each(?)
  WHERE NOT EXISTS (SELECT 1 FROM segments WHERE segment = value AND packed IS NOT NULL)`;

/** Saving any of this is optional: it never waits for another writer. */
function segmentBook(db: Database): SegmentBook {
  return {
    folder: () => db.readOrNone(folderOf),
    closedFiles: () => db.readOrNone((prepared) => String(prepared.get(CLOSED_FILES)?.files ?? '')),
    saveFolder: ({ identity, stamp, open, generation }) =>
      db.tryWrite((prepared) => {
        const sql = 'UPDATE folder SET stamp = ?, open = ? WHERE identity = ? AND generation = ?';
        prepared.run(sql, stamp, JSON.stringify(open), identity, generation);
      }),
    close: (identity, segments) => {
      if (segments.length > 0) db.tryWrite((prepared) => putClosed(prepared, identity, segments));
    },
    reopen: (segments) =>
      db.tryWrite((prepared) => {
        for (const segment of segments) {
          prepared.run(UNWEIGH, segment);
          prepared.run(REOPEN, segment);
        }
        forgetFolder(prepared);
      }),
    moveTo: (identity) =>
      db.tryWrite((prepared) => {
        prepared.run('UPDATE segments SET packed = NULL WHERE packed IS NOT NULL');
        prepared.run('UPDATE runs SET journal_bytes = NULL WHERE journal_bytes IS NOT NULL');
        prepared.run(NEW_FOLDER, identity);
        prepared.run('UPDATE folder SET identity = ?', identity);
        forgetFolder(prepared);
      }),
  };
}

const REOPEN = 'UPDATE segments SET packed = NULL WHERE segment = ?';

const NEW_FOLDER = `INSERT OR IGNORE INTO folder (id, identity, stamp, open, generation)
  VALUES (1, ?, '', '[]', 0)`;

const CLOSE = `UPDATE segments SET packed = ?, entry_bytes = ? / max(1,
    (SELECT total(last_seq - first_seq + 1) FROM positions WHERE positions.segment = segments.segment))
  WHERE segment = ?`;

export function putClosed(
  prepared: Prepared,
  identity: string,
  segments: readonly ClosedSegment[],
): void {
  prepared.run(NEW_FOLDER, identity);
  if (prepared.get('SELECT identity FROM folder')?.identity !== identity) return;
  for (const { segment, packed, disk_bytes } of segments)
    prepared.run(CLOSE, packed ? 1 : 0, disk_bytes, segment);
}

/** Called for every segment that is reopened: such a segment is not in the list of open ones. */
export function forgetFolder(prepared: Prepared): void {
  prepared.run("UPDATE folder SET stamp = '', generation = generation + 1");
}

function folderOf(prepared: Prepared): KnownFolder | null {
  const row = prepared.get('SELECT identity, stamp, open, generation FROM folder');
  if (row === undefined) return null;
  const open = prepared.get(STILL_OPEN, String(row.open))?.open;
  return {
    identity: String(row.identity),
    stamp: String(row.stamp),
    open: JSON.parse(String(open)) as string[],
    generation: Number(row.generation),
  };
}

export function settle(prepared: Prepared, segment: string, bytes: number): void {
  prepared.run(SETTLE_SEGMENT, segment, bytes);
}
