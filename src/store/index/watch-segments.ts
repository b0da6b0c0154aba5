/**
 * Which segments of a journal hold something new, for who asks again and again: what takes nothing more is looked at a
 * few times, and the folder is listed again only after a change of it.
 */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { listSegments, segmentBytes } from '../journal/scan.ts';
import { mayGrow } from '../journal/segment.ts';
import { isPacked } from '../journal/segment-file.ts';

/** Whether a writer lives costs as much as some looks at the size of its segment. */
const LOOKS = 16;
/** The times of files go by ticks, of 2 s on FAT: a change within one may leave a folder's time as it was. */
const TICK_MS = 2_000;

export function watchSegments(dir: string) {
  const sizes = new Map<string, number>();
  const ended = new Set<string>();
  const names = createListing(dir);
  let looks = 0;
  const isEnded = (segment: string) =>
    looks > LOOKS ? !mayGrow(dir, segment) : isPacked(join(dir, segment));
  return {
    /** Segments, but for one, with another size than when they were seen, oldest first, and their bytes. */
    *changed(but?: string): Generator<{ segment: string; bytes: number }> {
      looks += 1;
      for (const segment of names()) {
        if (segment === but || ended.has(segment)) continue;
        const bytes = segmentBytes(dir, segment);
        if (bytes !== sizes.get(segment)) yield { segment, bytes };
        else if (isEnded(segment)) ended.add(segment);
      }
    },
    seen: (segment: string, bytes: number) => void sizes.set(segment, bytes),
    /** Everything is new again. */
    forget() {
      sizes.clear();
      ended.clear();
    },
  };
}

function createListing(dir: string): () => readonly string[] {
  let listed: readonly string[] = [];
  let listed_at: bigint | null = null;
  return () => {
    const now_ms = Date.now();
    const found = lstatSync(dir, { throwIfNoEntry: false, bigint: true });
    if (found !== undefined && found.mtimeNs === listed_at) return listed;
    const is_old = found !== undefined && Number(found.mtimeNs) / 1e6 + TICK_MS < now_ms;
    listed = listSegments(dir);
    listed_at = is_old ? found.mtimeNs : null;
    return listed;
  };
}
