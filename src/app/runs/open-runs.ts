/**
 * Rebuilds runs in parallel as the journal returns their entries. Contract: memory is bounded. A run with entries out
 * of order, or one that does not fit, is left for later. A finished run is returned immediately.
 */
import { TachoError } from '../../lib/errors.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { createSift } from '../../store/journal/read.ts';
import { newReport, type SegmentLine } from '../../store/journal/scan.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { Rebuilt } from './rebuilt.ts';

/** The minimum memory of a run, however short it is. */
const RUN_BYTES = 16 * 1024;
/** A transcript keeps its texts, with up to two spill buffers in memory. An outcome keeps little of each entry. */
const CONTENT_BYTES_MAX = 2 * APP_LIMITS.spill_memory_bytes;
const OUTCOME_SHARE = 1 / 16;

const SOURCES: ReadonlySet<string> = new Set([CAPTURE_SOURCE, CLOSING_SOURCE]);

interface OpenRun {
  run: Rebuilt;
  sift: ReturnType<typeof createSift>;
  /** Bytes of its entries so far, and its accounted memory. */
  bytes: number;
  held: number;
  /** The segment that it was last found in. */
  segment: string;
}

interface Handlers {
  /** Runs that were returned. */
  given: ReadonlySet<string>;
  /** Whether a run may begin with this line, the first one seen of it. Otherwise it is left for later. */
  begins: (line: SegmentLine) => boolean;
  /** `grew_to`: as in `Rebuilt`. */
  ended: (run: MeasuredRun, grew_to: number | null) => void;
  /** Called for entries that are not events, possibly repeatedly for the same run. */
  foreign: (run_id: string) => void;
  /** Called with the bytes of every entry that was read. */
  read: (bytes: number) => void;
}

export class OpenRuns {
  /** Runs that have to be read separately. An ended run may be among them, if it has further entries. */
  readonly late = new Set<string>();
  readonly #state: StateDir;
  readonly #on: Handlers;
  readonly #open = new Map<string, OpenRun>();
  /** Runs with entries that cannot be folded. */
  readonly #spoilt = new Set<string>();
  #held = 0;

  constructor(state: StateDir, on: Handlers) {
    this.#state = state;
    this.#on = on;
  }

  has(run_id: string): boolean {
    return this.#open.has(run_id) || this.#on.given.has(run_id);
  }

  take(line: SegmentLine, segment: string): void {
    const { session } = line;
    if (!SOURCES.has(line.source) || this.late.has(session) || this.#spoilt.has(session)) return;
    const open = this.#open.get(session) ?? this.#begin(line, segment);
    if (open === null) return;
    open.segment = segment;
    try {
      this.#push(open, line);
    } catch (error) {
      // The disk failed. Any other error is caused by foreign entries and concerns only this run.
      if (error instanceof TachoError) throw error;
      this.#drop(session, this.#spoilt);
      this.#on.foreign(session);
    }
  }

  #begin(line: SegmentLine, segment: string): OpenRun | null {
    const { session } = line;
    const begins = line.source === CAPTURE_SOURCE && this.#on.begins(line);
    if (this.#on.given.has(session) || !begins) {
      this.late.add(session);
      return null;
    }
    const run = new Rebuilt(this.#state, session);
    const made = { run, sift: createSift(newReport()), bytes: 0, held: 0, segment };
    this.#open.set(session, made);
    return made;
  }

  #push(open: OpenRun, line: SegmentLine): void {
    const { session, seq, bytes, start, end } = line;
    const source = open.sift(line);
    // A second content, or an entry that follows later ones.
    if (source !== null && !SOURCES.has(source)) this.#drop(session, this.late);
    if (source === null || !SOURCES.has(source)) return;
    const { run } = open;
    const entry = { seq, body: bytes.toString('utf8', start, end) };
    if (source === CLOSING_SOURCE) run.pushClosing(entry);
    else run.push(entry);
    this.#on.read(end - start);
    if (run.ended) this.#end(session, open);
    else this.#count(open, end - start);
  }

  #end(session: string, { run }: OpenRun): void {
    const { grew_to } = run;
    const measured = run.finish();
    if (run.foreign > 0) this.#on.foreign(session);
    this.#drop(session);
    if (measured !== null) this.#on.ended(measured, grew_to);
  }

  #count(open: OpenRun, bytes: number): void {
    open.bytes += bytes;
    const kept = open.run.holds_content ? open.bytes : open.bytes * OUTCOME_SHARE;
    const held = RUN_BYTES + Math.min(kept, CONTENT_BYTES_MAX);
    this.#held += held - open.held;
    open.held = held;
    // The oldest: its recorder was killed, or it is a long run.
    for (const session of this.#open.keys()) {
      if (this.#held <= APP_LIMITS.rebuild_bytes_max || this.#open.size === 1) return;
      this.#drop(session, this.late);
    }
  }

  #drop(session: string, to?: Set<string>): void {
    const open = this.#open.get(session);
    this.#held -= open?.held ?? 0;
    open?.run[Symbol.dispose]();
    this.#open.delete(session);
    to?.add(session);
  }

  /** Runs without an end so far, and where each was last found. */
  *finish(): Generator<{ run_id: string; segment: string; begun: boolean }, void> {
    for (const [run_id, { run, segment }] of this.#open) {
      if (run.foreign > 0) this.#on.foreign(run_id);
      yield { run_id, segment, begun: run.begun };
    }
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const { run } of this.#open.values()) run[Symbol.dispose]();
    this.#open.clear();
  }
}
