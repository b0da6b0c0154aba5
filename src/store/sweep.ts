/** Removes files that killed commands left in a state folder, recognised by their names. */
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makerOf, namesIn, removeBeside, unlinkQuietly } from './files.ts';
import { ASIDE } from './index/database-file.ts';
import { STORE_LIMITS } from './limits.ts';
import { holderOf, takeLock } from './lock.ts';
import { isAlive, startMs, sweepLives } from './owner.ts';
import { sweepRemoved } from './spool/spool.ts';
import type { StateDir } from './state-dir.ts';

/**
 * The locks that tacho creates in a state folder, and the former lock of gc. Possible suffixes: the note of its
 * holder, unused files of versions before kernel locks, and files of an attempt to lock.
 */
const LOCK =
  /^((?:store|gc|redaction\.key|collector(?:\.sock)?|out-[0-9a-hjkmnp-tv-z]{26}\.jsonl)\.lock)(?:\.holder|(\.(?:[0-9a-f]{12}|of-.*|try-\d+)))?$/;

/** Removes the files of a dead process's lock. */
function sweepLock(path: string): void {
  const holder = holderOf(path);
  if (holder !== null && (holder.host !== hostname() || isAlive(holder.pid, null))) return;
  try {
    takeLock(path)?.();
  } catch {
    // Not a lock file of ours: left unchanged.
  }
}

/** Suffix of an index that a reindex is building, after the name of the one it will replace. */
export const SCRATCH = '.new-';

/** Removes indexes built by a reindex, also by a killed one: they contain rows of runs. Under the store lock. */
export function sweepScratch(state: StateDir): void {
  removeBeside(state.db, SCRATCH);
}

/** Under the store lock. */
export function sweepLeftovers(state: StateDir): void {
  for (const dir of [state.path, join(state.path, 'live'), join(state.path, 'outbox')])
    for (const name of namesIn(dir)) {
      const [, lock, old] = LOCK.exec(name) ?? [];
      if (old !== undefined) unlinkQuietly(join(dir, name));
      else if (lock !== undefined) sweepLock(join(dir, lock));
    }
  sweepLives(state.journal);
  sweepLives(join(state.path, 'live', 'journal'));
  sweepRemoved(state);
  sweepScratch(state);
  // It may contain rows of runs that a killed command deleted, and nothing that the journal lacks.
  for (const path of [state.db, state.search]) removeBeside(path, ASIDE);
  sweepUnfinished(state.path);
}

/** The deepest folders are those of a run's spool and of an agent's transcripts. */
const DEPTH = 2;

/**
 * Removes unfinished files of dead processes: they may contain the content of a run. A process in another container
 * is not visible, so a recently written file stays.
 */
export function sweepUnfinished(folder: string, now_ms = Date.now(), depth = DEPTH): void {
  for (const entry of entriesIn(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (depth > 0) sweepUnfinished(path, now_ms, depth - 1);
      continue;
    }
    const pid = makerOf(entry.name);
    if (pid !== null && isAbandoned(path, pid, now_ms)) unlinkQuietly(path);
  }
}

/** Tolerance between the start time of a process and the time of a file. */
const SLACK_MS = 2_000;

/** Another process may have the writer's pid now: one that started after the file was written. */
function isAbandoned(path: string, pid: number, now_ms: number): boolean {
  const written_ms = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now_ms;
  const age_ms = now_ms - written_ms;
  if (age_ms <= STORE_LIMITS.unfinished_file_ms) return false;
  if (age_ms > STORE_LIMITS.unfinished_file_ms_max || !isAlive(pid, null)) return true;
  return written_ms < (startMs(pid) ?? 0) - SLACK_MS;
}

function entriesIn(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { withFileTypes: true });
  } catch {
    return [];
  }
}
