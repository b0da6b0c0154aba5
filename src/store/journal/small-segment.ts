/**
 * Reads a small segment with a single read into a shared buffer. Contract: the same lines, counts and end as a scan.
 * Reading small segments through the thread pool would cost as much as processing their lines.
 */
import { fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { withFd } from '../../lib/with-fd.ts';
import { openRead } from '../files.ts';
import { lineIn, type ReadReport, type SegmentLine } from './scan.ts';

const SMALL_BYTES = 256 * 1024;
const LF = 10;

let shared: Buffer | null = null;

/** Emits its lines from an offset and returns the end of the last complete one. Null if it has to be scanned. */
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

/** The number of bytes. Null if they are too many, packed, or unreadable. */
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
