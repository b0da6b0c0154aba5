/**
 * The project of a folder: the root of its git work tree, and the remote in the repository's configuration. Reads
 * files and starts no program: git itself would run programs that the repository chooses.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { headIn } from '../../lib/folders.ts';
import type { Project } from '../../model/parts.ts';
import { CAPTURE_LIMITS } from '../limits.ts';
import { remoteIn } from './git-remote.ts';

/** The nearest folder with a `.git`, from this one upwards. Null if git would find no repository either. */
export function repositoryAbove(cwd: string): string | null {
  for (let top = cwd; ; top = dirname(top)) {
    if (existsSync(join(top, '.git'))) return top;
    if (dirname(top) === top) return null;
  }
}

/** Outside of a repository: the folder itself, without a remote. */
export function projectOf(folder: string): Project {
  const cwd = realPath(folder);
  const top = repositoryAbove(cwd);
  if (top === null) return { path: cwd, remote: null };
  const config = textIn(join(configFolder(join(top, '.git')), 'config'));
  return { path: top, remote: remoteIn(config) };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/**
 * Linked work trees and submodules have a `.git` file that names their folder. Several work trees share one
 * configuration.
 */
function configFolder(git: string): string {
  const [, named] = /^gitdir: (.+)/.exec(textIn(git)) ?? [];
  const folder = named === undefined ? git : resolve(dirname(git), named);
  const common = textIn(join(folder, 'commondir')).trim();
  return common === '' ? folder : resolve(folder, common);
}

/** The beginning of a file. Empty if it is missing or not a file. */
function textIn(path: string): string {
  const head = headIn(path, Buffer.alloc(CAPTURE_LIMITS.git_config_bytes_max));
  return head?.toString('utf8') ?? '';
}
