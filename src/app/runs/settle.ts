/**
 * Adds rows to the index for finished runs of the journal. Contract: a segment counts as settled only once every
 * finished run in it has its row. Segments that the index does not cover are read once, for positions and rows
 * together; runs that it covers, or that were out of order, are read by their positions.
 */
import { TachoError } from '../../lib/errors.ts';
import { createCollecting } from '../../lib/memory.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import { createCatalogue, firstOffset, order } from '../../store/index/catalogue.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { Position } from '../../store/index/position-index.ts';
import { inOrder } from '../../store/journal/read.ts';
import {
  newReport,
  type ReadReport,
  type SegmentLine,
  scanSegment,
} from '../../store/journal/scan.ts';
import { readTombstones, removeRows } from '../../store/journal/tombstones.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { priceAdded } from '../prices/priced.ts';
import { Ledger } from '../sessions/import-ledger.ts';
import { OpenRuns } from './open-runs.ts';
import { rebuildRun } from './rebuilt.ts';

export interface Settled {
  /** Runs that got their row. */
  added: string[];
  /** Runs without an end: their recorder is working, or was killed. */
  unfinished: number;
  /** Runs with entries that are not events. */
  foreign: number;
  /** Segments that could not be read to their end. */
  unread: Set<string>;
  report: ReadReport;
}

/**
 * Adds a row for every finished run in these segments. Under the store lock, or with a private index. `again`: listed
 * runs that are read again.
 */
export async function settle(
  state: StateDir,
  index: Index,
  segments: ReadonlyMap<string, number>,
  again: Iterable<string> = [],
): Promise<Settled> {
  const work = new Settling(state, index);
  await work.run(segments, again);
  const { added, unread, report } = work;
  // If a segment is unreadable, the runs that it replaces are unknown.
  if (report.unreadable === 0) replaceImports(state, index, added);
  // Unreadable segments are read again next time.
  const whole = report.unreadable === 0;
  const isSettled = (segment: string, bytes: number) => {
    const covered = index.coveredBytes(segment);
    return whole ? covered > 0 : covered >= bytes && !unread.has(segment);
  };
  index.settle(new Map([...segments].filter(([segment, bytes]) => isSettled(segment, bytes))));
  await priceAdded(index, [...added]);
  const { unfinished, foreign } = work;
  return { added: [...added], unfinished, foreign: foreign.size, unread, report };
}

/** An import that was killed before its row was saved has not replaced the earlier ones of its session. */
function replaceImports(state: StateDir, index: Index, added: Set<string>): void {
  const sessions = index.sessionsOfSeveral([...added]);
  if (sessions.length === 0) return;
  const ledger = new Ledger(state, index);
  for (const { agent, session_id } of sessions)
    for (const run_id of ledger.settle(agent, session_id)) added.delete(run_id);
}

/** A run that is read by its positions. */
interface Placed {
  run_id: string;
  positions: Position[];
}

class Settling {
  readonly report = newReport();
  readonly added = new Set<string>();
  readonly foreign = new Set<string>();
  unread = new Set<string>();
  unfinished = 0;
  readonly #state: StateDir;
  readonly #index: Index;
  readonly #catalogue: ReturnType<typeof createCatalogue>;
  readonly #read = createCollecting(APP_LIMITS.rebuild_collect_bytes);
  #batch: MeasuredRun[] = [];
  readonly #grown = new Map<string, number>();
  #batch_calls = 0;

  constructor(state: StateDir, index: Index) {
    this.#state = state;
    this.#index = index;
    this.#catalogue = createCatalogue(state.journal, index);
  }

