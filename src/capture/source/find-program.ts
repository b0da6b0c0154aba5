/** Finds programs the way the system does. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { errnoOf } from '../../lib/errors.ts';

export type ProgramLookup =
  | { state: 'found'; path: string }
  | { state: 'not_executable'; path: string }
  | { state: 'missing' };

/** The system's search path if PATH is unset. */
const PATH_DEFAULT = '/usr/local/bin:/usr/bin:/bin';

function lookAt(path: string): ProgramLookup {
  try {
    if (!statSync(path).isFile()) return { state: 'not_executable', path };
  } catch (cause) {
    const denied = errnoOf(cause) === 'EACCES';
    return denied ? { state: 'not_executable', path } : { state: 'missing' };
  }
  try {
    accessSync(path, constants.X_OK);
    return { state: 'found', path };
  } catch {
    return { state: 'not_executable', path };
  }
}

/** Searches like execvp: a name with a slash is a path from `cwd`, an empty entry of PATH is `cwd`. */
export function lookUpProgram(name: string, path: string | undefined, cwd: string): ProgramLookup {
  if (name === '' || name.includes('\0')) return { state: 'missing' };
  if (name.includes('/')) return lookAt(resolve(cwd, name));
  let refused: ProgramLookup = { state: 'missing' };
  for (const folder of (path ?? PATH_DEFAULT).split(delimiter)) {
    const found = lookAt(resolve(cwd, folder, name));
    if (found.state === 'found') return found;
    // A folder with the program's name is not a program without permission.
    if (found.state === 'not_executable' && refused.state === 'missing' && !isFolder(found.path)) {
      refused = found;
    }
  }
  return refused;
}

/** The program's absolute path. Null if it is missing or not executable. */
export function findProgram(name: string, path: string | undefined, cwd: string): string | null {
  const found = lookUpProgram(name, path, cwd);
  return found.state === 'found' ? found.path : null;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
