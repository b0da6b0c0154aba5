/** The folder that a run worked in, for graders: its paths, its files, and whether commands may be started there. */
import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { FileFacts, RunPlace } from '../../evals/types.ts';
import { baseOf, cleanPath, pathInside } from '../../lib/paths.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { APP_LIMITS } from '../limits.ts';

/** Resolves symbolic links as far as the path exists. */
function realBase(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realBase(parent), basename(path));
  }
}

const rootsOf = (cwd: string | null): string[] => {
  const base = baseOf(cwd);
  return base === null ? [] : [...new Set([base, realBase(base)])];
};

interface Known {
  /** The folder that the run's folder is a copy of. Null if it is not a copy. */
  template: string | null;
  /** Changed paths in the record of the run. Null if there is no such record. */
  changes: readonly string[] | null;
}

/** For a run that a test started: the user chose its folder. */
export function placeOfRun(cwd: string, known: Known): RunPlace {
  return placeAt(resolve(cwd), '', known);
}

/** For a recorded run: its folder comes from a file, so commands are started only in the current folder and below. */
export function placeOfRecord(cwd: string | null, changes: Known['changes']): RunPlace {
  return placeAt(cwd, refusalFor(cwd), { template: null, changes });
}

function refusalFor(cwd: string | null): string {
  if (cwd === null) return 'the record does not name the folder of the run';
  if (lstat(cwd)?.isDirectory() !== true) return `the folder of the run is missing: ${cwd}`;
  if (pathInside(realBase(cwd), [realBase('.')]) !== null) return '';
  return `the run worked in ${cwd}: change to that folder or one above it`;
}

function placeAt(cwd: string | null, refusal: string, known: Known): RunPlace {
  const roots = rootsOf(cwd);
  const folder = refusal === '' ? cwd : null;
  return {
    roots,
    folder,
    refusal,
    file(path) {
      const changed = wasChanged(path, { folder, roots }, known);
      const failed = (failure: string) => ({ failure, exists: false, changed, text: null });
      return folder === null ? failed(refusal) : { ...fileIn(folder, path), changed };
    },
  };
}

function fileIn(folder: string, path: string): Omit<FileFacts, 'changed'> {
  const file = realBase(join(folder, path));
  if (pathInside(file, [realBase(folder)]) === null)
    return { failure: `${path} is outside the folder of the run`, exists: false, text: null };
  const stat = lstat(file);
  const exists = stat !== undefined && !stat.isSymbolicLink();
  return { failure: null, exists, text: stat?.isFile() ? textOf(file) : null };
}

function textOf(path: string): string | null {
  try {
    return readTextFile(path, { bytes_max: APP_LIMITS.graded_file_bytes_max, stage: 'eval' }).text;
  } catch {
    return null;
  }
}

/** A copy is compared with its template, which also shows the effects of commands. Otherwise the record is used. */
function wasChanged(
  path: string,
  { folder, roots }: { folder: string | null; roots: readonly string[] },
  { template, changes }: Known,
): boolean | null {
  if (folder !== null && template !== null)
    return !isSame(join(template, path), join(folder, path));
  const name = cleanPath(path);
  const inside = changes?.map((one) => pathInside(one, roots) ?? one);
  return inside?.some((one) => one === name || one.startsWith(`${name}/`)) ?? null;
}

/** Links are not followed. */
function isSame(before: string, after: string): boolean {
  const [a, b] = [lstat(before), lstat(after)];
  if (a === undefined || b === undefined) return a === b;
  if (a.isSymbolicLink() && b.isSymbolicLink()) return readlinkSync(before) === readlinkSync(after);
  if (a.isFile() && b.isFile())
    return a.size === b.size && readFileSync(before).equals(readFileSync(after));
  return a.isDirectory() && b.isDirectory() && haveSame(before, after);
}

function haveSame(before: string, after: string): boolean {
  const names = new Set([...readdirSync(before), ...readdirSync(after)]);
  return [...names].every((name) => isSame(join(before, name), join(after, name)));
}

const lstat = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });
