/** Files of the state folder: mode 0600 regardless of the umask, never through a symbolic link, durable where stated. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  type StatsBase,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, fileError, withPath } from '../lib/errors.ts';
import { withFd } from '../lib/with-fd.ts';

// Windows has neither flag; there, a folder's ACL protects it.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_BLOCK = constants.O_NONBLOCK ?? 0;
const FILE_MODE = 0o600;

const syncLater = promisify(fsync);

/** Opens a new file for appending. Fails if anything exists at the path, even a dangling link. */
export function createPrivate(path: string): number {
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants;
  return openWith(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
}

/** Opens a file for appending, and creates it if it is missing. */
export function openAppend(path: string): number {
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  return openWith(path, O_WRONLY | O_CREAT | O_APPEND);
}

function openWith(path: string, flags: number): number {
  const fd = openSync(path, flags | NO_FOLLOW | NO_BLOCK, FILE_MODE);
  try {
    refuseIrregular(fstatSync(fd));
    if (flags !== constants.O_RDONLY) fchmodSync(fd, FILE_MODE);
    return fd;
  } catch (error) {
    closeSync(fd);
    // With this flag the file is new and known to no other process.
    if ((flags & constants.O_EXCL) !== 0) unlinkQuietly(path);
    throw error;
  }
}

/** Opens an existing file for reading. Refuses a link, pipe or folder in its place, and does not block on a pipe. */
export function openRead(path: string): number {
  return openWith(path, constants.O_RDONLY);
}

export function refuseIrregular(stat: StatsBase<number | bigint>): void {
  if (stat.isFile()) return;
  const code = stat.isSymbolicLink() ? 'ELOOP' : stat.isDirectory() ? 'EISDIR' : 'EINVAL';
  throw errno(code, 'not a regular file');
}

/** The first bytes of a file, at most `bytes_max`. */
export function readStart(path: string, bytes_max: number): Buffer {
  const bytes = Buffer.alloc(bytes_max);
  return withFd(openRead(path), (fd) => bytes.subarray(0, readSync(fd, bytes, 0, bytes_max, 0)));
}

/** An error like those of the file system. */
export function errno(code: string, text: string = code): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error(text);
  error.code = code;
  return error;
}

/** `bytes_max`: a larger file is refused, even one that grows while it is read. */
export function readPrivate(path: string, bytes_max = Number.POSITIVE_INFINITY): Buffer {
  return withFd(openRead(path), (fd) => {
    if (bytes_max === Number.POSITIVE_INFINITY) return readFileSync(fd);
    const { size } = fstatSync(fd);
    if (size > bytes_max) throw errno('EFBIG', `it has ${size} bytes, over ${bytes_max}`);
    const bytes = Buffer.allocUnsafe(size);
    let done = 0;
    for (let count = -1; count !== 0 && done < size; done += count)
      count = readSync(fd, bytes, done, size - done, null);
    return bytes.subarray(0, done);
  });
}

/** Writes all of `bytes`: a full disk shows first as a short count and only then as an error. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done);
}

/** Appends the text durably: when this returns, it survives a power failure. */
export function appendDurably(path: string, text: string): void {
  const fd = openAppend(path);
  try {
    writeAll(fd, Buffer.from(text));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes the names in a folder durable, if the system can. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  withFd(openSync(path, constants.O_RDONLY), fsyncSync);
}

/** The same without blocking the event loop. */
async function syncFolderLater(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const fd = openSync(path, constants.O_RDONLY);
  try {
    await syncLater(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces `path` atomically: a reader sees either the old or the new text. If durable, this holds even after a power
 * failure.
 */
export function writeAtomic(
  path: string,
  text: string | Buffer,
  stage: string,
  durable = true,
): void {
  using file = startPrivate(path, stage, durable);
  file.write(typeof text === 'string' ? Buffer.from(text, 'utf8') : text);
  file.commit();
}

export type PrivateFile = ReturnType<typeof startPrivate>;

const UNFINISHED = /^\.(.+)\.(\d+)-[\d.]+\.tmp$/;

/** The process that is writing the unfinished file with this name. Null if it is not an unfinished file. */
export function makerOf(name: string): number | null {
  const pid = UNFINISHED.exec(name)?.[2];
  return pid === undefined ? null : Number(pid);
}

/** The final name of an unfinished file. For any other file, its own name. */
export function finalName(name: string): string {
  return UNFINISHED.exec(name)?.[1] ?? name;
}

/**
 * An unfinished file: nothing exists at its path before `commit`. `durable`: it survives a power failure; not needed for
 * files that can be recreated.
 */
export function startPrivate(path: string, stage: string, durable = true) {
  const temp = join(
    dirname(path),
    `.${basename(path)}.${process.pid}-${process.hrtime.bigint()}.tmp`,
  );
  const named = <T>(work: () => T): T => withPath(path, stage, work);
  const fd = named(() => createPrivate(temp));
  let done = false;
  const close = () => {
    done = true;
    closeSync(fd);
  };
  const abandon = () => {
    if (done) return;
    close();
    unlinkQuietly(temp);
  };
  return {
    write: (bytes: Uint8Array) => named(() => writeAll(fd, bytes)),
    commit: () =>
      named(() => {
        if (durable) fsyncSync(fd);
        renameSync(temp, path);
        close();
        if (durable) syncFolder(dirname(path));
      }),
    /**
     * The same, durable, without blocking the event loop. Resolves with the committed file, even if another file has
     * replaced it.
     */
    async commitLater(): Promise<BigIntStats> {
      await syncLater(fd);
      named(() => renameSync(temp, path));
      const made = fstatSync(fd, { bigint: true });
      close();
      await syncFolderLater(dirname(path));
      return made;
    },
    /** Does nothing after `commit`. Called at the end of a `using` block. */
    abandon,
    [Symbol.dispose]: abandon,
  };
}

export function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is missing, or cannot be removed: the caller reports the first failure.
  }
}

/** A missing file is not an error. */
export function removeFile(path: string, stage: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (!['ENOENT', 'ENOTDIR'].includes(errnoOf(cause))) throw fileError(cause, path, stage);
  }
}

/** Waits without yielding to the event loop. */
export function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Names in a folder, sorted. Empty if it cannot be read or a link is in its place. */
export function namesIn(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder).sort() : [];
  } catch {
    return [];
  }
}

/** Removes the files next to `path` with names that begin with its name and `end`. */
export function removeBeside(path: string, end: string): void {
  const prefix = basename(path) + end;
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(prefix)) unlinkQuietly(join(dirname(path), name));
}
