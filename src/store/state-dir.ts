/** The state folder: where it lies, and that it is ours alone (ST-8, ST-9). */
import { lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TachoError } from '../lib/errors.ts';
import { writeAtomic } from './files.ts';
import { ownFolder } from './own-folder.ts';
import { markState } from './state-mark.ts';

export { ownFolder } from './own-folder.ts';

const STAGE = 'state';

/** Absolute paths of what a state folder holds. */
export type StateDir = Readonly<ReturnType<typeof stateDirAt>>;

export function resolveStateDir(options: {
  flag?: string | null | undefined;
  env: Record<string, string | undefined>;
  /** Default: that of the process. */
  cwd?: string;
}): string {
  const { flag, env, cwd = process.cwd() } = options;
  // An empty name is none: `--state-dir "$UNSET"` does not mean the folder we are in.
  return resolve(cwd, flag || env.TACHO_HOME || '.tacho');
}

/** The paths alone; nothing is made or checked. */
export function stateDirAt(path: string) {
  const root = resolve(path);
  return {
    path: root,
    journal: join(root, 'journal'),
    spool: join(root, 'spool'),
    transcripts: join(root, 'transcripts'),
    /** Made when a run writes a log. */
    logs: join(root, 'logs'),
    /** Made when runs are archived. */
    archive: join(root, 'archive'),
    /** Files without names, of running processes; made when something is too large for memory. */
    tmp: join(root, 'tmp'),
    db: join(root, 'tacho.db'),
  };
}

/** Made when they are needed. One rule for all, the archive too: what they hold is written and deleted without asking. */
const MADE_LATER = ['logs', 'archive', 'tmp', 'outbox', 'live', join('live', 'journal')];

/**
 * Makes the folder where it is missing; refuses one that another user, or a link, could read or redirect. The same holds
 * for each folder in it.
 */
export function openStateDir(path: string): StateDir {
  const state = stateDirAt(path);
  refuseForeign(state.path);
  ownFolder(state.path, true);
  for (const folder of [state.journal, state.spool, state.transcripts]) ownFolder(folder, false);
  for (const folder of MADE_LATER.map((name) => join(state.path, name)))
    if (isFolderOrLink(folder)) ownFolder(folder, false);
  ignoreInGit(state.path);
  markState(state.path);
  return state;
}

/** Not a file in the way: it ends what needs the folder, and no recording. */
function isFolderOrLink(path: string): boolean {
  try {
    const found = lstatSync(path);
    return found.isSymbolicLink() || found.isDirectory();
  } catch {
    return false;
  }
}

/** What may stand in a state folder that has no journal yet: what tacho makes, and what a fresh volume has. */
const AT_THE_START =
  /^(?:spool|transcripts|tacho\.db.*|redaction\.key|mark|\.gitignore|lost\+found)$/;

/** A folder that is used for something else keeps its mode and stays without our files. */
function refuseForeign(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // What is no folder of ours, or not even readable, is for `ownFolder` to refuse or mend.
  if (!found?.isDirectory() || (found.mode & 0o400) === 0) return;
  if (process.getuid !== undefined && found.uid !== process.getuid()) return;
  const names = readdirSync(path);
  if (names.includes('journal') || names.every((name) => AT_THE_START.test(name))) return;
  const text = `${path}: holds other things and no records of tacho: choose another --state-dir`;
  throw new TachoError('state_unusable', text, { stage: STAGE });
}

function ignoreInGit(folder: string): void {
  const path = join(folder, '.gitignore');
  // As a whole: an empty one, left by a kill, would hide nothing.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) writeAtomic(path, '*\n', STAGE);
}
