/**
 * The spool: one folder per run with the agent's stdout and stderr, byte for byte after a mark, the prompt it was given,
 * and `meta.json`.
 * Contract: the agent, or a drain, writes directly to the files; neither a sudden exit of the agent nor our own death
 * loses a byte (ST-3).
 */
import { type Dirent, lstatSync, readdirSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, fileError, TachoError, withPath } from '../../lib/errors.ts';
import { fileFor, isRunId } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readJson } from '../../lib/schema/json.ts';
import type { Source } from '../../lib/schema/mistakes.ts';
import { withFd } from '../../lib/with-fd.ts';
import {
  createPrivate,
  namesIn,
  openRead,
  readPrivate,
  startPrivate,
  unlinkQuietly,
  writeAll,
  writeAtomic,
} from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { ownFolder, type StateDir } from '../state-dir.ts';

const STAGE = 'spool';
/** Prefix of a spool that is being removed: after a kill, its remains are recognised by the prefix. */
const REMOVED = '.removed-';

/** Absolute paths of one run's spool. */
export type Spool = Readonly<ReturnType<typeof namedSpool>>;

/** Only computes the paths; creates and checks nothing. */
export function spoolAt(state: StateDir, run_id: string): Spool {
  return namedSpool(state, spoolName(run_id));
}

export function spoolName(run_id: string): string {
  return isRunId(run_id) ? run_id : fileFor('spool', run_id);
}

const HASHED_NAME = /^spool-[0-9a-hjkmnp-tv-z]{26}$/;

/** Whether a spool may have this name. Anything else in the folder is not ours. */
const isSpoolName = (name: string) => isRunId(name) || HASHED_NAME.test(name);

/** `name`: the run id, or the hash of a foreign id. */
function namedSpool(state: StateDir, name: string) {
  const path = join(state.spool, name);
  return {
    name,
    path,
    stdout: join(path, 'stdout'),
    stderr: join(path, 'stderr'),
    /** The prompt. Exists only after `writeStdin`. */
    stdin: join(path, 'stdin'),
    meta: join(path, 'meta.json'),
  };
}

/**
 * The start of `stdout` and `stderr` until the run is recorded: a distinctive blank line. An agent that truncates the
 * file removes it, so the truncation is detected even if none of the file had been read.
 */
export const SPOOL_MARK = Buffer.from(`${' \t \t\t  \t'.repeat(4)}\n`);

/** Whether a file of a spool contains more than the mark. A killed tacho may have written only part of the mark. */
export function hasOutput(path: string): boolean {
  const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > SPOOL_MARK.length) return true;
  try {
    return size > 0 && !readPrivate(path).equals(SPOOL_MARK.subarray(0, size));
  } catch {
    // Something else is in its place.
    return true;
  }
}

/**
 * Creates a spool; `stdout` and `stderr` contain only the mark. Fails if the run already has one. The files survive a
 * power failure once `writeMeta`, which must be called before the agent starts, has synced their folder.
 */
export function createSpool(state: StateDir, run_id: string): Spool {
  const spool = spoolAt(state, run_id);
  ownFolder(spool.path, false);
  try {
    for (const path of [spool.stdout, spool.stderr]) createFile(path, SPOOL_MARK);
    return spool;
  } catch (cause) {
    removeQuietly(spool.path);
    throw fileError(cause, spool.path, STAGE);
  }
}

/** Writes the prompt to the file that becomes the agent's stdin. */
export function writeStdin(spool: Spool, text: string): void {
  createFile(spool.stdin, text);
}

function createFile(path: string, text: string | Buffer): void {
  withPath(path, STAGE, () => withFd(createPrivate(path), (fd) => writeAll(fd, Buffer.from(text))));
}

const recordedAt = (spool: Spool) => join(spool.path, 'recorded');

/** Records that the run is complete and its spool is kept on request, so that later starts need not check it again. */
export function markRecorded(spool: Spool): void {
  if (!isRecorded(spool)) createFile(recordedAt(spool), '');
}

/** Only a hint: the agent can create this file too. */
export function isRecorded(spool: Spool): boolean {
  return lstatSync(recordedAt(spool), { throwIfNoEntry: false }) !== undefined;
}

/** Replaces `meta.json` atomically. */
export function writeMeta(spool: Spool, meta: unknown): void {
  writeAtomic(spool.meta, `${JSON.stringify(meta)}\n`, STAGE);
}

/**
 * The content of `meta.json`, of any shape: the agent can write this file too. Undefined if it is missing. Throws a
 * TachoError that names the file if it cannot be read.
 */
export function readMeta(spool: Spool): Source | undefined {
  let bytes: Buffer;
  try {
    bytes = readPrivate(spool.meta, STORE_LIMITS.spool_meta_bytes_max);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return undefined;
    const text = `${spool.meta}: ${(cause as Error).message}`;
    throw new TachoError('state_unusable', text, { stage: STAGE, cause });
  }
  return readJson(spool.meta, bytes.toString('utf8'));
}

/** Removes the mark from a file that is kept, which then contains only the agent's bytes. */
export function removeMark(path: string): void {
  withPath(path, STAGE, () => withFd(openRead(path), (from) => copyWithoutMark(from, path)));
}

function copyWithoutMark(from: number, path: string): void {
  const file = startPrivate(path, STAGE, false);
  try {
    const chunk = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
    let count = readSync(from, chunk, 0, SPOOL_MARK.length, 0);
    if (!chunk.subarray(0, count).equals(SPOOL_MARK)) return;
    for (let at = count; count !== 0; at += count) {
      count = readSync(from, chunk, 0, chunk.length, at);
      file.write(chunk.subarray(0, count));
    }
    file.commit();
  } finally {
    file.abandon();
  }
}

/** All names in the folder with the spools. */
export function spoolNames(state: StateDir): Set<string> {
  return new Set(entriesIn(state).map(({ name }) => name));
}

function entriesIn({ spool }: StateDir): Dirent[] {
  try {
    return readdirSync(spool, { withFileTypes: true });
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return [];
    throw fileError(cause, spool, STAGE);
  }
}

/** All spools, sorted by name: oldest run first. */
export function listSpools(state: StateDir): Spool[] {
  const names = entriesIn(state)
    .filter((entry) => entry.isDirectory() && isSpoolName(entry.name))
    .map((entry) => entry.name);
  return names.sort().map((name) => namedSpool(state, name));
}

/** Another process may be removing the same folder. The next sweep removes the rest. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Left for the next sweep.
  }
}

/** Finishes interrupted removals. */
export function sweepRemoved(state: StateDir): void {
  for (const name of namesIn(state.spool))
    if (name.startsWith(REMOVED)) removeQuietly(join(state.spool, name));
}

/** Removes a run's spool; a link in its place is removed, not followed. */
export function removeSpool(spool: Spool): void {
  withPath(spool.path, STAGE, () => {
    const stat = lstatSync(spool.path, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isDirectory()) return unlinkQuietly(spool.path);
    const removed = join(dirname(spool.path), REMOVED + spool.name);
    rmSync(removed, { recursive: true, force: true });
    renameSync(spool.path, removed);
    removeQuietly(removed);
  });
}
