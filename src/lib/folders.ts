/** Looking into folders that may not be there. */
import { constants, lstatSync } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';

/** Names in a folder, sorted; none where it cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(() => []);
  return names.sort();
}

export async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() ?? false;
}

/** A file to read, without waiting for the writer of a pipe; null where it is no regular file. */
export async function openFile(path: string): Promise<FileHandle | null> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => null);
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
