/**
 * Rows that are added in one transaction, together with the position in each segment up to which they were read.
 * Contract: after a kill, the next reader begins at the saved positions. If another process has read the same lines in
 * the meantime, nothing is saved.
 */
import { TachoError } from '../../lib/errors.ts';
import type { Prepared } from '../index/prepared.ts';
import type { SegmentLine } from '../journal/scan.ts';
import { SEARCH_LIMITS } from './limits.ts';
import { type Entry, entryIn, factsOf, type Row, type RunFacts, rowIn } from './row.ts';
import type { SearchDb } from './search-db.ts';
import { keyAt, PAGE_EVENTS, rowOf } from './search-schema.ts';

/** A run as stored, and as it will be after the batch. */
interface BatchRun {
  run_id: string;
  key: number;
  /** Null for a run that is new. */
  stored_seq: number | null;
  last_seq: number;
  /** Has entries that were not in order: it is read again by its positions. */
  late: boolean;
  problems: number;
  cut: number;
  started_ms: number;
  facts: RunFacts;
}

type NewRow = Row & { id: bigint };
interface Page {
  key: number;
  page: number;
  segment: string;
  offset: number;
}

/** Another process has changed the index: everything read must be read again. */
function changed(): TachoError {
  const text = 'another process is updating the search index: try again';
  return new TachoError('busy', text, { stage: 'search', retryable: true });
}

