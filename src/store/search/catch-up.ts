/**
 * Completes the search index from the journal: reads what was appended since the last time, and nothing else. Contract:
 * memory is bounded; after a kill or when its time is up, the next call continues where this one stopped; several
 * processes may do this at the same time.
 */
import { setTimeout } from 'node:timers/promises';
import { TachoError } from '../../lib/errors.ts';
import { jsonIn } from '../../lib/json.ts';
import { createCollecting } from '../../lib/memory.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import { createCatalogue } from '../index/catalogue.ts';
import type { Index } from '../index/index-db.ts';
import { unclosed } from '../index/segment-book.ts';
import { readSession } from '../journal/read.ts';
import { newReport, type SegmentLine, scanSegment, segmentBytes } from '../journal/scan.ts';
import { readSmall } from '../journal/small-segment.ts';
import { deletionsMark, readTombstones } from '../journal/tombstones.ts';
import type { StateDir } from '../state-dir.ts';
import { Batch } from './batch.ts';
import { SEARCH_LIMITS } from './limits.ts';
import { purgeDeleted } from './purge.ts';
import { entryOf } from './row.ts';
import type { SearchDb } from './search-db.ts';

export interface CatchUpOptions {
  /** Stops after this time; the rest is left for the next call. Default: no limit. */
  budget_ms?: number | undefined;
  /** Called after each part, with the bytes of the journal that are read and those that there were to read. */
  progress?: ((done_bytes: number, all_bytes: number) => void) | undefined;
}

export interface CaughtUp {
  /** Whether every event in the journal can be found. */
  complete: boolean;
  /** Bytes of the journal that were read. */
  bytes: number;
}

interface Unread {
  segment: string;
  from: number;
  to: number;
}

/** Closed segments are compared by their sum, and deletions by a mark: most of the time nothing has changed. */
const CLOSED = `SELECT count(*) || ':' || total(bytes) AS mark FROM store.segments WHERE packed IS NOT NULL`;
const SEEN = 'SELECT closed FROM seen';
const SAVE_SEEN = 'INSERT OR REPLACE INTO seen (id, closed) VALUES (1, ?)';
const UNREAD_CLOSED = `SELECT segment, store.segments.bytes AS bytes, ifnull(known.bytes, 0) AS known
  FROM store.segments LEFT JOIN main.segments AS known USING (segment)
  WHERE packed IS NOT NULL AND ifnull(known.bytes, 0) < store.segments.bytes ORDER BY segment`;
const KNOWN_BYTES = 'SELECT bytes FROM main.segments WHERE segment = ?';
const FORGET_GONE = `DELETE FROM main.segments WHERE segment NOT IN (SELECT segment FROM store.segments)
  AND segment NOT IN (SELECT value FROM json_each(?))`;
const RESET = 'UPDATE main.segments SET bytes = 0 WHERE segment = ?';
const LATE = 'SELECT run_id FROM main.runs WHERE late';

export async function catchUpSearch(
  state: StateDir,
  index: Index,
  db: SearchDb,
  options: CatchUpOptions = {},
): Promise<CaughtUp> {
  const work = new CatchingUp(state, index, db, options);
  for (;;) {
    try {
      return await work.run();
    } catch (error) {
      // Another process is doing the same work.
      if (!(error instanceof TachoError) || error.code !== 'busy') throw error;
      if (!(await work.mayWait())) return { complete: false, bytes: work.bytes };
    }
  }
}

const WAIT_MS = 50;

class CatchingUp {
  bytes = 0;
  readonly #state: StateDir;
  readonly #index: Index;
  readonly #db: SearchDb;
  readonly #options: CatchUpOptions;
  readonly #end_ms: number;
  readonly #collect = createCollecting(SEARCH_LIMITS.collect_chars);
  #waited_ms = 0;
  #all = 0;
  #batch: Batch;
  #deleted: ReadonlySet<string> = new Set();

  constructor(state: StateDir, index: Index, db: SearchDb, options: CatchUpOptions) {
    this.#state = state;
    this.#index = index;
    this.#db = db;
    this.#options = options;
    this.#end_ms = performance.now() + (options.budget_ms ?? Number.POSITIVE_INFINITY);
    this.#batch = new Batch(db, this.#deleted);
  }

