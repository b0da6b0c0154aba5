/** Finds the project that a filter names. */
import { existsSync } from 'node:fs';
import { basename, sep } from 'node:path';
import { projectOf } from '../../capture/source/project.ts';
import { TachoError } from '../../lib/errors.ts';
import { nearestWord, unknownWord } from '../../lib/schema/read.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';

/** The name of a project, as lists show it. */
export const projectName = (path: string) => basename(path) || path;

const PROJECTS_SHOWN = 20;

/**
 * The path of the project that a folder belongs to, or of the stored project with this name. A name is a word without a
 * path separator that is not a folder here. Throws if no project, or more than one, has the name.
 */
export function findProject(state: StateDir | null, given: string): string {
  if (state === null || given.includes(sep) || existsSync(given)) return projectOf(given).path;
  using index = openIndex(state);
  const projects = index.projects();
  const found = projects.filter((path) => projectName(path) === given);
  const [path] = found;
  if (path !== undefined && found.length === 1) return path;
  if (path !== undefined)
    throw usage(`several projects are named "${given}"; give the path of one:${listed(found)}`);
  const names = [...new Set(projects.map(projectName))];
  if (names.length === 0) return projectOf(given).path;
  const near = nearestWord(given, names);
  const shown = near === undefined ? names.slice(0, PROJECTS_SHOWN) : [near];
  throw usage(unknownWord('project', given, [...shown, 'a folder path']));
}

const listed = (paths: readonly string[]) =>
  paths
    .slice(0, PROJECTS_SHOWN)
    .map((path) => `\n  ${path}`)
    .join('');

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });
