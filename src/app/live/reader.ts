/** The collector's journal as subscribers read it: each from its own place, following what is written. */
import { closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { LiveReader } from '../../live/collector/hub.ts';
import { openRead } from '../../store/files.ts';
import type { PositionIndex } from '../../store/index/catalogue.ts';
import { follow } from '../../store/journal/follow.ts';
import { type Cursor, readSession } from '../../store/journal/read.ts';
import { listSegments, segmentBytes } from '../../store/journal/scan.ts';

const LF = 10;
const PIECE_BYTES = 64 * 1024;

export function createLiveReader(dir: string, index: PositionIndex): LiveReader {
  return {
    session: (id) => readSession(dir, id, { index }),
    follow: (from, signal, filter) =>
      follow(dir, from === 'start' ? {} : endsOf(dir), signal, filter),
  };
}

function endsOf(dir: string): Cursor {
  return Object.fromEntries(listSegments(dir).map((segment) => [segment, endOf(dir, segment)]));
}

/** Behind the last whole line: the next one may be half written just now. */
function endOf(dir: string, segment: string): number {
  const bytes = Buffer.allocUnsafe(PIECE_BYTES);
  let fd: number;
  try {
    fd = openRead(join(dir, segment));
  } catch {
    return 0;
  }
  try {
    for (let end = segmentBytes(dir, segment); end > 0; end -= PIECE_BYTES) {
      const from = Math.max(0, end - PIECE_BYTES);
      const count = readSync(fd, bytes, 0, end - from, from);
      const at = bytes.subarray(0, count).lastIndexOf(LF);
      if (at >= 0) return from + at + 1;
    }
    return 0;
  } finally {
    closeSync(fd);
  }
}
