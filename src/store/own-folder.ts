/** A folder that only this user can access: mode 0700, owned by the user, not a symbolic link (ST-8, ST-9). */
import {
  chmodSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ELSEWHERE, errnoOf, TachoError, withPath } from '../lib/errors.ts';
import { withFd } from '../lib/with-fd.ts';
import { errno, syncFolder } from './files.ts';

const STAGE = 'state';

/** A private folder with mode 0700, created if it is missing. */
export function ownFolder(path: string, recursive: boolean): void {
  withPath(path, STAGE, () => {
    const made = makeFolder(path, recursive);
    if (lstatSync(path).isSymbolicLink()) throw errno('ELOOP');
    checkOwner(path);
    if (made) syncFolder(dirname(path));
  });
}

function makeFolder(path: string, recursive: boolean): boolean {
  try {
    // `recursive` follows links on the way down, which is fine above the state folder, and does not check the last step. The
    // mode prevents others from writing there regardless of the umask: they could put another folder in its place.
    if (recursive) mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') return false;
    throw cause;
  }
}

function checkOwner(path: string): void {
  const before = lstatSync(path);
  if (!before.isDirectory()) throw errno('ENOTDIR');
  if (process.platform === 'win32') return;
  // A folder without read permission cannot be opened, but its owner can still grant access.
  if (before.uid !== process.getuid?.()) throw foreign(path, before.uid);
  if ((before.mode & 0o500) !== 0o500) chmodSync(path, 0o700);
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  withFd(openSync(path, flags), (fd) => {
    const stat = fstatSync(fd);
    if (stat.uid !== process.getuid?.()) throw foreign(path, stat.uid);
    if ((stat.mode & 0o777) !== 0o700) fchmodSync(fd, 0o700);
  });
}

function foreign(path: string, uid: number): TachoError {
  const text = `${path}: belongs to another user (uid ${uid}): ${ELSEWHERE}`;
  return new TachoError('state_unusable', text, { stage: STAGE });
}
