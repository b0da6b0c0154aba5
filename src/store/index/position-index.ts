/** The interface to the known positions of entries, independent of the storage. */
import type { SegmentBook } from './segment-book.ts';

/** Consecutive entries `first_seq` to `last_seq` of a source, in ascending order, starting at `offset`. */
export interface Position {
  session: string;
  source: string;
  segment: string;
  offset: number;
  first_seq: number;
  last_seq: number;
}

/** The positions that the index knows. They may be incomplete, but never go beyond the journal. */
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
  /** A changed value means that the index was lost and is empty. */
  readonly moved_to?: string | null;
}

/** The entries of a segment, from the process that wrote and finished it. */
export interface Cover {
  segment: string;
  bytes: number;
  positions: readonly Position[];
}
