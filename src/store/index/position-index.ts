/** The interface to the known positions of entries, independent of the storage. */
import type { SegmentBook } from './segment-book.ts';

/** Entries `first_seq` to `last_seq` of a source without a gap, in ascending order, from `offset` on. */
export interface Position {
  session: string;
  source: string;
  segment: string;
  offset: number;
  first_seq: number;
  last_seq: number;
}

/** The index's knowledge of the journal. It may be incomplete, but never exceeds the journal. */
export interface PositionIndex {
  getPositions(session: string): Position[];
  /** How many bytes of a segment the positions cover. */
  coveredBytes(segment: string): number;
  cover(segment: string, bytes: number, positions: readonly Position[]): void;
  /** The same for many segments together. */
  coverAll(covers: readonly Cover[]): void;
  forgetSegment(segment: string): void;
  /** The segments that need no check. */
  readonly book: SegmentBook;
  /** A changed value means that the index was lost and knows nothing any more. */
  readonly moved_to?: string | null;
}

/** A writer's knowledge of a segment it has finished. */
export interface Cover {
  segment: string;
  bytes: number;
  positions: readonly Position[];
}