  async run(): Promise<CaughtUp> {
    const { read, write } = this.#db;
    const closed = read((prepared) => prepared.get(CLOSED))?.mark;
    const mark = `${closed} ${deletionsMark(this.#state)}`;
    const changed = read((prepared) => prepared.get(SEEN))?.closed !== mark;
    if (changed) await this.#purge();
    const open = unclosed(this.#state.journal, this.#index.book);
    const unread = [...(changed ? this.#closed() : []), ...this.#open(open)];
    if (unread.length > 0) this.#deleted = readTombstones(this.#state);
    this.#batch = new Batch(this.#db, this.#deleted);
    this.#all = this.bytes + unread.reduce((sum, { from, to }) => sum + to - from, 0);
    const complete = (await this.#segments(unread)) && (await this.#lateRuns());
    this.#save();
    if (!complete) return { complete, bytes: this.bytes };
    if (changed)
      write((prepared) => {
        prepared.run(SAVE_SEEN, mark);
        prepared.run(FORGET_GONE, JSON.stringify(open));
      });
    return { complete: true, bytes: this.bytes };
  }

  async #purge(): Promise<void> {
    const deleted = readTombstones(this.#state);
    await purgeDeleted(this.#state, this.#index, this.#db, deleted);
  }

  /** Waits a moment, at most for the time that a search may wait. */
  async mayWait(): Promise<boolean> {
    this.#waited_ms += WAIT_MS;
    if (this.#waited_ms > SEARCH_LIMITS.wait_ms || this.#isOver) return false;
    await setTimeout(WAIT_MS);
    return true;
  }

  get #isOver(): boolean {
    return performance.now() >= this.#end_ms;
  }

  #closed(): Unread[] {
    const rows = this.#db.read((prepared) => prepared.all(UNREAD_CLOSED));
    return rows.map(({ segment, bytes, known }) => ({
      ...{ segment: String(segment), from: Number(known), to: Number(bytes) },
    }));
  }

  #open(segments: readonly string[]): Unread[] {
    return segments.flatMap((segment) => {
      const row = this.#db.read((prepared) => prepared.get(KNOWN_BYTES, segment));
      const known = Number(row?.bytes ?? 0);
      const to = segmentBytes(this.#state.journal, segment);
      if (to === known) return [];
      // A different file: its lines are read again, and indexed ones are skipped.
      if (to < known) this.#db.write((prepared) => prepared.run(RESET, segment));
      return [{ segment, from: to < known ? 0 : known, to }];
    });
  }

  /** Returns whether all of them were read. */
  async #segments(unread: readonly Unread[]): Promise<boolean> {
    for (const [at, one] of unread.entries()) {
      if (!(await this.#segment(one))) return false;
      if (this.#isOver && at < unread.length - 1) return false;
    }
    return true;
  }

  /** Returns whether it was read to its end. */
  async #segment({ segment, from }: Unread): Promise<boolean> {
    const { journal } = this.#state;
    const options = { from, report: newReport() };
    let at = from;
    const take = (line: SegmentLine) => {
      if (line.source === CAPTURE_SOURCE) this.#batch.take(line, segment);
    };
    const reached = (to: number) => {
      this.#batch.covered(segment, at, to);
      this.bytes += to - at;
      at = to;
    };
    const end = readSmall(journal, segment, options, take);
    if (end !== null) {
      reached(end);
      if (this.#batch.full) this.#save();
      return true;
    }
    for await (const lines of scanSegment(journal, segment, options)) {
      for (const line of lines) {
        take(line);
        if (!this.#batch.full) continue;
        reached(line.next);
        this.#save();
        if (this.#isOver) return false;
      }
      reached(lines.at(-1)?.next ?? at);
    }
    return true;
  }

  /** Runs with entries in another order than their numbers: a rewritten segment has a later name. */
  async #lateRuns(): Promise<boolean> {
    this.#save();
    const late = this.#db.read((prepared) => prepared.all(LATE)).map((row) => String(row.run_id));
    if (late.length === 0) return true;
    const catalogue = createCatalogue(this.#state.journal, this.#index);
    await catalogue.refresh(newReport());
    for (const run_id of late) {
      const run = this.#batch.reread(run_id);
      if (run === null) continue;
      for await (const entry of readSession(this.#state.journal, run_id, { catalogue })) {
        const { seq, source, segment, offset } = entry;
        if (source !== CAPTURE_SOURCE || seq <= run.last_seq) continue;
        this.#batch.put(run, { seq, segment, offset }, entryOf(jsonIn(entry.body)));
      }
      this.#save();
      if (this.#isOver && run_id !== late.at(-1)) return false;
    }
    return true;
  }

  #save(): void {
    const batch = this.#batch;
    this.#batch = new Batch(this.#db, this.#deleted);
    if (batch.empty) return;
    batch.save();
    this.#collect(batch.chars);
    this.#options.progress?.(this.bytes, this.#all);
  }
}
