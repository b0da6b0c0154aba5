/** The project that a file belongs to: a file may name others of its project without consent. */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { homeFolder } from '../../lib/home.ts';
import { writableByOthers } from './find-config.ts';

/** Whether a path, with links resolved, is outside the project of the file `path`. */
export function outsideProject(path: string): (other: string) => boolean {
  const top = projectOf(realPath(dirname(path)));
  return (other) => relative(top, realPath(other)).startsWith('..');
}

/**
 * The same for an eval file, which may name any files: in a folder that is not a project, everything else is outside.
 */
export function outsideEvalProject(path: string): (other: string) => boolean {
  const file = realPath(path);
  if (isProject(projectOf(dirname(file)))) return outsideProject(file);
  return (other) => realPath(other) !== file;
}

/** Not the home folder, nor a non-repository above it, nor a folder that others can put files into. */
function isProject(top: string): boolean {
  const home = realPath(homeFolder());
  if (top === home || writableByOthers(lstatSync(top)) !== null) return false;
  return existsSync(join(top, '.git')) || relative(top, home).startsWith('..');
}

/** The repository that the folder is in, or the folder itself. A repository of the whole home folder does not count. */
function projectOf(start: string): string {
  const home = realPath(homeFolder());
  for (let folder = start; folder !== home && dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, '.git'))) return folder;
  return start;
}

/** The path itself if nothing exists there. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
