/**
 * Deletes runs permanently: the journal is append-only, so deletions are recorded, and deleted runs stay deleted
 * after a reindex.
 */
import { fdatasyncSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileError, withPath } from '../../lib/errors.ts';
import { isRunId } from '../../lib/ids.ts';
import { withFd } from '../../lib/with-fd.ts';
import { appendChain, hasChain } from '../chain/chain.ts';
import { openAppend, readPrivate, syncFolder, writeAll, writeAtomic } from '../files.ts';
import type { Index } from '../index/index-db.ts';
import { removeFilesOf } from '../spool/run-files.ts';
import { removeSpool, spoolAt, spoolName, spoolNames } from '../spool/spool.ts';
import type { StateDir } from '../state-dir.ts';

const STAGE = 'journal';

function tombstonesAt(state: StateDir): string {
  return join(state.journal, 'tombstones.jsonl');
}

/** Ids of all deleted runs. Torn and foreign lines are ignored. */
export function readTombstones(state: StateDir): Set<string> {
  return idsIn(textOf(state));
}

/** Changes with every recorded deletion. Reading it costs nothing, however long the list is. */
export function deletionsMark(state: StateDir): string {
  const stat = lstatSync(tombstonesAt(state), { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.size}:${stat.mtimeMs}`;
}

/** Whether a single run is deleted: most runs are not listed at all. */
export function isDeleted(state: StateDir, run_id: string): boolean {
  const text = textOf(state);
  return text.includes(JSON.stringify(run_id)) && idsIn(text).has(run_id);
}

function textOf(state: StateDir): string {
  const path = tombstonesAt(state);
  try {
    return readPrivate(path).toString('utf8');
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return '';
    throw fileError(cause, path, STAGE);
  }
}

function idsIn(text: string): Set<string> {
  const ids = new Set<string>();
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

const lineOf = (word: 'deleted' | 'restored', run_id: string) =>
  `${JSON.stringify({ [word]: run_id })}\n`;

/** Records that these runs are deleted or, with `restored`, that they exist again. */
export function bury(
  state: StateDir,
  run_ids: readonly string[],
  word: 'deleted' | 'restored' = 'deleted',
): void {
  if (run_ids.length === 0) return;
  const path = tombstonesAt(state);
  chainDeletion(state, run_ids, word === 'deleted' ? 'removed' : 'restored');
  // The leading LF ends a line that a dead process left torn.
  const lines = ['\n', ...run_ids.map((run_id) => lineOf(word, run_id))];
  withPath(path, STAGE, () => {
    withFd(openAppend(path), (fd) => {
      writeAll(fd, Buffer.from(lines.join('')));
      fdatasyncSync(fd);
    });
    syncFolder(state.journal);
  });
}

/** Before the deletion itself: a run that is missing without an entry in the chain was not removed by tacho. */
function chainDeletion(
  state: StateDir,
  run_ids: readonly string[],
  kind: 'removed' | 'restored',
): void {
  if (!hasChain(state)) return;
  const links = run_ids
    .filter(isRunId)
    .map((run_id) => ({ kind, run_id, events: null, sha256: null }));
  appendChain(state, links, Date.now());
}

/**
 * Deletes runs: records the deletion first, then removes their spools and rows. `freeDeleted` frees their files and
 * events and must follow, once for any number of calls. The next rm or gc finishes an interrupted deletion.
 */
export function deleteRuns(state: StateDir, index: Index, run_ids: readonly string[]): void {
  bury(state, run_ids);
  removeRows(state, index, run_ids);
}

/**
 * Removes the remains of deleted runs outside of the journal, including those of interrupted deletions. Returns their
 * ids. Requires the store lock, so no other deletion is recorded at the same time.
 */
export function finishDeletions(state: StateDir, index: Index): Set<string> {
  // The rows first: a run that is restored meanwhile is no longer recorded as deleted when it gets its row.
  const listed = index.runIds();
  const text = textOf(state);
  const deleted = idsIn(text);
  compact(state, text, deleted);
  removeRows(
    state,
    index,
    listed.filter((run_id) => deleted.has(run_id)),
  );
  removeFilesOf(state, deleted);
  return deleted;
}

/** Rewrites the list with one line per deleted run, without runs that were restored. */
function compact(state: StateDir, text: string, deleted: ReadonlySet<string>): void {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    if (at > 0 && text[at - 1] !== '\n') lines += 1;
  if (lines === deleted.size && text.endsWith('\n')) return;
  if (text === '') return;
  const kept = Array.from(deleted, (run_id) => lineOf('deleted', run_id));
  writeAtomic(tombstonesAt(state), kept.join(''), STAGE);
}

/**
 * Removes a run again that was stored while another process deleted it. Each of the two writes the run or its deletion
 * before it checks, so one of them finds the other's. Returns whether it was deleted.
 */
export function removeIfDeleted(state: StateDir, index: Index, run_id: string): boolean {
  if (!isDeleted(state, run_id)) return false;
  removeRows(state, index, [run_id]);
  removeFilesOf(state, [run_id]);
  return true;
}

/** Removes the rows of deleted runs from lists, and their spools. */
export function removeRows(state: StateDir, index: Index, run_ids: readonly string[]): void {
  if (run_ids.length === 0) return;
  // Most runs have no spool.
  const spools = spoolNames(state);
  for (const run_id of run_ids)
    if (spools.has(spoolName(run_id))) removeSpool(spoolAt(state, run_id));
  index.deleteRuns(run_ids);
}
