/** What is known of the places of entries, whoever keeps it. */
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

/** What the index knows of the journal. It may know less than there is, never more. */
export interface PositionIndex {
  getPositions(session: string): Position[];
  /** How many bytes of a segment the positions cover. */
  coveredBytes(segment: string): number;
  cover(segment: string, bytes: number, positions: readonly Position[]): void;
  /** The same of many segments at once. */
  coverAll(covers: readonly Cover[]): void;
  forgetSegment(segment: string): void;
  /** Which segments need no look. */
  readonly book: SegmentBook;
  /** Another value than before: it was lost, and knows nothing of what it knew. */
  readonly moved_to?: string | null;
}

/** What a writer knows of a segment it has left. */
export interface Cover {
  segment: string;
  bytes: number;
  positions: readonly Position[];
}
