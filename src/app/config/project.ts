/** The files of a project: a file may name others of its project without consent. */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { homeFolder } from '../../lib/home.ts';
import { writableByOthers } from './find-config.ts';

/** Whether a path, links followed, is outside of the project that the file `path` is in. */
export function outsideProject(path: string): (other: string) => boolean {
  const top = projectOf(realPath(dirname(path)));
  return (other) => relative(top, realPath(other)).startsWith('..');
}

/** The same for an eval file, which names any files: in a folder that is no project, everything else is outside. */
export function outsideEvalProject(path: string): (other: string) => boolean {
  const file = realPath(path);
  if (isProject(projectOf(dirname(file)))) return outsideProject(file);
  return (other) => realPath(other) !== file;
}

/** Not the home folder, nor one above it that is no repository, nor one that others can put files into. */
function isProject(top: string): boolean {
  const home = realPath(homeFolder());
  if (top === home || writableByOthers(lstatSync(top)) !== null) return false;
  return existsSync(join(top, '.git')) || relative(top, home).startsWith('..');
}

/** The repository that the folder is in; outside of any, the folder. A repository of the whole home folder is none. */
function projectOf(start: string): string {
  const home = realPath(homeFolder());
  for (let folder = start; folder !== home && dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, '.git'))) return folder;
  return start;
}

/** The path itself where nothing is there. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