  async run(segments: ReadonlyMap<string, number>, again: Iterable<string>): Promise<void> {
    this.#finishDeleted();
    const deleted = readTombstones(this.#state);
    const fresh = this.#index.runIds(1).length === 0;
    /** As of the first encounter with the session: rows added now change nothing. */
    const listed = new Map<string, boolean>();
    const isNew = (session: string) => {
      if (fresh) return !deleted.has(session);
      const known = listed.get(session) ?? (deleted.has(session) || this.#index.hasRun(session));
      listed.set(session, known);
      return !known;
    };
    const late = new Set<string>(again);
    const hasGrown = this.#growth(isNew);
    const covered = this.#index.coversNothing() ? [] : segments.keys();
    for (const segment of covered)
      for (const session of this.#index.sessionsIn(segment))
        if (isNew(session) || hasGrown(session, this.#lastEvent(session))) late.add(session);
    for (const session of await this.#readNew(segments, isNew, hasGrown)) late.add(session);
    for await (const session of this.#readPlaced(late)) await this.#readAlone(session);
    this.#flush();
  }

  /** Whether a listed run has more events than its row covers: its writer was killed before it saved the row. */
  #growth(isNew: (session: string) => boolean) {
    const covered = new Map<string, number>();
    return (session: string, seq: number): boolean => {
      if (isNew(session)) return false;
      const known = covered.get(session) ?? this.#index.grownTo(session) ?? Number.MAX_VALUE;
      covered.set(session, known);
      return seq > known;
    };
  }

  #lastEvent(session: string): number {
    const captured = this.#catalogue
      .positions(session)
      .filter((one) => one.source === CAPTURE_SOURCE);
    return Math.max(0, ...captured.map(({ last_seq }) => last_seq));
  }

  /** Removes the rows of deleted runs, left by a killed command. */
  #finishDeleted(): void {
    const listed = this.#index.listedOf([...readTombstones(this.#state)]);
    if (listed.length === 0) return;
    // The list again: a run restored meanwhile has its row and is no longer recorded as deleted.
    const deleted = readTombstones(this.#state);
    const gone = listed.filter((run_id) => deleted.has(run_id));
    removeRows(this.#state, this.#index, gone);
  }

  /** Reads segments that the index does not cover. Returns the runs that have to be read by their positions. */
  async #readNew(
    segments: ReadonlyMap<string, number>,
    isNew: (session: string) => boolean,
    hasGrown: (session: string, seq: number) => boolean,
  ): Promise<Set<string>> {
    const grown = new Set<string>();
    const fresh = this.#index.coversNothing();
    // Of a run with earlier entries, only the rest would be seen.
    const begins = ({ session, seq }: { session: string; seq: number }) =>
      seq === 1 && (fresh || this.#catalogue.positions(session).length === 0);
    using runs = this.#newRuns(begins);
    const unread = await this.#catalogue.refresh(this.report, (line, segment) => {
      const { session, source, seq } = line;
      if (isNew(session) && (segments.has(segment) || runs.has(session))) runs.take(line, segment);
      else if (source === CAPTURE_SOURCE && hasGrown(session, seq)) grown.add(session);
    });
    for (const segment of unread) this.unread.add(segment);
    this.#end(runs);
    return runs.late.union(grown);
  }

  /** Reads runs by their positions, neighbours together. Returns those that have to be read one by one. */
  async *#readPlaced(late: ReadonlySet<string>): AsyncGenerator<string> {
    this.#takeBack(late);
    const places: { run_id: string; segment: string; offset: number }[] = [];
    for (const run_id of late) {
      const positions = this.#catalogue.positions(run_id);
      const [first] = positions;
      if (first === undefined || !inOrder(positions)) yield run_id;
      else places.push({ run_id, segment: first.segment, offset: first.offset });
    }
    places.sort((a, b) => order(a.segment, b.segment) || a.offset - b.offset);
    for (let at = 0; at < places.length; at += APP_LIMITS.rebuild_runs_together) {
      const some = places.slice(at, at + APP_LIMITS.rebuild_runs_together);
      yield* await this.#readTogether(
        some.map(({ run_id }) => ({ run_id, positions: this.#catalogue.positions(run_id) })),
      );
    }
  }

  async #readTogether(placed: readonly Placed[]): Promise<Set<string>> {
    const wanted = new Set(placed.map(({ run_id }) => run_id));
    using runs = this.#newRuns(() => true);
    const segments = Map.groupBy(
      placed.flatMap(({ positions }) => positions),
      (position) => position.segment,
    );
    for (const segment of [...segments.keys()].sort()) {
      const positions = segments.get(segment) as Position[];
      const last = new Map<string, number>();
      for (const { session, source, last_seq } of positions)
        last.set(
          `${source}\n${session}`,
          Math.max(last_seq, last.get(`${source}\n${session}`) ?? 0),
        );
      const from = firstOffset(positions);
      const report = newReport();
      for await (const lines of scanSegment(this.#state.journal, segment, { from, report })) {
        for (const line of lines) {
          if (!wanted.has(line.session)) continue;
          runs.take(line, segment);
          const key = `${line.source}\n${line.session}`;
          if (last.get(key) === line.seq) last.delete(key);
        }
        if (last.size === 0) break;
      }
      if (report.unreadable > 0) this.#couldNotRead(positions);
    }
    this.#end(runs);
    return runs.late;
  }

  async #readAlone(run_id: string): Promise<void> {
    this.#takeBack([run_id]);
    try {
      const run = await rebuildRun(this.#state, this.#index, run_id);
      if (run.foreign > 0) this.foreign.add(run_id);
      if (run.measured !== null) this.#save(run.measured, run.grew_to);
      else if (run.report.unreadable > 0) this.#couldNotRead(this.#catalogue.positions(run_id));
      else if (run.begun) this.unfinished += 1;
    } catch (error) {
      // The disk or the index failed. Any other error is caused by foreign entries and concerns only this run.
      if (error instanceof TachoError) throw error;
      this.foreign.add(run_id);
    }
  }

  #newRuns(begins: (line: SegmentLine) => boolean): OpenRuns {
    return new OpenRuns(this.#state, {
      given: this.added,
      begins,
      ended: (run, grew_to) => this.#save(run, grew_to),
      foreign: (run_id) => this.foreign.add(run_id),
      read: this.#read,
    });
  }

  /** Runs that are still open have no end, unless it is in an unreadable part. */
  #end(runs: OpenRuns): void {
    for (const { segment, begun } of runs.finish())
      if (begun && !this.unread.has(segment)) this.unfinished += 1;
  }

  #couldNotRead(positions: readonly Position[]): void {
    const segments = new Set(positions.map(({ segment }) => segment));
    // If it failed before, the run is known.
    if (!segments.isDisjointFrom(this.unread)) return;
    for (const segment of segments) this.unread.add(segment);
    this.report.unreadable += segments.size;
  }

  #save(run: MeasuredRun, grew_to: number | null): void {
    const { outcome } = run;
    this.added.add(outcome.run_id);
    if (grew_to !== null) this.#grown.set(outcome.run_id, grew_to);
    this.#batch.push(run);
    this.#batch_calls += outcome.tool_calls.length;
    const { rebuild_flush_runs, rebuild_flush_calls } = APP_LIMITS;
    if (this.#batch.length >= rebuild_flush_runs || this.#batch_calls >= rebuild_flush_calls)
      this.#flush();
  }

  #flush(): void {
    this.#index.saveRuns(this.#batch, [], this.#grown);
    this.#grown.clear();
    this.#batch = [];
    this.#batch_calls = 0;
  }

  /** Removes rows of runs that turned out to have further entries. */
  #takeBack(run_ids: Iterable<string>): void {
    const wrong = [...run_ids].filter((run_id) => this.added.delete(run_id));
    if (wrong.length === 0) return;
    this.#flush();
    this.#index.deleteRuns(wrong);
  }
}
