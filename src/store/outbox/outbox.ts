/**
 * Messages of a session for a collector, on disk before they are sent: one file per session, with a head and then one
 * line per message. Contract: messages are numbered without gaps, one process at a time owns the file, and a torn
 * last line is ignored. Messages survive the process, and the next tacho delivers them (LP-8). Nothing is synced: a
 * power failure may lose the newest lines, a kill loses none.
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

/** Paths of outboxes that wait for delivery. */
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
  /** Number of the first message, if the outbox is new. */
  first_seq?: number;
}

/** The session's outbox, existing or new. Null while another process owns it. */
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

/** An existing outbox. Null if another process owns it, or if it cannot be read. */
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
  // A torn head does not show what the file was for.
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
  // Only if there is something to remove: it would count as a change.
  if (fstatSync(fd).size !== map.bytes) ftruncateSync(fd, map.bytes);
  return new Outbox({ path, fd, head, map, release });
}
