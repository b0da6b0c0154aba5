/** Looks for programs as the system does. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { errnoOf } from '../../lib/errors.ts';

export type ProgramLookup =
  | { state: 'found'; path: string }
  | { state: 'not_executable'; path: string }
  | { state: 'missing' };

/** What the system searches when there is no PATH. */
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

/** Looks as execvp does: a name with a slash is a path from `cwd`, an empty entry of PATH is `cwd`. */
export function lookUpProgram(name: string, path: string | undefined, cwd: string): ProgramLookup {
  if (name === '' || name.includes('\0')) return { state: 'missing' };
  if (name.includes('/')) return lookAt(resolve(cwd, name));
  let refused: ProgramLookup = { state: 'missing' };
  for (const folder of (path ?? PATH_DEFAULT).split(delimiter)) {
    const found = lookAt(resolve(cwd, folder, name));
    if (found.state === 'found') return found;
    // A folder that happens to have the program's name is no program that lacks a permission.
    if (found.state === 'not_executable' && refused.state === 'missing' && !isFolder(found.path)) {
      refused = found;
    }
  }
  return refused;
}

/** The program's absolute path; null when it is missing or not executable. */
export function findProgram(name: string, path: string | undefined, cwd: string): string | null {
  const found = lookUpProgram(name, path, cwd);
  return found.state === 'found' ? found.path : null;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
