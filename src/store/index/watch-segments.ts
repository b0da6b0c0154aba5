/** Detects segments with new entries, for callers that check repeatedly. */
import { join } from 'node:path';
import { segmentBytes } from '../journal/scan.ts';
import { isPacked } from '../journal/segment-file.ts';
import { readHeader } from '../journal/segment-owner.ts';
import { mayLive, thisOwner } from '../owner.ts';
import { closedForm, identityOf, type SegmentBook, unclosed } from './segment-book.ts';

/** Checking whether a writer is alive costs as much as several checks of its segment's size. */
const LOOKS = 16;

export interface FoundSegment {
  segment: string;
  bytes: number;
}

export function watchSegments(dir: string, book: SegmentBook) {
  const sizes = new Map<string, number>();
  let looks = 0;
  return {
    /** Segments with a changed size, oldest first, except one. */
    *changed(but?: string): Generator<FoundSegment> {
      looks += 1;
      const same: FoundSegment[] = [];
      for (const segment of unclosed(dir, book)) {
        if (segment === but) continue;
        const found = { segment, bytes: segmentBytes(dir, segment) };
        if (found.bytes !== sizes.get(segment)) yield found;
        else same.push(found);
      }
      if (looks % LOOKS === 0) closeEnded(dir, book, same);
    },
    /** Marks the segment as fully indexed. */
    seen: ({ segment, bytes }: FoundSegment) => void sizes.set(segment, bytes),
    /** Treats everything as new again. */
    forget: () => sizes.clear(),
  };
}

/** Closes those fully indexed segments that no process can append to any more. */
export function closeEnded(dir: string, book: SegmentBook, found: readonly FoundSegment[]): void {
  const ended = found.filter(
    // Measured again: its writer may have exited after the first measurement.
    ({ segment, bytes }) => hasEnded(dir, segment) && segmentBytes(dir, segment) === bytes,
  );
  if (ended.length === 0) return;
  const forms = ended.map(({ segment }) => closedForm(dir, segment));
  book.close(identityOf(dir), forms);
}

/**
 * Whether it is certain that no process appends to it any more. A segment without a first line may have just been
 * created; a writer on another machine or in another container that held no file may be alive.
 */
function hasEnded(dir: string, segment: string): boolean {
  const path = join(dir, segment);
  if (isPacked(path)) return true;
  const owner = readHeader(path)?.owner;
  if (owner === undefined) return false;
  const is_known = typeof owner.life === 'string' || owner.space === thisOwner().space;
  return is_known && !mayLive(owner, dir);
}
