/** Sockets and pipes lie in a folder that only their owner can enter: the folder protects them from the first moment on. */
import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { fileError, TachoError } from '../../lib/errors.ts';

/** Gives what releases the lock; null while another has it. */
export type Lock = (path: string) => (() => void) | null;

export const unusable = (text: string, cause?: unknown) =>
  new TachoError('state_unusable', text, { stage: 'live', cause });

/** Makes the folder when it is missing; refuses one that others can enter. */
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
  if (stat.uid !== process.getuid?.()) throw unusable(`${folder}: belongs to another user`);
  if ((stat.mode & 0o077) !== 0)
    throw unusable(
      `${folder}: others can enter this folder: choose one that is yours alone (mkdir -m 700), or leave the option out for the one in the state folder`,
    );
}

/** The file at the path; null for none. A link is never followed. */
export function standing(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
