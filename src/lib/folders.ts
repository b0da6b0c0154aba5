/** Looking into folders that may not be there. */
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

/** Without waiting for the writer of a pipe. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Catches the error of what is not there; also of what cannot be read, which is reported. Both count as `nothing`. */
const absentAs =
  <T>(nothing: T, unreadable?: Unreadable) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') unreadable?.(error);
    return nothing;
  };

/** Names in a folder, sorted; none where it is not there or cannot be read. */
export async function namesIn(folder: string, unreadable?: Unreadable): Promise<string[]> {
  try {
    // Many are not there. At once, as below: a promise each costs more than the looking.
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
    return readdirSync(folder).sort();
  } catch (error) {
    return absentAs<string[]>([], unreadable)(error as NodeJS.ErrnoException);
  }
}

/** The beginning of a regular file, as much as the bytes have room for; null where there is none. */
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

/** A file to read, without waiting for the writer of a pipe; null where it is no regular file. */
export async function openFile(path: string, unreadable?: Unreadable): Promise<FileHandle | null> {
  const file = await open(path, READ_FLAGS).catch(absentAs(null, unreadable));
  if (file === null || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/** Whether `path` is a regular file, and no folder between it and those that hold `other` too is a link. */
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
