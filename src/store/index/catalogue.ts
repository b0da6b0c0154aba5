/** Which segments hold a session's entries: from the index where there is one, and from the segments beyond it. */
import { LIMITS } from '../../lib/limits.ts';
import { eachLine, type ReadReport, type SegmentLine, scanSegment } from '../journal/scan.ts';
import { watchSegments } from './watch-segments.ts';

/** Entries `first_seq` to `last_seq` of a source without a gap, in ascending order, from `offset` on. */
export interface Position {
  session: string;
  source: string;
  segment: string;
  offset: number;
  first_seq: number;
  last_seq: number;
}

/** What the index knows of the journal. It may know less than there is, never more. */
export interface PositionIndex {
  getPositions(session: string): Position[];
  /** How many bytes of each segment the positions cover. */
  covered(): Map<string, number>;
  cover(segment: string, bytes: number, positions: readonly Position[]): void;
  forgetSegment(segment: string): void;
  /** Another value than before: it was lost, and knows nothing of what it knew. */
  readonly moved_to?: string | null;
}

/** What a writer knows of a segment it has left. */
export interface Cover {
  segment: string;
  bytes: number;
  positions: readonly Position[];
}

/** For a writer that looks nothing up: collects what it wrote, for the index to learn later. */
export function coversOnly(covers: Cover[]): PositionIndex {
  return {
    getPositions: () => [],
    covered: () => new Map(),
    cover: (segment, bytes, positions) => void covers.push({ segment, bytes, positions }),
    forgetSegment: () => {},
  };
}

type SeeLine = (line: SegmentLine, segment: string) => void;

export type Catalogue = ReturnType<typeof createCatalogue>;

/** Entries with these sources stand beside their original: several may have the same number. */
export const CONFLICT = 'conflict:';

export type Ranges = ReturnType<typeof createRanges>;

/** Joins lines, in the order of the segment, into positions. */
export function createRanges(segment: string) {
  const open = new Map<string, Position>();
  const all: Position[] = [];
  const by_session = new Map<string, Position[]>();

  /** Lines with ascending numbers, without a gap. */
  function addRun(run: Omit<Position, 'segment'>): void {
    const { session, source, first_seq, last_seq } = run;
    const key = `${source}\n${session}`;
    const range = open.get(key);
    if (range !== undefined && (first_seq === range.last_seq + 1 || source.startsWith(CONFLICT))) {
      range.last_seq = Math.max(last_seq, range.last_seq);
      range.first_seq = Math.min(first_seq, range.first_seq);
      return;
    }
    const made = { ...run, segment };
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

export function memoryIndex(): PositionIndex {
  const sessions = new Map<string, Position[]>();
  const bytes_of = new Map<string, number>();
  return {
    getPositions: (session) => sessions.get(session) ?? [],
    covered: () => bytes_of,
    cover(segment, bytes, positions) {
      bytes_of.set(segment, Math.max(bytes, bytes_of.get(segment) ?? 0));
      for (const position of positions) {
        const list = sessions.get(position.session) ?? [];
        list.push(position);
        sessions.set(position.session, list);
      }
    },
    forgetSegment(segment) {
      bytes_of.delete(segment);
      for (const [session, list] of sessions)
        sessions.set(
          session,
          list.filter((position) => position.segment !== segment),
        );
    },
  };
}

/** `inHand`: the segment that the caller writes, known from memory; null: none. */
export function createCatalogue(
  dir: string,
  index: PositionIndex = memoryIndex(),
  inHand: () => Ranges | null = () => null,
) {
  const segments = watchSegments(dir);
  let moved_to = index.moved_to;
  async function learn(
    segment: string,
    from: number,
    report: ReadReport,
    see: SeeLine,
  ): Promise<void> {
    const ranges = createRanges(segment);
    const end = await eachLine(dir, segment, { from, report }, (line) => {
      ranges.add(line.session, line.source, line.seq, line.offset);
      see(line, segment);
    });
    if (end > from) index.cover(segment, end, ranges.all);
  }
  return {
    /**
     * Learns what was added since, by any process; `see` is given each line of it. Gives the segments that cannot be read
     * to their end.
     */
    async refresh(report: ReadReport, see: SeeLine = () => undefined): Promise<string[]> {
      if (index.moved_to !== moved_to) segments.forget();
      moved_to = index.moved_to;
      const unread: string[] = [];
      let covered: ReadonlyMap<string, number> | null = null;
      for (const { segment, bytes } of segments.changed(inHand()?.segment)) {
        covered ??= index.covered();
        const known = covered.get(segment) ?? 0;
        // Shorter than it was: another file, or one that was cut. Nothing that was known of it holds.
        if (bytes < known) index.forgetSegment(segment);
        const from = bytes < known ? 0 : known;
        const before = report.unreadable;
        if (bytes > from) await learn(segment, from, report, see);
        if (report.unreadable > before) unread.push(segment);
        else segments.seen(segment, bytes);
      }
      return unread;
    },
    positions: (session: string) =>
      joined([...index.getPositions(session), ...(inHand()?.of(session) ?? [])]),
  };
}

const catalogues = new WeakMap<PositionIndex, Map<string, Catalogue>>();

/** One catalogue for all who read with the same index: many sessions one after the other cost one look at the segments. */
export function catalogueOf(dir: string, index: PositionIndex): Catalogue {
  const by_dir = catalogues.get(index) ?? new Map<string, Catalogue>();
  catalogues.set(index, by_dir);
  const known = by_dir.get(dir) ?? createCatalogue(dir, index);
  by_dir.set(dir, known);
  return known;
}

/** In the order of the journal; pieces of one segment that overlap or follow each other there are one. */
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

/** The lines of one session's sources in one segment, from the first that the positions name to the last, or to the end. */
export async function* sessionLines(
  dir: string,
  positions: readonly Position[],
  options: { report: ReadReport; to_end: boolean },
): AsyncGenerator<SegmentLine> {
  const { session, segment } = positions[0] as Position;
  const from = Math.min(...positions.map((position) => position.offset));
  const sources = new Set(positions.map((position) => position.source));
  // How many conflicts there are is not known: with one of them the segment is read to its end.
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
