/**
 * Whether a state folder is this user's own. A folder that came with a clone or an archive looks like one of ours. The
 * mark, a random text that the user's own state also contains, distinguishes them. tacho acts on unfinished runs and
 * outboxes only in the user's own folders.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, readStart, writeAtomic } from './files.ts';
import { isKnown, remember } from './user-state.ts';

const MARK = /^[0-9a-f]{32}$/;
const MARK_BYTES = 32;

const markPath = (folder: string) => join(folder, 'mark');
/** Path of the key for the marks of redacted values. */
export const keyPath = (folder: string) => join(folder, 'redaction.key');

function readMark(folder: string): string | null {
  try {
    const text = readStart(markPath(folder), MARK_BYTES).toString('latin1');
    return MARK.test(text) ? text : null;
  } catch {
    return null;
  }
}

export function isOwnState(folder: string): boolean {
  const mark = readMark(folder);
  return mark !== null && isKnown({ kind: 'state', path: realpathSync(folder), key: mark });
}

/** Names in the state folder that tacho would act on automatically. */
export function leftIn(folder: string): { spools: string[]; outboxes: string[] } {
  return {
    spools: namesIn(join(folder, 'spool')).filter((name) => !name.startsWith('.')),
    outboxes: namesIn(join(folder, 'outbox')).filter((name) => /^out-.*\.jsonl$/.test(name)),
  };
}

/**
 * Makes a folder the user's own if it has no spool, no outbox and no record, which may belong to unfinished runs. Any
 * other folder is left unchanged. Never fails: a folder without a mark can still be written and read.
 */
export function markState(folder: string): void {
  if (isOwnState(folder)) return;
  const { spools, outboxes } = leftIn(folder);
  const records = namesIn(join(folder, 'journal')).filter((name) =>
    /\.jsonl(?:\.zst)?$/.test(name),
  );
  if (spools.length + outboxes.length + records.length === 0) adoptState(folder);
}

/**
 * Makes the folder the user's own, regardless of its contents. An existing key is known to others, so it is removed.
 * False if the user's state or the folder cannot be written.
 */
export function adoptState(folder: string): boolean {
  const mark = randomBytes(MARK_BYTES / 2).toString('hex');
  // In this order: if several processes adopt a new folder concurrently, none of them removes a key that another one
  // created later.
  const foreign_key = existsSync(keyPath(folder)) && !isOwnState(folder);
  try {
    // Remembered first: whichever of two processes writes last, its mark is known.
    if (!remember({ kind: 'state', path: realpathSync(folder), key: mark, notes: [] }))
      return false;
    if (foreign_key) rmSync(keyPath(folder), { force: true });
    writeAtomic(markPath(folder), mark, 'state');
    return true;
  } catch {
    return false;
  }
}
