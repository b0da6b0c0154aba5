/** Sockets and pipes are in a folder that only the owner can enter, so they are protected from their creation on. */
import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { fileError, TachoError } from '../../lib/errors.ts';

/** Returns a function that releases the lock; null while another process has it. */
export type Lock = (path: string) => (() => void) | null;

export const unusable = (text: string, cause?: unknown) =>
  new TachoError('state_unusable', text, { stage: 'live', cause });

/** Creates the folder when it is missing; refuses a folder that others can enter. */
export function privateFolder(path: string): void {
  const folder = dirname(path);
  let stat: Stats;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    stat = lstatSync(folder);
  } catch (cause) {
    throw fileError(cause, folder, 'live');
  }
  if (stat.isSymbolicLink())
    throw unusable(`${folder}: it is a symbolic link, which is not followed`);
  if (process.platform === 'win32') return;
  if (stat.uid !== process.getuid?.())
    throw unusable(`${folder}: this folder belongs to another user: choose one of your own`);
  if ((stat.mode & 0o077) !== 0)
    throw unusable(
      `${folder}: other users can enter this folder: choose a private one (mkdir -m 700), or omit the option to use the state folder`,
    );
}

/** The file at the path; null for none. Does not follow links. */
export function fileAt(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
