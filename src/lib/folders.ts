/** Looking into folders that may not be there. */
import { constants, lstatSync } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import type { Unreadable } from '../model/agent.ts';

/** Catches the error of what is not there; also of what cannot be read, which is reported. Both count as `nothing`. */
const absentAs =
  <T>(nothing: T, unreadable?: Unreadable) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') unreadable?.(error);
    return nothing;
  };

/** Names in a folder, sorted; none where it is not there or cannot be read. */
export async function namesIn(folder: string, unreadable?: Unreadable): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(absentAs([], unreadable));
  return names.sort();
}

export async function isFile(path: string, unreadable?: Unreadable): Promise<boolean> {
  const found = await stat(path).catch(absentAs(null, unreadable));
  return found?.isFile() ?? false;
}

/** A file to read, without waiting for the writer of a pipe; null where it is no regular file. */
export async function openFile(path: string, unreadable?: Unreadable): Promise<FileHandle | null> {
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch(absentAs(null, unreadable));
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
