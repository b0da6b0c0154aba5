/** Reading folders that may not exist. */
import {
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import type { Unreadable } from '../model/agent.ts';
import { withFd } from './with-fd.ts';

/** Does not wait for the writer of a pipe. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Returns `nothing` for a missing file, and for an unreadable file, which is reported. */
const absentAs =
  <T>(nothing: T, unreadable?: Unreadable) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') unreadable?.(error);
    return nothing;
  };

/** Names in a folder, sorted; empty if the folder does not exist or cannot be read. */
export async function namesIn(folder: string, unreadable?: Unreadable): Promise<string[]> {
  try {
    // Many folders do not exist. Synchronous, as below: a promise costs more than the lookup.
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
    return readdirSync(folder).sort();
  } catch (error) {
    return absentAs<string[]>([], unreadable)(error as NodeJS.ErrnoException);
  }
}

/** Reads the beginning of a regular file into the buffer; null if there is no such file. */
export function headIn(path: string, into: Buffer, unreadable?: Unreadable): Buffer | null {
  try {
    return withFd(openSync(path, READ_FLAGS), (fd) => {
      if (!fstatSync(fd).isFile()) return null;
      return into.subarray(0, readSync(fd, into, 0, into.length, 0));
    });
  } catch (error) {
    return absentAs(null, unreadable)(error as NodeJS.ErrnoException);
  }
}

export async function isFile(path: string, unreadable?: Unreadable): Promise<boolean> {
  const found = await stat(path).catch(absentAs(null, unreadable));
  return found?.isFile() ?? false;
}

/** Opens a file for reading without waiting for the writer of a pipe; null if it is not a regular file. */
export async function openFile(path: string, unreadable?: Unreadable): Promise<FileHandle | null> {
  const file = await open(path, READ_FLAGS).catch(absentAs(null, unreadable));
  if (file === null || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/** Whether `path` is a regular file, and no folder between it and the parents that it shares with `other` is a link. */
export function liesBeside(path: string, other: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) return false;
  const known = dirname(resolve(other)) + sep;
  let folder = dirname(resolve(path));
  while (!known.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
    if (!lstatSync(folder).isDirectory()) return false;
    folder = dirname(folder);
  }
  return true;
}
