/** A git work tree at one moment: the files that differ from its last commit, and their contents. */
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { own } from '../../lib/own.ts';
import { CAPTURE_LIMITS } from '../limits.ts';
import { ABSENT, type FileState, oidOf, readState } from './file-state.ts';
import { type GitFailure, type GitRun, listConfig, runGit, withoutFilters } from './git.ts';
import { repositoryAbove } from './project.ts';
import type { Worktree, WorktreeLimit } from './worktree.ts';

export interface SnapshotOptions {
  /** The snapshot that this one will be compared with, needed for commits made and changes undone between them. */
  since?: Worktree | null;
  /** Absolute folders to exclude, besides `.tacho`. */
  ignore?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

const READERS = 8;

/** Null if the folder is not in a git work tree, or if git is not installed. */
export async function snapshotWorktree(
  cwd: string,
  options: SnapshotOptions = {},
): Promise<Worktree | null> {
  const run: GitRun = {
    cwd,
    env: options.env ?? process.env,
    signal: AbortSignal.timeout(CAPTURE_LIMITS.worktree_wait_ms),
    output_bytes_max: CAPTURE_LIMITS.worktree_output_bytes_max,
  };
  try {
    const real = realpathSync(cwd);
    const top = repositoryAbove(real);
    if (top === null) return null;
    if (hasPipe(top)) return emptyTree(cwd, cwd, ['unsafe_config']);
    const config = await listConfig(run);
    const plain = plainTree(top, real, config);
    const tree = plain ?? (await findTree(run));
    if (tree === null) return null;
    const filters = config === null ? null : withoutFilters(config);
    if (filters === null || !ownTree(tree)) stop(tree, run.signal.aborted ? 'timed_out' : 'unsafe');
    // In the same folder as `filters`: from the top, git may find another repository with its own filters.
    else await fill(tree, { ...run, settings: filters }, options);
    // Git knows further reasons why this is not a work tree.
    const failed = plain !== null && tree.limits.includes('git_failed');
    return failed && (await findTree(run)) === null ? null : tree;
  } catch {
    // The folder was removed meanwhile: there is nothing to compare.
    return null;
  }
}

/** Files that git reads first: a pipe in their place would block it until its time is up. */
const READ_FIRST = [
  '.gitignore',
  '.gitattributes',
  '.git/HEAD',
  '.git/config',
  '.git/index',
  '.git/packed-refs',
  '.git/info/exclude',
  '.git/info/attributes',
];

const statOf = (path: string) => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

const hasPipe = (top: string) => READ_FIRST.some((name) => statOf(join(top, name))?.isFIFO());

/** Settings with which the work tree is not simply the folder that has the `.git`, or with another kind of ids. */
const SPECIAL_KEY = /^(?:core\.worktree$|extensions\.)/;

/**
 * The work tree of an ordinary repository, found without asking git: a `.git` folder of our own with all its parts,
 * and no special settings. Null if git must be asked.
 */
function plainTree(top: string, cwd: string, config: readonly string[] | null): Worktree | null {
  if (config === null || config.some((key) => SPECIAL_KEY.test(key))) return null;
  const git = join(top, '.git');
  const folders = [top, git, join(git, 'objects'), join(git, 'refs')];
  const uid = process.geteuid?.();
  const ours = (path: string) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() === true && found.uid === uid;
  };
  if (uid === undefined || !folders.every(ours) || existsSync(join(git, 'commondir'))) return null;
  const inside = relative(git, cwd).startsWith('..');
  return inside && statOf(join(git, 'HEAD'))?.isFile() ? emptyTree(top, cwd) : null;
}

async function findTree(run: GitRun): Promise<Worktree | null> {
  const asked = ['--is-inside-work-tree', '--show-object-format', '--show-toplevel'];
  const found = await runGit(['rev-parse', ...asked], run);
  const cwd = realpathSync(run.cwd);
  if (!found.ok) return found.why === 'timed_out' ? emptyTree(cwd, cwd, ['timed_out']) : null;
  const [inside, format, ...rest] = found.output.toString('utf8').split('\n');
  if (inside !== 'true') return null;
  // Last, because a folder's name may contain line feeds.
  const tree = emptyTree(rest.slice(0, -1).join('\n'), cwd);
  return { ...tree, oid_length: format === 'sha256' ? 64 : 40 };
}

function emptyTree(top: string, cwd: string, limits: WorktreeLimit[] = []): Worktree {
  const [files, committed, moved] = [new Map(), new Map(), new Map()];
  return { top, cwd, oid_length: 40, head: null, files, committed, moved, limits };
}

/** `core.worktree` may name any folder. The top of a real work tree has a `.git`, and the run's folder is inside it. */
function ownTree({ top, cwd }: Worktree): boolean {
  const from_top = relative(top, cwd);
  if (from_top === '..' || from_top.startsWith(`..${sep}`)) return false;
  return lstatSync(`${top}/.git`, { throwIfNoEntry: false }) !== undefined;
}

