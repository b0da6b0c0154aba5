/** Feeds a spool file into the pipeline: new bytes, and changes that others made to the file. */
import { fstatSync, openSync, readSync } from 'node:fs';
import { withFd } from '../../lib/with-fd.ts';
import type { Event } from '../../model/event.ts';
import type { Channel } from '../../model/words.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Cut, Tail } from './tail.ts';

/** Null if there is nothing new. */
export async function readInto(
  pipeline: Pipeline,
  channel: Channel,
  tail: Tail,
  buffer: Buffer,
): Promise<Event[] | null> {
  const bytes = await tail.read(buffer);
  const cut = tail.takeCut();
  if (cut === null) return bytes === null ? null : pipeline.push(channel, bytes);
  const events = pipeline.cut(channel, cut);
  return bytes === null ? events : events.concat(pipeline.push(channel, bytes));
}

/**
 * For a recovery: a tail from the beginning of a spool file. Returns events if the file lacks bytes that the killed
 * recorder had read. `mark`: the bytes that the file was created with; empty in spools of earlier versions.
 */
export function resumeTail(
  pipeline: Pipeline,
  channel: Channel,
  path: string,
  mark: Buffer,
): { tail: Tail; events: Event[] } {
  // A truncated file has no mark any more.
  const expected = pipeline.resumption.wasCut(channel) ? Buffer.alloc(0) : mark;
  const at = pipeline.resumption.resumesAt(channel) ?? 0;
  const cut = findCut(path, expected, at);
  const begins = cut?.kind === 'truncated' ? Buffer.alloc(0) : expected;
  const tail = new Tail(path, { from: begins.length, mark: begins });
  return { tail, events: cut === null ? [] : pipeline.cut(channel, cut) };
}

const LF = 10;

/**
 * `at`: offset after the mark where the last known line begins, which is after the end of another. 0: none is known.
 */
function findCut(path: string, mark: Buffer, at: number): Cut | null {
  return withFd(openSync(path, 'r'), (fd) => {
    const { size } = fstatSync(fd);
    const position = mark.length + at;
    const head = Buffer.alloc(mark.length);
    readSync(fd, head, 0, head.length, 0);
    if (!head.equals(mark)) return { kind: 'truncated', position, size };
    if (at === 0) return null;
    const before = Buffer.alloc(1);
    readSync(fd, before, 0, 1, position - 1);
    if (size > position && before[0] === LF) return null;
    return { kind: mark.length > 0 ? 'shortened' : 'truncated', position, size };
  });
}
