/**
 * The search index: which events contain which words. Contract: it contains no texts and no order of words beyond their
 * positions, and it can be rebuilt from the journal at any time (SE-3).
 */
import type { FileSchema } from '../index/database-file.ts';
import { SEARCH_LIMITS } from './limits.ts';

/**
 * The number of a row is the key of its run, the number of the event, and the place of the text, in that order. The key
 * is the time when the run started, so that rows are in the order of time and the newest hits are found first.
 */
const SEQ_BITS = 24;
const PLACE_BITS = 3;
const KEY_UNIT_MS = 256;

/** Beyond this, a row's number would not fit into 63 bits. Reached in the year 2248. */
const KEY_MAX = 2 ** 35;

/** The key of a run that started at a time. Further runs with the same time get the next free keys. */
export const keyAt = (at_ms: number) =>
  Math.min(Math.max(1, Math.floor(at_ms / KEY_UNIT_MS)), KEY_MAX);

/** SQL: the parts of a row's number. */
export const keyOf = (row: string) => `(${row} >> ${SEQ_BITS + PLACE_BITS})`;
export const seqOf = (row: string) => `((${row} >> ${PLACE_BITS}) & ${2 ** SEQ_BITS - 1})`;
export const placeOf = (row: string) => `(${row} & ${2 ** PLACE_BITS - 1})`;

export function rowOf(key: number, seq: number, place: number): bigint {
  return (
    (BigInt(key) << BigInt(SEQ_BITS + PLACE_BITS)) |
    (BigInt(seq) << BigInt(PLACE_BITS)) |
    BigInt(place)
  );
}

export const keyIn = (row: bigint) => Number(row >> BigInt(SEQ_BITS + PLACE_BITS));

/** The first row of a run. */
export const firstRow = (key: number) => rowOf(key, 0, 0);

/** Events with one known position in the journal. */
export const PAGE_EVENTS = 64;

/** Columns: the texts; identifiers as a whole and marks; the paths of files. */
const CREATE = `
  DROP TABLE IF EXISTS text;
  DROP TABLE IF EXISTS runs;
  DROP TABLE IF EXISTS pages;
  DROP TABLE IF EXISTS segments;
  DROP TABLE IF EXISTS seen;
  CREATE VIRTUAL TABLE text USING fts5(words, marks, paths,
    content='', columnsize=0, tokenize="unicode61 remove_diacritics 2");
  INSERT INTO text (text, rank) VALUES ('secure-delete', 1);
  INSERT INTO text (text, rank) VALUES ('hashsize', ${SEARCH_LIMITS.hash_bytes});
  CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL,
    late INTEGER NOT NULL,
    problems INTEGER NOT NULL,
    cut INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT,
    started_ms INTEGER NOT NULL,
    project TEXT,
    labels TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_late ON runs (key) WHERE late;
  CREATE INDEX runs_cut ON runs (key) WHERE cut > 0;
  CREATE INDEX runs_with_problems ON runs (run_id) WHERE problems > 0;
  CREATE TABLE pages (
    key INTEGER NOT NULL,
    page INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    PRIMARY KEY (key, page)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    segment TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE seen (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    closed TEXT NOT NULL
  ) STRICT;`;

/** An older index is dropped and built again: a step that changes it repeats all of this. */
export const SEARCH_SCHEMA: FileSchema = {
  migrations: [CREATE],
  tables: ['text', 'runs', 'pages', 'segments', 'seen'],
  page_bytes: 4096,
};
