/**
 * Finds the `tacho.yaml` of a folder: never above the repository or the home folder, never one that others can write to.
 */
import { existsSync, lstatSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { homeFolder } from '../../lib/home.ts';

const NAME = 'tacho.yaml';

/** Why another user could have written it. Null if only this user and the administrator could. */
export function writableByOthers({ uid, gid, mode }: Stats): string | null {
  if (process.getuid === undefined) return null;
  const own = process.getuid();
  if (uid !== own && uid !== 0) return `belongs to another user (uid ${uid})`;
  if ((mode & 0o002) !== 0) return 'can be written by every user';
  // By common convention a group that only contains the user: the umask of many systems lets it write.
  const private_group = own !== 0 && gid === own;
  return (mode & 0o020) !== 0 && !private_group ? `can be written by group ${gid}` : null;
}

const untrusted = (text: string) => new TachoError('untrusted', text, { stage: 'config' });

export const notRead = (path: string, why: string) =>
  untrusted(
    `${path}: ${why}: tacho does not read it; make it writable only by you (chown, chmod go-w), or remove it`,
  );

export const linked = (path: string) =>
  untrusted(
    `${path}: is a link to a file outside of its repository or folder: tacho does not read it; replace it with a copy`,
  );

/**
 * The nearest `tacho.yaml` from `cwd` upwards, or null. The search ends at the top of the repository, at the home
 * folder, and at a folder that others can write to. A file there is refused in `cwd` itself; above it, `say` reports
 * that it is ignored.
 */
export function findConfig(cwd: string, say: (text: string) => void = () => {}): string | null {
  const work = realpathSync(cwd);
  const home = realHome();
  for (let folder = work; ; folder = dirname(folder)) {
    const path = join(folder, NAME);
    const found = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    const why = writableByOthers(lstatSync(folder));
    if (why !== null && found) {
      if (folder === work) throw notRead(path, `its folder ${why}`);
      say(`warning: ${path} is ignored: its folder ${why}`);
    }
    if (why !== null) return null;
    if (found) return path;
    if (folder === home || existsSync(join(folder, '.git')) || dirname(folder) === folder)
      return null;
  }
}

function realHome(): string | null {
  try {
    return realpathSync(homeFolder());
  } catch {
    return null;
  }
}
