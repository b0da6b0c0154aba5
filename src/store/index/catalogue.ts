/** Finds the segments with a session's entries: from the index as far as it reaches, then from the segments. */
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../../lib/limits.ts';
import { eachLine, type ReadReport, type SegmentLine, scanSegment } from '../journal/scan.ts';
import { readSmall } from '../journal/small-segment.ts';
import { memoryIndex } from './memory-index.ts';
import type { Cover, Position, PositionIndex } from './position-index.ts';
import { type FoundSegment, watchSegments } from './watch-segments.ts';

type SeeLine = (line: SegmentLine, segment: string) => void;

export type Catalogue = ReturnType<typeof createCatalogue>;

/** Entries with these sources are alternatives to their original: several may have the same number. */
export const CONFLICT = 'conflict:';

export type Ranges = ReturnType<typeof createRanges>;

/** Combines lines, in the order of the segment, into positions. */
export function createRanges(segment: string) {
  const open = new Map<string, Position>();
  const all: Position[] = [];
  const by_session = new Map<string, Position[]>();

  let last: Position | null = null;

  /** Adds lines with consecutive ascending numbers. */
  function addRun(run: Omit<Position, 'segment'>): void {
    const { session, source, first_seq, last_seq } = run;
    // Most lines follow the previous one.
    if (last?.session === session && last.source === source && first_seq === last.last_seq + 1) {
      last.last_seq = last_seq;
      return;
    }
    const key = `${source}\n${session}`;
    const range = open.get(key);
    if (range !== undefined && (first_seq === range.last_seq + 1 || source.startsWith(CONFLICT))) {
      range.last_seq = Math.max(last_seq, range.last_seq);
      range.first_seq = Math.min(first_seq, range.first_seq);
      last = range;
      return;
    }
    const made = { ...run, segment };
    last = made;
    open.set(key, made);
    all.push(made);
    const own = by_session.get(session);
    if (own === undefined) by_session.set(session, [made]);
    else own.push(made);
  }

  return {
    segment,
    all,
    of: (session: string): readonly Position[] => by_session.get(session) ?? [],
    addRun,
    add(session: string, source: string, seq: number, offset: number): void {
      addRun({ session, source, offset, first_seq: seq, last_seq: seq });
    },
  };
}

/** `inHand`: the segment that the caller is writing, known from memory, or null. */
export function createCatalogue(
  dir: string,
  index: PositionIndex = memoryIndex(),
  inHand: () => Ranges | null = () => null,
) {
  const segments = watchSegments(dir, index.book);
  let moved_to = index.moved_to;
  /** Ranges that a refresh has found but not saved yet. */
  const learned = new Set<Ranges>();
  /** Reads a segment from an offset. Null if there is nothing new. */
  async function learn(
    segment: string,
    from: number,
    report: ReadReport,
    see: SeeLine,
  ): Promise<Cover | null> {
    const ranges = createRanges(segment);
    learned.add(ranges);
    const take = (line: SegmentLine) => {
      ranges.add(line.session, line.source, line.seq, line.offset);
      see(line, segment);
    };
    const options = { from, report };
    const end =
      readSmall(dir, segment, options, take) ?? (await eachLine(dir, segment, options, take));
    return end > from ? { segment, bytes: end, positions: ranges.all } : null;
  }
  function ofSession(session: string): Position[] {
    const own = inHand();
    const unsaved = own === null ? [...learned] : [...learned, own];
    return [...index.getPositions(session), ...unsaved.flatMap((ranges) => ranges.of(session))];
  }
  return {
    /**
     * Reads entries added since the last refresh by any process; `see` receives each line. Returns the segments that
     * cannot be read to their end.
     */
    async refresh(report: ReadReport, see: SeeLine = () => undefined): Promise<string[]> {
      if (index.moved_to !== moved_to) segments.forget();
      moved_to = index.moved_to;
      const unread: string[] = [];
      const batch = createBatch((covers, found) => {
        if (covers.length > 0) index.coverAll(covers);
        for (const one of found) segments.seen(one);
        learned.clear();
      });
      for (const found of segments.changed(inHand()?.segment)) {
        const { segment, bytes } = found;
        const known = index.coveredBytes(segment);
        // Shorter than before: a different file, or a truncated one. Everything known about it is invalid.
        if (bytes < known) index.forgetSegment(segment);
        const from = bytes < known ? 0 : known;
        const before = report.unreadable;
        const cover = bytes > from ? await learn(segment, from, report, see) : null;
        const whole = report.unreadable === before;
        if (!whole) unread.push(segment);
        // Yields to the event loop: small segments are read without waiting.
        if (batch.add(cover, whole ? found : null)) await setImmediate();
      }
      batch.flush();
      return unread;
    },
    positions: (session: string) => joined(ofSession(session)),
  };
}

