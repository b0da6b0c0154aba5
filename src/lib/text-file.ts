/** Reads hand-written files: only regular files of bounded size, without waiting for the writer of a pipe. */
import { constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { TachoError, withPath } from './errors.ts';
import { isUtf8 } from './utf8.ts';
import { withFd } from './with-fd.ts';

export interface TextFile {
  text: string;
  bytes: Buffer;
  /** The stat of the file that was read. The file at its path may have changed since. */
  stat: Stats;
}

/** Throws a TachoError that names the file. */
export function readTextFile(
  path: string,
  options: { bytes_max: number; stage: string },
): TextFile {
  const { bytes_max, stage } = options;
  const refuse = (why: string) => new TachoError('config_invalid', `${path}: ${why}`, { stage });
  const read = (fd: number) => {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw refuse('is not a regular file');
    // Some files in /proc report no size.
    const bytes = stat.size > bytes_max ? null : readUpTo(fd, bytes_max + 1);
    if (bytes === null || bytes.length > bytes_max)
      throw refuse(`is larger than ${bytes_max} bytes`);
    if (!isUtf8(bytes)) throw refuse('is not UTF-8: convert it first');
    return { text: bytes.toString('utf8'), bytes, stat };
  };
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  return withPath(path, stage, () => withFd(openSync(path, flags), read));
}

const PIECE_BYTES = 64 * 1024;

function readUpTo(fd: number, bytes_max: number): Buffer {
  const pieces: Buffer[] = [];
  for (let held = 0; held < bytes_max; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, bytes_max - held));
    const count = readSync(fd, piece);
    if (count === 0) break;
    pieces.push(piece.subarray(0, count));
    held += count;
  }
  return Buffer.concat(pieces);
}
