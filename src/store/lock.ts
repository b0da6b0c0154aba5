/** One at a time, over processes; a lock whose holder is dead counts for nothing. */
import { closeSync, constants, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { unlinkQuietly } from './files.ts';
import { mayLive, type Owner, thisOwner } from './owner.ts';

/** Returns what gives the lock back; null while another holds it. */
export function takeLock(path: string): (() => void) | null {
  for (let tries = 0; tries < 2; tries++) {
    try {
      const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
      writeSync(fd, JSON.stringify(thisOwner()));
      closeSync(fd);
      return () => unlinkQuietly(path);
    } catch {
      if (holderLives(path)) return null;
      try {
        unlinkSync(path);
      } catch {
        return null;
      }
    }
  }
  return null;
}

function holderLives(path: string): boolean {
  try {
    return mayLive(JSON.parse(readFileSync(path, 'utf8')) as Owner);
  } catch {
    return false;
  }
}
