/**
 * A small segment as a whole: with one read, and a buffer that all of them share. Contract: the same lines, counts and end
 * as a scan; to read one byte by byte through the thread pool costs as much as what is made of its lines.
 */
import { fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { withFd } from '../../lib/with-fd.ts';
import { openRead } from '../files.ts';
import { lineIn, type ReadReport, type SegmentLine } from './scan.ts';

const SMALL_BYTES = 256 * 1024;
const LF = 10;

let shared: Buffer | null = null;

/** Gives its lines from a byte on, and returns where the last whole one ended; null: it has to be scanned. */
export function readSmall(
  dir: string,
  segment: string,
  { from, report }: { from: number; report: ReadReport },
  take: (line: SegmentLine) => void,
): number | null {
  shared ??= Buffer.allocUnsafe(SMALL_BYTES + 1);
  const bytes = shared;
  const fill = textOf(join(dir, segment), from, bytes);
  if (fill === null) return null;
  let start = 0;
  for (let lf = bytes.indexOf(LF); lf >= 0 && lf < fill; lf = bytes.indexOf(LF, start)) {
    const line = lineIn(bytes, start, lf, report);
    if (line !== null) take({ ...line.head, bytes, offset: from + line.at, next: from + lf + 1 });
    start = lf + 1;
  }
  if (start < fill) report.torn += 1;
  return from + start;
}

/** How many bytes there are; null where they are too many, packed, or cannot be read. */
function textOf(path: string, from: number, bytes: Buffer): number | null {
  try {
    return withFd(openRead(path), (fd) => {
      if (fstatSync(fd).size - from > SMALL_BYTES) return null;
      let fill = 0;
      for (let count = -1; count !== 0; fill += count)
        count = readSync(fd, bytes, fill, bytes.length - fill, from + fill);
      return fill > SMALL_BYTES ? null : fill;
    });
  } catch {
    return null;
  }
}