const WHY_STOPPED: Readonly<Partial<Record<GitFailure | 'unsafe', WorktreeLimit>>> = {
  too_much: 'too_many_files',
  timed_out: 'timed_out',
  unsafe: 'unsafe_config',
};

async function fill(tree: Worktree, run: GitRun, options: SnapshotOptions): Promise<void> {
  const args = ['status', '--porcelain=v2', '--branch', '--no-ahead-behind', '-z'];
  const all = ['--untracked-files=all', '--no-renames', '--ignore-submodules=all'];
  const status = await runGit([...args, ...all], run);
  if (!status.ok) return stop(tree, status.why);
  const since = options.since ?? null;
  const ignored = ignoredPrefixes(tree.top, options.ignore ?? []);
  const seen = [...(since?.files.keys() ?? []), ...parseStatus(status.output, tree)];
  const paths = new Set(seen.filter((path) => !isIgnored(path, ignored)));
  if (paths.size > CAPTURE_LIMITS.worktree_files_max) return stop(tree, 'too_much');
  if (since !== null && since.head !== tree.head) await compareHeads(tree, since.head, run);
  for (const path of tree.moved.keys()) if (isIgnored(path, ignored)) tree.moved.delete(path);
  await readFiles(tree, [...paths], run.signal);
}

function stop(tree: Worktree, why: GitFailure | 'unsafe'): void {
  tree.files.clear();
  tree.limits = [own(WHY_STOPPED, why) ?? 'git_failed'];
}

function ignoredPrefixes(top: string, folders: readonly string[]): string[] {
  return folders
    .map((folder) => Buffer.from(relative(top, folder), 'utf8').toString('latin1'))
    .filter((path) => path !== '' && !path.startsWith('..'))
    .map((path) => `${path}/`);
}

function isIgnored(path: string, ignored: readonly string[]): boolean {
  if (path.startsWith('.tacho/') || path.includes('/.tacho/')) return true;
  return ignored.some((prefix) => path.startsWith(prefix));
}

/**
 * Entries of changed and unmerged files: the number of words before the path, and the positions of the mode and id in
 * `head`.
 */
const CHANGED: Record<string, { words: number; mode: number; oid: number }> = {
  // 1 XY sub mH mI mW hH hI path
  '1 ': { words: 8, mode: 3, oid: 6 },
  // u XY sub m1 m2 m3 mW h1 h2 h3 path
  'u ': { words: 10, mode: 4, oid: 8 },
};

/** Fills in `head` and `committed`; returns the paths that differ from `head`. */
function parseStatus(output: Buffer, tree: Worktree): string[] {
  const paths: string[] = [];
  for (const entry of output.toString('latin1').split('\0')) {
    const changed = own(CHANGED, entry.slice(0, 2));
    if (entry.startsWith('# branch.oid ')) {
      const oid = entry.slice('# branch.oid '.length);
      tree.head = oid === '(initial)' ? null : oid;
    } else if (changed !== undefined) {
      const { words, mode, oid } = changed;
      const fields = entry.split(' ', words);
      const path = entry.slice(fields.join(' ').length + 1);
      if (fields[mode] !== '000000') tree.committed.set(path, fields[oid] ?? '');
      paths.push(path);
    } else if (entry.startsWith('? ')) paths.push(entry.slice(2));
  }
  return paths;
}

async function compareHeads(tree: Worktree, before: string | null, run: GitRun): Promise<void> {
  const empty = oidOf('tree', new Uint8Array(0), tree.oid_length);
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const diff = await runGit([...args, before ?? empty, tree.head ?? empty, '--'], run);
  if (!diff.ok) return stop(tree, diff.why);
  // :oldmode newmode oldoid newoid status NUL path NUL
  const parts = diff.output.toString('latin1').split('\0');
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [from_mode, to_mode, from, to] = (parts[i] ?? '').slice(1).split(' ');
    const sides = { from: committedState(from_mode, from), to: committedState(to_mode, to) };
    tree.moved.set(parts[i + 1] ?? '', sides);
  }
  if (tree.moved.size > CAPTURE_LIMITS.worktree_files_max) stop(tree, 'too_much');
}

function committedState(mode: string | undefined, oid: string | undefined): FileState {
  if (oid === undefined || mode === '000000') return ABSENT;
  return { kind: 'present', oid, stat: null, size: null };
}

/** Reads the files that differ, and the committed ones for their sizes. */
async function readFiles(tree: Worktree, paths: string[], signal: AbortSignal): Promise<void> {
  if (tree.limits.length > 0) return;
  const queue = [...new Set([...paths, ...tree.moved.keys()])];
  const bytes = CAPTURE_LIMITS.worktree_read_bytes_max;
  const budget = { bytes, oid_length: tree.oid_length, too_big: false };
  const reader = async () => {
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (signal.aborted) budget.bytes = 0;
      tree.files.set(path, await readState(fullPath(tree, path), budget));
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  if (budget.too_big) tree.limits.push('big_files');
}

function fullPath({ top }: Worktree, path: string): Buffer {
  // An untracked repository in the tree is listed as a folder with a trailing slash.
  return Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path.replace(/\/$/, ''), 'latin1')]);
}