const RUN = 'SELECT key, last_seq, problems, cut FROM main.runs WHERE run_id = ?';
const FREE_KEY = 'SELECT 1 FROM main.runs WHERE key = ?';
const NEW_RUN = `INSERT INTO main.runs
  (key, run_id, last_seq, late, problems, cut, agent, model, started_ms, project, labels)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const GROWN_RUN = `UPDATE main.runs SET last_seq = ?, late = ?, problems = ?, cut = ?
  WHERE key = ? AND last_seq = ?`;
const NEW_TEXT = 'INSERT INTO text (rowid, words, marks, paths) VALUES (?, ?, ?, ?)';
const NEW_PAGE = `INSERT OR REPLACE INTO pages (key, page, segment, offset)
  VALUES (?, ?, (SELECT id FROM main.segments WHERE segment = ?), ?)`;
const NEW_SEGMENT = 'INSERT OR IGNORE INTO main.segments (segment, bytes) VALUES (?, 0)';
const READ_SEGMENT = 'UPDATE main.segments SET bytes = ? WHERE segment = ? AND bytes = ?';

export class Batch {
  chars = 0;
  lines = 0;
  readonly #db: SearchDb;
  readonly #deleted: ReadonlySet<string>;
  readonly #runs = new Map<string, BatchRun>();
  readonly #keys = new Set<number>();
  #rows: NewRow[] = [];
  #pages: Page[] = [];
  readonly #read = new Map<string, { from: number; to: number }>();

  constructor(db: SearchDb, deleted: ReadonlySet<string>) {
    this.#db = db;
    this.#deleted = deleted;
  }

  get full(): boolean {
    return this.chars >= SEARCH_LIMITS.batch_chars || this.lines >= SEARCH_LIMITS.batch_lines;
  }

  get empty(): boolean {
    return this.#read.size === 0 && this.#runs.size === 0;
  }

  /** A segment was read from one position to another. */
  covered(segment: string, from: number, to: number): void {
    const known = this.#read.get(segment);
    this.#read.set(segment, { from: known?.from ?? from, to });
  }

  /** A line of a run, in the order of its segment. */
  take(line: SegmentLine, segment: string): void {
    const { session, seq } = line;
    this.lines += 1;
    if (this.#deleted.has(session)) return;
    const known = this.#runs.get(session) ?? this.#stored(session);
    if (known !== null && (seq <= known.last_seq || known.late)) return;
    const entry = entryIn(line.bytes, line.start, line.end);
    if (known === null && seq > 1) this.#add(session, entry, { late: true });
    else if (known !== null && seq > known.last_seq + 1) known.late = true;
    else
      this.put(
        known ?? this.#add(session, entry, {}),
        { seq, segment, offset: line.offset },
        entry,
      );
  }

  /** A run that is read by its positions: gaps in its numbers are accepted. */
  reread(run_id: string): BatchRun | null {
    const run = this.#runs.get(run_id) ?? this.#stored(run_id);
    if (run !== null) run.late = false;
    return run;
  }

  put(
    run: BatchRun,
    at: { seq: number; segment: string; offset: number },
    entry: Entry | null,
  ): void {
    const { seq, segment, offset } = at;
    const page = Math.floor(seq / PAGE_EVENTS);
    if (page !== Math.floor(run.last_seq / PAGE_EVENTS) || run.last_seq === 0)
      this.#pages.push({ key: run.key, page, segment, offset });
    run.last_seq = seq;
    if (entry === null) return;
    if (entry.kind === 'problem') run.problems += 1;
    const row = rowIn(entry);
    if (row === null) return;
    if (row.cut) run.cut += 1;
    this.chars += row.words.length + row.marks.length + row.paths.length;
    this.#rows.push({ ...row, id: rowOf(run.key, seq, row.place) });
  }

  #stored(run_id: string): BatchRun | null {
    const row = this.#db.read((prepared) => prepared.get(RUN, run_id));
    if (row === undefined) return null;
    const run: BatchRun = {
      ...{ run_id, key: Number(row.key), late: false, started_ms: 0, facts: NO_FACTS },
      ...{ stored_seq: Number(row.last_seq), last_seq: Number(row.last_seq) },
      ...{ problems: Number(row.problems), cut: Number(row.cut) },
    };
    this.#runs.set(run_id, run);
    return run;
  }

  #add(run_id: string, entry: Entry | null, { late = false }): BatchRun {
    const started_ms = entry?.at_ms ?? 0;
    const run: BatchRun = {
      ...{ run_id, late, started_ms, stored_seq: null, last_seq: 0, problems: 0, cut: 0 },
      key: this.#freeKey(keyAt(started_ms)),
      facts: entry === null ? NO_FACTS : factsOf(entry),
    };
    this.#runs.set(run_id, run);
    return run;
  }

  #freeKey(first: number): number {
    const taken = (key: number) =>
      this.#keys.has(key) || this.#db.read((prepared) => prepared.get(FREE_KEY, key)) !== undefined;
    let key = first;
    while (taken(key)) key += 1;
    this.#keys.add(key);
    return key;
  }

  /** Throws an error with the code `busy` if another process was faster. */
  save(): void {
    // In ascending order: otherwise SQLite writes its words after every row.
    this.#rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#db.write((prepared) => {
      for (const [segment, { from, to }] of this.#read) {
        prepared.run(NEW_SEGMENT, segment);
        expectOne(prepared.run(READ_SEGMENT, to, segment, from));
      }
      for (const run of this.#runs.values()) saveRun(prepared, run);
      for (const { id, words, marks, paths } of this.#rows)
        prepared.run(NEW_TEXT, id, words, marks, paths);
      for (const { key, page, segment, offset } of this.#pages)
        prepared.run(NEW_PAGE, key, page, segment, offset);
    });
  }
}

const NO_FACTS: RunFacts = { agent: '', model: null, project: null, labels: '{}' };

function saveRun(prepared: Prepared, run: BatchRun): void {
  const { key, run_id, stored_seq, last_seq, late, problems, cut, started_ms, facts } = run;
  const flag = late ? 1 : 0;
  if (stored_seq !== null) {
    expectOne(prepared.run(GROWN_RUN, last_seq, flag, problems, cut, key, stored_seq));
    return;
  }
  const { agent, model, project, labels } = facts;
  if (prepared.get(RUN, run_id) !== undefined || prepared.get(FREE_KEY, key) !== undefined)
    throw changed();
  const counts = [last_seq, flag, problems, cut];
  prepared.run(NEW_RUN, key, run_id, ...counts, agent, model, started_ms, project, labels);
}

function expectOne(changes: number): void {
  if (changes !== 1) throw changed();
}
