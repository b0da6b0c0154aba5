/**
 * What a session sends to a collector, on disk before it is sent: one file a session, the head and then one line a
 * message. Contract: the messages are numbered without a gap; one process at a time has the file; a torn last line never
 * was; what is there outlives the process, and the next tacho delivers it (LP-8). Nothing is synced: a power cut may take
 * the newest lines, a kill takes none.
 */
import { existsSync, fstatSync, ftruncateSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileError, withPath } from '../../lib/errors.ts';
import { fileFor } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import { withFd } from '../../lib/with-fd.ts';
import { createPrivate, openAppend, openRead, unlinkQuietly, writeAll } from '../files.ts';
import { takeLock } from '../lock.ts';
import { ownFolder } from '../state-dir.ts';
import { Outbox, STAGE } from './file.ts';
import { headLine, OutboxMap, type OutboxTarget } from './lines.ts';

const FILE = /^out-[0-9a-hjkmnp-tv-z]{26}\.jsonl$/;

export const outboxPath = (dir: string, session_id: string) =>
  join(dir, `${fileFor('out', session_id)}.jsonl`);

/** Paths of what waits to be delivered. */
export function listOutboxes(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const names = withPath(dir, STAGE, () => readdirSync(dir));
  return names
    .filter((name) => FILE.test(name))
    .sort()
    .map((name) => join(dir, name));
}

export interface OutboxStart extends OutboxTarget {
  session_id: string;
  /** Number of the first message, where nothing is there yet. */
  first_seq?: number;
}

/** The session's outbox: a new one, or the one that is there. Null while another process has it. */
export function openOutbox(dir: string, start: OutboxStart): Outbox | null {
  ownFolder(dir, true);
  const path = outboxPath(dir, start.session_id);
  const release = takeLock(`${path}.lock`);
  if (release === null) return null;
  try {
    const known = existsSync(path) ? scanned(path, release) : null;
    return known ?? created(path, start, release);
  } catch (cause) {
    release();
    throw fileError(cause, path, STAGE);
  }
}

/** One that is there; null when another process has it, or nothing can be read there. */
export function takeOutbox(path: string): Outbox | null {
  let release: (() => void) | null = null;
  try {
    release = takeLock(`${path}.lock`);
    if (release === null) return null;
    const outbox = scanned(path, release);
    if (outbox === null) release();
    return outbox;
  } catch {
    release?.();
    return null;
  }
}

function created(path: string, start: OutboxStart, release: () => void): Outbox {
  const { session_id, url, token_file, ca, first_seq = 1 } = start;
  const head = { session_id, url, token_file, ca };
  // A head that was torn says nothing of what it was for.
  unlinkQuietly(path);
  const fd = createPrivate(path);
  const line = Buffer.from(headLine(head));
  writeAll(fd, line);
  const map = new OutboxMap();
  map.begin(first_seq, line.length);
  return new Outbox({ path, fd, head, map, release });
}

function scanned(path: string, release: () => void): Outbox | null {
  const map = new OutboxMap();
  withFd(openRead(path), (fd) => {
    const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
    for (let at = 0, count = -1; count !== 0; at += count) {
      count = readSync(fd, buffer, 0, buffer.length, at);
      map.scan(buffer.subarray(0, count));
    }
  });
  const { head } = map;
  if (head === null) return null;
  const fd = openAppend(path);
  // Only where there is something to cut: it would count as a change.
  if (fstatSync(fd).size !== map.bytes) ftruncateSync(fd, map.bytes);
  return new Outbox({ path, fd, head, map, release });
}
