/** One at a time, over processes; a lock whose holder is dead counts for nothing. */
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { unlinkQuietly } from './files.ts';
import { mayLive, type Owner, thisOwner } from './owner.ts';

/**
 * Returns what gives the lock back; null while another holds it.
 * Contract: the file comes into being with its holder's name in it, so that nobody takes it for a dead one's.
 */
export function takeLock(path: string): (() => void) | null {
  const mine = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(mine, JSON.stringify(thisOwner()), { mode: 0o600, flag: 'wx' });
    if (!linked(mine, path) && !takenOver(mine, path)) return null;
    return () => unlinkQuietly(path);
  } catch {
    return null;
  } finally {
    unlinkQuietly(mine);
  }
}

function linked(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch {
    return false;
  }
}

/** Of those that find the same dead holder one may take its place: a lock for that, and a second look under it. */
function takenOver(mine: string, path: string): boolean {
  const dead = deadHolder(path);
  if (dead === null) return false;
  const release = takeLock(`${path}.of-${dead}`);
  if (release === null) return false;
  try {
    if (deadHolder(path) !== dead) return false;
    renameSync(mine, path);
    return true;
  } finally {
    release();
  }
}

/** Names the holder when it is dead; null when it may live or has given the lock back. */
function deadHolder(path: string): string | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  try {
    const owner = JSON.parse(text) as Owner;
    return mayLive(owner) ? null : `${owner.pid}-${owner.ticks ?? 0}`;
  } catch {
    return 'unknown';
  }
}
