/** Deletes runs permanently: rows, files, spool, messages for a collector, and their bytes in the journal. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unlinkQuietly } from '../../store/files.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { newReport } from '../../store/journal/scan.ts';
import { deleteRuns, readTombstones } from '../../store/journal/tombstones.ts';
import { takeLock } from '../../store/lock.ts';
import { outboxPath } from '../../store/outbox/outbox.ts';
import { mayLive, type Owner } from '../../store/owner.ts';
import { readMeta, type Spool, spoolAt } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type StoreLockOptions, withStoreLock } from '../../store/store-lock.ts';
import { sweepLeftovers } from '../../store/sweep.ts';
import { livePaths } from '../live/paths.ts';

/** The result of a removal, as ids of runs. */
export interface Removed {
  /** Runs that are deleted. */
  deleted: string[];
  /** Runs that do not exist. */
  missing: string[];
  /** Runs that a running tacho is recording. */
  running: string[];
  /** Segments that still contain deleted runs. A later gc frees them. */
  left: string[];
  /** Runs with messages that another process is sending at the moment. */
  sending: string[];
}

export function removeRuns(
  state: StateDir,
  run_ids: readonly string[],
  options: StoreLockOptions = {},
): Promise<Removed> {
  return withStoreLock(state, options, () => removeLocked(state, run_ids));
}

async function removeLocked(state: StateDir, run_ids: readonly string[]): Promise<Removed> {
  using index = openIndex(state);
  sweepLeftovers(state);
  await createCatalogue(state.journal, index).refresh(newReport());
  const removed: Removed = { deleted: [], missing: [], running: [], left: [], sending: [] };
  const gone = readTombstones(state);
  for (const run_id of new Set(run_ids)) {
    const held = index.getPositions(run_id).length > 0 && !gone.has(run_id);
    const known = index.hasRun(run_id) || existsSync(spoolAt(state, run_id).path);
    if (isRecorded(state, run_id)) removed.running.push(run_id);
    else if (!held && !known) removed.missing.push(run_id);
    else if (removeMessages(state, run_id)) removed.deleted.push(run_id);
    else removed.sending.push(run_id);
  }
  deleteRuns(state, index, removed.deleted);
  const { left } = await freeDeleted(state, index);
  if (removed.deleted.length > 0) index.compact();
  return { ...removed, left };
}

/** Removes a run's undelivered messages. False if another process has them. */
function removeMessages(state: StateDir, run_id: string): boolean {
  const path = outboxPath(livePaths(state.path).outbox, run_id);
  const files = [path, `${path}.refused`].filter((file) => existsSync(file));
  if (files.length === 0) return true;
  const release = takeLock(`${path}.lock`);
  if (release !== null) for (const file of files) unlinkQuietly(file);
  release?.();
  return release !== null;
}

/** Whether a recorder or a recovery may be working on the run. */
function isRecorded(state: StateDir, run_id: string): boolean {
  const spool = spoolAt(state, run_id);
  const owner = ownerOf(spool);
  if (owner !== null && mayLive(owner, state.journal)) return true;
  const recovering = join(spool.path, 'recovering');
  if (!existsSync(recovering)) return false;
  try {
    const release = takeLock(recovering);
    release?.();
    return release === null;
  } catch {
    // Something else is in place of the lock, so no process holds it.
    return false;
  }
}

/** Null if unknown. The agent can write the file too. */
function ownerOf(spool: Spool): Owner | null {
  try {
    const meta = readMeta(spool)?.value as { owner?: unknown } | null | undefined;
    return typeof meta?.owner === 'object' ? (meta.owner as Owner | null) : null;
  } catch {
    return null;
  }
}
