/** Files of the state folder: 0600 whatever the umask, never through a symbolic link, durable when it is said so. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileError } from '../lib/errors.ts';

// Windows has neither flag; there a folder's ACL is what protects it.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_BLOCK = constants.O_NONBLOCK ?? 0;
const FILE_MODE = 0o600;

/** A new file to append to. Fails when anything, a dangling link included, stands there. */
export function createPrivate(path: string): number {
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants;
  return openWith(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
}

/** A file to append to, made when it is not there. */
export function openAppend(path: string): number {
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  return openWith(path, O_WRONLY | O_CREAT | O_APPEND);
}

function openWith(path: string, flags: number): number {
  const fd = openSync(path, flags | NO_FOLLOW | NO_BLOCK, FILE_MODE);
  try {
    regular(fd);
    fchmodSync(fd, FILE_MODE);
    return fd;
  } catch (error) {
    closeSync(fd);
    // With this flag it is new, and nobody else knows of it.
    if ((flags & constants.O_EXCL) !== 0) unlinkQuietly(path);
    throw error;
  }
}

/** An existing file to read. A link, a pipe or a folder in its place is refused, and a pipe does not block. */
export function openRead(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | NO_FOLLOW | NO_BLOCK);
  try {
    regular(fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function regular(fd: number): void {
  const stat = fstatSync(fd);
  if (stat.isFile()) return;
  throw errno(stat.isDirectory() ? 'EISDIR' : 'EINVAL', 'not a regular file');
}

/** An error like the file system's own. */
export function errno(code: string, text: string = code): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(text);
  error.code = code;
  return error;
}

/** `bytes_max`: a larger file is refused, also one that grows while it is read. */
export function readPrivate(path: string, bytes_max = Number.POSITIVE_INFINITY): Buffer {
  const fd = openRead(path);
  try {
    if (bytes_max === Number.POSITIVE_INFINITY) return readFileSync(fd);
    const { size } = fstatSync(fd);
    if (size > bytes_max) throw errno('EFBIG', `it has ${size} bytes, over ${bytes_max}`);
    const bytes = Buffer.allocUnsafe(size);
    let done = 0;
    for (let count = -1; count !== 0 && done < size; done += count)
      count = readSync(fd, bytes, done, size - done, null);
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/** Writes all of `bytes`: a full disk shows first as a short count, only then as an error. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done);
}

/** Makes the names in a folder durable, where the system can. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Replaces `path` as a whole: a reader sees the old text or the new, also after a power cut. */
export function writeAtomic(path: string, text: string | Buffer, stage: string): void {
  const file = startPrivate(path, stage);
  try {
    file.write(typeof text === 'string' ? Buffer.from(text, 'utf8') : text);
    file.commit();
  } finally {
    file.abandon();
  }
}

/** A file in the making: nothing stands at its path before `commit`. */
export interface PrivateFile {
  write(bytes: Uint8Array): void;
  commit(): void;
  /** Does nothing after `commit`. */
  abandon(): void;
}

const UNFINISHED = /^\.(.+)\.(\d+)-[\d.]+\.tmp$/;

/** The process that makes the file with this name; null: it is no file in the making. */
export function makerOf(name: string): number | null {
  const pid = UNFINISHED.exec(name)?.[2];
  return pid === undefined ? null : Number(pid);
}

/** The name that a file in the making is to get; of any other file its own. */
export function finalName(name: string): string {
  return UNFINISHED.exec(name)?.[1] ?? name;
}

/** `durable`: also after a power cut; not needed for what can be made again. */
export function startPrivate(path: string, stage: string, durable = true): PrivateFile {
  const temp = join(dirname(path), `.${basename(path)}.${process.pid}-${performance.now()}.tmp`);
  const named = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw fileError(cause, path, stage);
    }
  };
  const fd = named(() => createPrivate(temp));
  let done = false;
  const close = () => {
    done = true;
    closeSync(fd);
  };
  return {
    write: (bytes) => named(() => writeAll(fd, bytes)),
    commit: () =>
      named(() => {
        if (durable) fsyncSync(fd);
        renameSync(temp, path);
        close();
        if (durable) syncFolder(dirname(path));
      }),
    abandon() {
      if (done) return;
      close();
      unlinkQuietly(temp);
    },
  };
}

export function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Not there, or not ours to remove: the caller reports the first failure.
  }
}

/** Names in a folder, sorted; none where it cannot be read, or a link is in its place. */
export function namesIn(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder).sort() : [];
  } catch {
    return [];
  }
}

/** Removes the files beside `path` with names that are its name and `end` at their beginning. */
export function removeBeside(path: string, end: string): void {
  const prefix = basename(path) + end;
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(prefix)) unlinkQuietly(join(dirname(path), name));
}
