/**
 * Temporary files of a process, in a folder of the state folder. Contract: a file loses its name as soon as it is
 * open, so that the system frees it with the process. If an open file cannot be removed, the next sweep removes it.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileError } from '../lib/errors.ts';
import { namesIn, unlinkQuietly } from './files.ts';
import { isAlive, thisOwner } from './owner.ts';
import { ownFolder } from './state-dir.ts';

/** `fd`: for writing and reading. Call `remove` after closing `fd`. */
export type TemporaryFile = ReturnType<typeof openTemporary>;

/** Names the process that created the file. */
const NAME = /^spill-(\d+)-(\d+)-[0-9a-f]{12}$/;

export function openTemporary(folder: string) {
  ownFolder(folder, true);
  const { pid, ticks } = thisOwner();
  const path = join(folder, `spill-${pid}-${ticks ?? 0}-${randomBytes(6).toString('hex')}`);
  const { O_RDWR, O_CREAT, O_EXCL } = constants;
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600);
    try {
      if (process.platform !== 'win32') unlinkSync(path);
    } catch (cause) {
      closeSync(fd);
      throw cause;
    }
    return { fd, remove: () => unlinkQuietly(path) };
  } catch (cause) {
    throw fileError(cause, folder, 'temporary');
  }
}

/** Removes files of dead processes: those killed between creating and unlinking a file, and on Windows all of them. */
export function sweepTemporary(folder: string): void {
  for (const name of namesIn(folder)) {
    const [, pid, ticks] = NAME.exec(name) ?? [];
    if (pid === undefined) continue;
    if (!isAlive(Number(pid), Number(ticks) || null)) unlinkQuietly(join(folder, name));
  }
}
