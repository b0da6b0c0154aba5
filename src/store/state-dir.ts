/** The state folder: its location, and whether only this user can access it (ST-8, ST-9). */
import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ELSEWHERE, orElsewhere, TachoError } from '../lib/errors.ts';
import { writeAtomic } from './files.ts';
import { ownFolder } from './own-folder.ts';
import { markState } from './state-mark.ts';
import { userStatePath } from './user-state.ts';

export { ownFolder } from './own-folder.ts';

const STAGE = 'state';

/** Absolute paths in a state folder. */
export type StateDir = Readonly<ReturnType<typeof stateDirAt>>;

/** The folder that commands use, and why. */
export interface StatePlace {
  path: string;
  /** `project`: the nearest `.tacho` folder. `user`: the user's store. */
  source: 'flag' | 'environment' | 'project' | 'user';
}

interface Looking {
  flag?: string | null | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Default: the current folder of the process. */
  cwd?: string;
}

export const resolveStateDir = (options: Looking): string => findStateDir(options).path;

/** Creates and checks nothing. */
export function findStateDir({ flag, env, cwd = process.cwd() }: Looking): StatePlace {
  // An empty name is ignored: `--state-dir "$UNSET"` does not mean the current folder.
  if (flag) return { path: resolve(cwd, flag), source: 'flag' };
  if (env.TACHO_HOME) return { path: resolve(cwd, env.TACHO_HOME), source: 'environment' };
  const project = projectState(resolve(cwd));
  if (project !== null) return { path: project, source: 'project' };
  return { path: userStatePath(env), source: 'user' };
}

export const PROJECT_STATE = '.tacho';

/** The nearest `.tacho` from `cwd` upwards. Above `cwd`, a folder of another user is ignored: anyone can create one in /tmp. */
function projectState(cwd: string): string | null {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, PROJECT_STATE);
    const found = statOf(path);
    const is_folder = found?.isDirectory() || found?.isSymbolicLink();
    if (is_folder && (folder === cwd || found?.uid === (process.getuid?.() ?? found?.uid)))
      return path;
    if (dirname(folder) === folder) return null;
  }
}

/** Null if nothing exists at the path, or it is not visible to us. */
function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** Only computes the paths; creates and checks nothing. */
export function stateDirAt(path: string) {
  const root = resolve(path);
  return {
    path: root,
    journal: join(root, 'journal'),
    spool: join(root, 'spool'),
    transcripts: join(root, 'transcripts'),
    /** Created when a run writes a log. */
    logs: join(root, 'logs'),
    /** Created when runs are archived. */
    archive: join(root, 'archive'),
    /** Unnamed files of running processes. Created when data is too large for memory. */
    tmp: join(root, 'tmp'),
    db: join(root, 'tacho.db'),
    /** The search index. Created by the first search. */
    search: join(root, 'search.db'),
  };
}

/**
 * Created on demand. The same rule applies to all of them, including the archive: their contents are written and deleted
 * without a prompt.
 */
const MADE_LATER = ['logs', 'archive', 'tmp', 'outbox', 'live', join('live', 'journal')];

/**
 * Creates the folder if it is missing. Refuses a folder that another user, or a link, could read or redirect; the same
 * applies to each folder in it.
 */
export function openStateDir(path: string): StateDir {
  const state = stateDirAt(path);
  refuseForeign(state.path);
  refuseShared(state.path);
  ownRoot(state.path);
  for (const folder of [state.journal, state.spool, state.transcripts]) ownFolder(folder, false);
  for (const folder of MADE_LATER.map((name) => join(state.path, name)))
    if (isFolderOrLink(folder)) ownFolder(folder, false);
  ignoreInGit(state.path);
  markState(state.path);
  return state;
}

/** Ignores a file in the way: it stops commands that need the folder, but does not stop a recording. */
function isFolderOrLink(path: string): boolean {
  const found = statOf(path);
  return found !== null && (found.isSymbolicLink() || found.isDirectory());
}

/**
 * Names that a state folder may contain before it has a journal: tacho's own names, the facts about the user, and the
 * folder in a new volume.
 */
const AT_THE_START =
  /^(?:spool|transcripts|tacho\.db.*|search\.db.*|redaction\.key|mark|known|\.gitignore|lost\+found)$/;

/** Whether there is a store to inspect. A folder that cannot be opened counts, so that opening it reports why. */
export function hasState(path: string): boolean {
  if (statOf(path) === null) return false;
  try {
    const names = readdirSync(path);
    return names.includes('journal') || !names.every((name) => AT_THE_START.test(name));
  } catch {
    return true;
  }
}

/** Making the user's folder private now would make tacho trust facts that others may have written. */
function refuseShared(path: string): void {
  const found = statOf(path);
  if (process.getuid === undefined || path !== userStatePath() || !found?.isDirectory()) return;
  if (found.uid !== process.getuid() || (found.mode & 0o022) === 0) return;
  const text = `${path}: others can write to it: check its contents, then run chmod 700, or ${ELSEWHERE}`;
  throw new TachoError('state_unusable', text, { stage: STAGE });
}

function ownRoot(path: string): void {
  try {
    ownFolder(path, true);
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    const { code, stage, cause, message } = error;
    throw new TachoError(code, orElsewhere(message), { stage, cause });
  }
}

/** A folder that is used for something else keeps its mode, and no files are created in it. */
function refuseForeign(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A path that is not our folder, or not even readable, is refused or repaired by `ownFolder`.
  if (!found?.isDirectory() || (found.mode & 0o400) === 0) return;
  if (process.getuid !== undefined && found.uid !== process.getuid()) return;
  const names = readdirSync(path);
  if (names.includes('journal') || names.every((name) => AT_THE_START.test(name))) return;
  const text = `${path}: contains other files, but no tacho records: ${ELSEWHERE}`;
  throw new TachoError('state_unusable', text, { stage: STAGE });
}

function ignoreInGit(folder: string): void {
  const path = join(folder, '.gitignore');
  // Atomically: an empty file, left by a kill, would hide nothing.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) writeAtomic(path, '*\n', STAGE);
}
