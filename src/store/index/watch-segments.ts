/** Which segments of a journal hold something new, for who asks again and again. */
import { join } from 'node:path';
import { segmentBytes } from '../journal/scan.ts';
import { isPacked } from '../journal/segment-file.ts';
import { readHeader } from '../journal/segment-owner.ts';
import { mayLive, thisOwner } from '../owner.ts';
import { closedForm, identityOf, type SegmentBook, unclosed } from './segment-book.ts';

/** Whether a writer lives costs as much as some looks at the size of its segment. */
const LOOKS = 16;

export interface FoundSegment {
  segment: string;
  bytes: number;
}

export function watchSegments(dir: string, book: SegmentBook) {
  const sizes = new Map<string, number>();
  let looks = 0;
  return {
    /** Segments, but for one, with another size than when they were seen, oldest first. */
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
    /** All of it is in the index. */
    seen: ({ segment, bytes }: FoundSegment) => void sizes.set(segment, bytes),
    /** Everything is new again. */
    forget: () => sizes.clear(),
  };
}

/** Of segments of which the index knows that many bytes, those that nobody appends to any more need no look from now on. */
export function closeEnded(dir: string, book: SegmentBook, found: readonly FoundSegment[]): void {
  const ended = found.filter(
    // Measured again: its writer may have ended after it was measured.
    ({ segment, bytes }) => hasEnded(dir, segment) && segmentBytes(dir, segment) === bytes,
  );
  if (ended.length === 0) return;
  const forms = ended.map(({ segment }) => closedForm(dir, segment));
  book.close(identityOf(dir), forms);
}

/**
 * Whether it is certain that nobody appends to it any more. Without a first line it may be one that is just being made; a
 * writer of another machine or container that held no file of its own may live.
 */
function hasEnded(dir: string, segment: string): boolean {
  const path = join(dir, segment);
  if (isPacked(path)) return true;
  const owner = readHeader(path)?.owner;
  if (owner === undefined) return false;
  const is_known = typeof owner.life === 'string' || owner.space === thisOwner().space;
  return is_known && !mayLive(owner, dir);
}
