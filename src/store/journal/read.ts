/** Reads the journal: one session in order, or everything from a cursor on. Invalid content is counted, never thrown. */
import { LIMITS } from '../../lib/limits.ts';
import {
  type Catalogue,
  CONFLICT,
  catalogueOf,
  createCatalogue,
  order,
  sessionLines,
} from '../index/catalogue.ts';
import type { Position, PositionIndex } from '../index/position-index.ts';
import { listSegments, newReport, type ReadReport, type SegmentLine, scanSegment } from './scan.ts';
import { Checksums } from './state.ts';

export type { ReadReport } from './scan.ts';

export interface StoredEntry {
  session: string;
  source: string;
  seq: number;
  /** The appended text, byte for byte. */
  body: string;
  segment: string;
  offset: number;
  /** Where the next entry of the segment begins; stored in cursors. */
  next: number;
}

/** How far each segment has been read. Several are written concurrently, so one position is not enough. */
export type Cursor = Readonly<Record<string, number>>;

export interface JournalRead extends AsyncIterable<StoredEntry> {
  /** Complete once reading has finished. */
  readonly report: ReadReport;
}

export function storedEntry(segment: string, line: SegmentLine, source: string): StoredEntry {
  return {
    session: line.session,
    source,
    seq: line.seq,
    body: line.bytes.toString('utf8', line.start, line.end),
    segment,
    offset: line.offset,
    next: line.next,
  };
}

export interface SessionOptions {
  index?: PositionIndex;
  /** A refreshed catalogue, for callers that read many sessions: the segments are not checked again. */
  catalogue?: Catalogue;
  /** Reads to the end of each segment and counts damage there, which may belong to this session. */
  to_end?: boolean;
}

/**
 * One session's entries, each once; the entries of a source in the order of their numbers. An entry that differs from an
 * earlier one with the same number has the source `conflict:<source>`. Reads from the first to the last of them.
 */
export function readSession(
  dir: string,
  session: string,
  options: SessionOptions = {},
): JournalRead {
  const report = newReport();
  const all = { ...options, report };
  return { report, [Symbol.asyncIterator]: () => walkSession(dir, session, all, storedEntry) };
}

/** The same, converted by `give`. `source` is the source that the line is attributed to. */
export async function* walkSession<T>(
  dir: string,
  session: string,
  options: SessionOptions & { report: ReadReport },
  give: (segment: string, line: SegmentLine, source: string) => T,
): AsyncGenerator<T> {
  const { report } = options;
  const catalogue = options.catalogue ?? (await freshCatalogue(dir, options.index));
  const sift = createSift(report);
  const seen = new Set<string>();
  const { groups, in_order } = plan(catalogue.positions(session));
  for (const positions of groups) {
    const only = positions.length === 1 ? positions[0] : undefined;
    const { segment } = positions[0] as Position;
    // The first read of a segment counts its damage: to the end, if others would begin earlier.
    const first = !seen.has(segment);
    seen.add(segment);
    const to_end = options.to_end === true || (first && !in_order);
    const look = { report: first ? report : newReport(), to_end };
    for await (const line of sessionLines(dir, positions, look)) {
      if (only !== undefined && !within(only, line)) continue;
      const source = sift(line);
      if (source === null) continue;
      report.entries += 1;
      yield give(segment, line, source);
    }
  }
}

async function freshCatalogue(dir: string, index?: PositionIndex): Promise<Catalogue> {
  const catalogue = index === undefined ? createCatalogue(dir) : catalogueOf(dir, index);
  // Damage is counted once, by the actual reading.
  await catalogue.refresh(newReport());
  return catalogue;
}

function within(range: Position, line: SegmentLine): boolean {
  if (line.source !== range.source || line.offset < range.offset) return false;
  if (range.source.startsWith(CONFLICT)) return true;
  return line.seq >= range.first_seq && line.seq <= range.last_seq;
}

/** Groups ranges to read together: all of a segment if the journal's order is right, otherwise one by one. */
function plan(positions: readonly Position[]): { groups: Position[][]; in_order: boolean } {
  if (inOrder(positions)) {
    const by_segment = Map.groupBy(positions, (position) => position.segment);
    return { groups: [...by_segment.values()], in_order: true };
  }
  const groups = [...positions]
    .sort((a, b) => order(a.source, b.source) || a.first_seq - b.first_seq)
    .map((position) => [position]);
  return { groups, in_order: false };
}

/** Whether the journal has a session's entries in the order of their numbers, and conflicts after their originals. */
export function inOrder(positions: readonly Position[]): boolean {
  const begun = new Map<string, number>();
  const reached = new Map<string, number>();
  return positions.every(({ source, first_seq, last_seq }) => {
    if (source.startsWith(CONFLICT))
      return last_seq <= (reached.get(source.slice(CONFLICT.length)) ?? 0);
    const before = begun.get(source) ?? 0;
    begun.set(source, first_seq);
    reached.set(source, Math.max(last_seq, reached.get(source) ?? 0));
    return first_seq >= before;
  });
}

/** Returns the source that an entry of a session is attributed to. Null for a duplicate. */
export function createSift(
  report: ReadReport,
): (line: Pick<SegmentLine, 'source' | 'seq' | 'crc'>) => string | null {
  const sources = new Map<string, { crcs: Checksums; last: number }>();
  const seen = new Set<string>();

  function siftConflict(source: string, seq: number, crc: number): string | null {
    const key = `${source}\n${seq}\n${crc}`;
    if (seen.has(key)) {
      report.duplicates += 1;
      return null;
    }
    seen.add(key);
    report.conflicts += 1;
    return source;
  }

  return ({ source, seq, crc }) => {
    // No journal stores such a number: another program wrote it.
    if (seq > LIMITS.session_events_max) return null;
    if (source.startsWith(CONFLICT)) return siftConflict(source, seq, crc);
    let known = sources.get(source);
    if (known === undefined) {
      known = { crcs: new Checksums(), last: 0 };
      sources.set(source, known);
    }
    if (seq <= known.last) {
      if (!known.crcs.is(seq, crc)) return siftConflict(CONFLICT + source, seq, crc);
      report.duplicates += 1;
      return null;
    }
    known.crcs.set(seq, crc);
    known.last = seq;
    return source;
  };
}

/** Every line of the journal from a cursor on, segment by segment. A line that was written twice is returned twice. */
export function readAll(dir: string, cursor: Cursor = {}): JournalRead {
  const report = newReport();
  return { report, [Symbol.asyncIterator]: () => walkAll(dir, cursor, report) };
}

async function* walkAll(
  dir: string,
  cursor: Cursor,
  report: ReadReport,
): AsyncGenerator<StoredEntry> {
  for (const segment of listSegments(dir)) {
    const from = cursor[segment] ?? 0;
    for await (const lines of scanSegment(dir, segment, { from, report })) {
      for (const line of lines) {
        report.entries += 1;
        yield storedEntry(segment, line, line.source);
      }
    }
  }
}
