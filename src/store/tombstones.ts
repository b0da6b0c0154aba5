/**
 * Deleting runs for good: the journal is append-only, so what is deleted is written down, and stays deleted after a
 * reindex. Segments go once nothing in them is wanted and nobody can append to them any more.
 */
import { closeSync, fdatasyncSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileError } from '../lib/errors.ts';
import { createCatalogue } from './catalogue.ts';
import { openAppend, readPrivate, syncFolder, writeAll } from './files.ts';
import type { Index } from './index-db.ts';
import { removeRunFiles } from './run-files.ts';
import { listSegments, newReport } from './scan.ts';
import { mayGrow } from './segment.ts';
import { removeSpool, spoolAt } from './spool.ts';
import type { StateDir } from './state-dir.ts';

const STAGE = 'journal';

export interface Removal {
  /** Whether the index knew the run. */
  found: boolean;
  /** Segments that held nothing else and are gone. */
  segments: string[];
}

function tombstonesAt(state: StateDir): string {
  return join(state.journal, 'tombstones.jsonl');
}

/** Ids of all deleted runs. Lines that are torn or none of ours say nothing. */
export function readTombstones(state: StateDir): Set<string> {
  const path = tombstonesAt(state);
  const ids = new Set<string>();
  let text: string;
  try {
    text = readPrivate(path).toString('utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ids;
    throw fileError(cause, path, STAGE);
  }
  for (const line of text.split('\n')) {
    const said = wordOf(line);
    if (said?.deleted !== undefined) ids.add(said.deleted);
    else if (said?.restored !== undefined) ids.delete(said.restored);
  }
  return ids;
}

function wordOf(line: string): { deleted?: string; restored?: string } | null {
  if (line === '') return null;
  try {
    const value = JSON.parse(line) as { deleted?: unknown; restored?: unknown } | null;
    if (typeof value?.deleted === 'string') return { deleted: value.deleted };
    return typeof value?.restored === 'string' ? { restored: value.restored } : null;
  } catch {
    return null;
  }
}

/** Writes down that these runs are deleted, or, `restored`, that they are back. */
export function bury(
  state: StateDir,
  run_ids: readonly string[],
  word: 'deleted' | 'restored' = 'deleted',
): void {
  if (run_ids.length === 0) return;
  const path = tombstonesAt(state);
  try {
    const fd = openAppend(path);
    try {
      // The LF in front ends a line that a dead process left torn.
      const lines = run_ids.map((run_id) => `${JSON.stringify({ [word]: run_id })}\n`);
      writeAll(fd, Buffer.from(`\n${lines.join('')}`));
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
    syncFolder(state.journal);
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
}

/** Deletes a run: its events, its index row, its spool, its transcript and log. First of all it is written down. */
export async function removeRun(state: StateDir, index: Index, run_id: string): Promise<Removal> {
  bury(state, [run_id]);
  await createCatalogue(state.journal, index).refresh(newReport());
  const held = new Set(index.getPositions(run_id).map((position) => position.segment));
  const found = index.deleteRun(run_id);
  removeSpool(spoolAt(state, run_id));
  removeRunFiles(state, null, run_id);
  return { found, segments: sweepSegments(state, index, [...held]) };
}

/** Removes segments that hold only deleted sessions; `among`: only these are looked at. */
export function sweepSegments(
  state: StateDir,
  index: Index,
  among: readonly string[] = listSegments(state.journal),
): string[] {
  const deleted = readTombstones(state);
  const covered = index.covered();
  const removed: string[] = [];
  for (const segment of among) {
    if (!covered.has(segment) || mayGrow(state.journal, segment)) continue;
    if (!index.sessionsIn(segment).every((session) => deleted.has(session))) continue;
    const path = join(state.journal, segment);
    try {
      unlinkSync(path);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw fileError(cause, path, STAGE);
    }
    index.forgetSegment(segment);
    removed.push(segment);
  }
  return removed;
}

/** Sessions that the journal holds and nobody deleted, oldest segment first: what a reindex goes through. */
export async function listSessions(state: StateDir, index: Index): Promise<string[]> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const deleted = readTombstones(state);
  const sessions = new Set<string>();
  for (const segment of listSegments(state.journal)) {
    for (const session of index.sessionsIn(segment)) {
      if (!deleted.has(session)) sessions.add(session);
    }
  }
  return [...sessions];
}