/** Many small segments are saved together: one save costs as much as reading several of them. */
const BATCH_SEGMENTS = 256;
const BATCH_POSITIONS = 4096;

function createBatch(save: (covers: readonly Cover[], found: readonly FoundSegment[]) => void) {
  let covers: Cover[] = [];
  let found: FoundSegment[] = [];
  let positions = 0;
  function flush(): void {
    save(covers, found);
    covers = [];
    found = [];
    positions = 0;
  }
  return {
    flush,
    /** Returns whether it was saved. */
    add(cover: Cover | null, seen: FoundSegment | null): boolean {
      if (cover !== null) covers.push(cover);
      if (seen !== null) found.push(seen);
      positions += cover?.positions.length ?? 0;
      const full = covers.length >= BATCH_SEGMENTS || positions >= BATCH_POSITIONS;
      if (full) flush();
      return full;
    },
  };
}

const catalogues = new WeakMap<PositionIndex, Map<string, Catalogue>>();

/** One catalogue for all readers of an index: reading many sessions one after the other costs one scan of the segments. */
export function catalogueOf(dir: string, index: PositionIndex): Catalogue {
  const by_dir = catalogues.get(index) ?? new Map<string, Catalogue>();
  catalogues.set(index, by_dir);
  const known = by_dir.get(dir) ?? createCatalogue(dir, index);
  by_dir.set(dir, known);
  return known;
}

/** In journal order. Adjacent or overlapping ranges of a segment are merged. */
function joined(positions: readonly Position[]): Position[] {
  const sorted = [...positions].sort(
    (a, b) => order(a.source, b.source) || order(a.segment, b.segment) || a.offset - b.offset,
  );
  const result: Position[] = [];
  for (const position of sorted) {
    const previous = result.at(-1);
    if (
      previous !== undefined &&
      previous.source === position.source &&
      previous.segment === position.segment &&
      position.first_seq >= previous.first_seq &&
      position.first_seq <= previous.last_seq + 1
    ) {
      previous.last_seq = Math.max(previous.last_seq, position.last_seq);
    } else if (position.last_seq <= LIMITS.session_events_max) {
      result.push({ ...position });
    }
  }
  return result.sort((a, b) => order(a.segment, b.segment) || a.offset - b.offset);
}

export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The smallest offset among at least one position. */
export const firstOffset = (positions: readonly Position[]) =>
  positions.reduce((least, { offset }) => Math.min(least, offset), Number.POSITIVE_INFINITY);

/** The lines of one session's sources in a segment, from the first position to the last, or to the end. */
export async function* sessionLines(
  dir: string,
  positions: readonly Position[],
  options: { report: ReadReport; to_end: boolean },
): AsyncGenerator<SegmentLine> {
  const { session, segment } = positions[0] as Position;
  const from = firstOffset(positions);
  const sources = new Set(positions.map((position) => position.source));
  // The number of conflicts is unknown: if there is one, the segment is read to its end.
  const to_end =
    options.to_end || positions.some((position) => position.source.startsWith(CONFLICT));
  const open = Map.groupBy(positions, ({ source, last_seq }) => `${last_seq}\n${source}`);
  for await (const lines of scanSegment(dir, segment, { from, report: options.report })) {
    for (const line of lines) {
      if (line.session !== session || !sources.has(line.source)) continue;
      yield line;
      const ends = open.get(`${line.seq}\n${line.source}`);
      if (ends === undefined) continue;
      const at = ends.findIndex(({ offset }) => offset <= line.offset);
      if (at >= 0) ends.splice(at, 1);
      if (ends.length === 0) open.delete(`${line.seq}\n${line.source}`);
    }
    if (open.size === 0 && !to_end) return;
  }
}
