/** What changed in a git work tree between two moments (RO-10), without writing to it. */
import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import type { FileOperation } from '../../model/words.ts';
import { type GitFailure, type GitRun, runGit, withoutFilters } from './git.ts';

/** What stood at a path. `oid`: git's id of the content; `stat`: size and time, for content that was not read. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'present'; oid: string | null; stat: string | null; size: number | null };

/**
 * `big_files`: some files were compared by size and time only. The others mean that nothing was compared:
 * too many changed files, no answer in time, git failed half way, or the repository's configuration runs programs that
 * cannot be switched off, names another folder as its work tree, or is a pipe.
 */
export type WorktreeLimit =
  | 'big_files'
  | 'too_many_files'
  | 'timed_out'
  | 'git_failed'
  | 'unsafe_config';

/** Paths are from the top of the work tree, one character a byte: names need not be UTF-8. */
export interface Worktree {
  top: string;
  cwd: string;
  /** Characters of an object id: 40, or 64 in a repository with SHA-256. */
  oid_length: number;
  /** null: no commit yet. */
  head: string | null;
  /** Files that differ from `head`, and those the earlier snapshot held. */
  files: Map<string, FileState>;
  /** What `head` holds at the paths of `files` that it has. */
  committed: Map<string, string>;
  /** What differs between the earlier snapshot's `head` and this one's. */
  moved: Map<string, { from: FileState; to: FileState }>;
  limits: WorktreeLimit[];
}

export interface FileChange {
  /** From the folder the run works in; may begin with `..`. */
  path: string;
  operation: FileOperation;
  size: number | null;
}

export interface SnapshotOptions {
  /** The snapshot this one will be compared with. Needed for commits made and changes undone between them. */
  since?: Worktree | null;
  /** Absolute folders to leave out, beside `.tacho`. */
  ignore?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

const ABSENT: FileState = { kind: 'absent' };
const NOTHING_COMPARED: readonly WorktreeLimit[] = [
  'too_many_files',
  'timed_out',
  'git_failed',
  'unsafe_config',
];
const READERS = 8;

const bytesOf = (path: string) => Buffer.from(path, 'latin1');

function oidOf(kind: 'blob' | 'tree', content: Uint8Array, oid_length: number): string {
  const hash = createHash(oid_length === 64 ? 'sha256' : 'sha1');
  return hash.update(`${kind} ${content.length}\0`).update(content).digest('hex');
}

/** null: the folder is in no git work tree, or there is no git. */
export async function snapshotWorktree(
  cwd: string,
  options: SnapshotOptions = {},
): Promise<Worktree | null> {
  const run: GitRun = {
    cwd,
    env: options.env ?? process.env,
    signal: AbortSignal.timeout(LIMITS.worktree_wait_ms),
    output_bytes_max: LIMITS.worktree_output_bytes_max,
  };
  try {
    if (await hasPipe(await realpath(cwd))) return emptyTree(cwd, cwd, ['unsafe_config']);
    const [tree, filters] = await Promise.all([findTree(run), withoutFilters(run)]);
    if (tree === null) return null;
    const own = await ownTree(tree);
    if (filters === null || !own) stop(tree, run.signal.aborted ? 'timed_out' : 'unsafe');
    // From the same folder as `filters`: seen from the top, git may find another repository, with filters of its own.
    else await fill(tree, { ...run, settings: filters }, options);
    return tree;
  } catch {
    // The folder went away meanwhile: there is nothing to compare.
    return null;
  }
}

/** Read by git first: a pipe there would hold it until its time is up. */
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

/** Of the nearest repository at or above the folder. */
async function hasPipe(cwd: string): Promise<boolean> {
  let top = cwd;
  while (!existsSync(join(top, '.git')) && dirname(top) !== top) top = dirname(top);
  const found = READ_FIRST.map((name) => stat(join(top, name)).catch(() => null));
  return (await Promise.all(found)).some((one) => one?.isFIFO());
}

async function findTree(run: GitRun): Promise<Worktree | null> {
  const asked = ['--is-inside-work-tree', '--show-object-format', '--show-toplevel'];
  const found = await runGit(['rev-parse', ...asked], run);
  const cwd = await realpath(run.cwd);
  if (!found.ok) return found.why === 'timed_out' ? emptyTree(cwd, cwd, ['timed_out']) : null;
  const [inside, format, ...rest] = found.output.toString('utf8').split('\n');
  if (inside !== 'true') return null;
  // Last, because a folder's name may hold line feeds.
  const tree = emptyTree(rest.slice(0, -1).join('\n'), cwd);
  return { ...tree, oid_length: format === 'sha256' ? 64 : 40 };
}

function emptyTree(top: string, cwd: string, limits: WorktreeLimit[] = []): Worktree {
  const [files, committed, moved] = [new Map(), new Map(), new Map()];
  return { top, cwd, oid_length: 40, head: null, files, committed, moved, limits };
}

/** `core.worktree` may name any folder; the top of a real work tree has its `.git`, and the run's folder is below it. */
async function ownTree({ top, cwd }: Worktree): Promise<boolean> {
  const from_top = relative(top, cwd);
  if (from_top === '..' || from_top.startsWith(`..${sep}`)) return false;
  return lstat(`${top}/.git`).then(
    () => true,
    () => false,
  );
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
  if (paths.size > LIMITS.worktree_files_max) return stop(tree, 'too_much');
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

/** Fills in `head` and `committed`; returns the paths that differ from `head`. */
function parseStatus(output: Buffer, tree: Worktree): string[] {
  const paths: string[] = [];
  for (const entry of output.toString('latin1').split('\0')) {
    if (entry.startsWith('# branch.oid ')) {
      const oid = entry.slice('# branch.oid '.length);
      tree.head = oid === '(initial)' ? null : oid;
    } else if (entry.startsWith('1 ')) {
      // 1 XY sub mH mI mW hH hI path
      const fields = entry.split(' ', 8);
      const path = entry.slice(fields.join(' ').length + 1);
      if (fields[3] !== '000000') tree.committed.set(path, fields[6] ?? '');
      paths.push(path);
    } else if (entry.startsWith('u ')) {
      // u XY sub m1 m2 m3 mW h1 h2 h3 path
      const fields = entry.split(' ', 10);
      const path = entry.slice(fields.join(' ').length + 1);
      if (fields[4] !== '000000') tree.committed.set(path, fields[8] ?? '');
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
  if (tree.moved.size > LIMITS.worktree_files_max) stop(tree, 'too_much');
}

function committedState(mode: string | undefined, oid: string | undefined): FileState {
  if (oid === undefined || mode === '000000') return ABSENT;
  return { kind: 'present', oid, stat: null, size: null };
}

/** Reads the files that differ, and for sizes those that were committed. */
async function readFiles(tree: Worktree, paths: string[], signal: AbortSignal): Promise<void> {
  if (tree.limits.length > 0) return;
  const queue = [...new Set([...paths, ...tree.moved.keys()])];
  const budget = { bytes: LIMITS.worktree_read_bytes_max, oid_length: tree.oid_length };
  const reader = async () => {
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      const state = await readState(tree, path, signal.aborted ? { ...budget, bytes: 0 } : budget);
      tree.files.set(path, state);
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
}

async function readState(
  tree: Worktree,
  path: string,
  budget: { bytes: number; oid_length: number },
): Promise<FileState> {
  // An untracked repository in the tree is listed as a folder, with a slash at its end.
  const full = Buffer.concat([Buffer.from(`${tree.top}/`), bytesOf(path.replace(/\/$/, ''))]);
  try {
    const found = await lstat(full, { bigint: true });
    const size = found.isFile() || found.isSymbolicLink() ? Number(found.size) : null;
    const state: FileState = {
      kind: 'present',
      oid: null,
      stat: size === null ? `${found.ino}` : `${found.size}:${found.mtimeNs}:${found.ctimeNs}`,
      size,
    };
    if (found.isSymbolicLink()) {
      const target = await readlink(full, { encoding: 'buffer' });
      state.oid = oidOf('blob', target, budget.oid_length);
    } else if (size !== null && size <= Math.min(LIMITS.worktree_file_bytes_max, budget.bytes)) {
      budget.bytes -= size;
      state.oid = oidOf('blob', await readBounded(full, size), budget.oid_length);
    } else if (size !== null && !tree.limits.includes('big_files')) tree.limits.push('big_files');
    return state;
  } catch {
    return ABSENT;
  }
}

/** `size` bytes at most, so that a file that grows meanwhile stays bounded. */
async function readBounded(path: Buffer, size: number): Promise<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags);
  try {
    const target = Buffer.allocUnsafe(size);
    let got = 0;
    while (got < size) {
      const { bytesRead } = await file.read(target, got, size - got, got);
      if (bytesRead === 0) break;
      got += bytesRead;
    }
    return target.subarray(0, got);
  } finally {
    await file.close();
  }
}

/** Same content. What cannot be told counts as changed. */
function same(a: FileState, b: FileState): boolean {
  if (a.kind === 'absent' || b.kind === 'absent') return a.kind === b.kind;
  if (a.oid !== null && b.oid !== null) return a.oid === b.oid;
  return a.stat !== null && a.stat === b.stat;
}

function stateBefore(path: string, before: Worktree, after: Worktree): FileState {
  const known = before.files.get(path) ?? after.moved.get(path)?.from;
  if (known !== undefined) return known;
  // Clean before, and the commits agree about it: it was as the commit has it.
  const oid = after.committed.get(path);
  return oid === undefined ? ABSENT : { kind: 'present', oid, stat: null, size: null };
}

/** Why nothing is compared between two snapshots; null: everything is, as far as it is known. */
export function uncompared(before: Worktree, after: Worktree): WorktreeLimit | null {
  return [...before.limits, ...after.limits].find((one) => NOTHING_COMPARED.includes(one)) ?? null;
}

/** `after` must have been taken with `since: before`. Sorted by path. */
export function diffWorktrees(before: Worktree, after: Worktree): FileChange[] {
  if (uncompared(before, after) !== null) return [];
  const changes: FileChange[] = [];
  for (const [path, now] of after.files) {
    const then = stateBefore(path, before, after);
    if (same(then, now)) continue;
    const operation = then.kind === 'absent' ? 'created' : 'modified';
    changes.push({
      path: fromCwd(path, after),
      operation: now.kind === 'absent' ? 'deleted' : operation,
      size: now.kind === 'absent' ? null : now.size,
    });
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function fromCwd(path: string, tree: Worktree): string {
  const full = `${tree.top}/${bytesOf(path).toString('utf8').replace(/\/$/, '')}`;
  return relative(tree.cwd, full).split(sep).join('/');
}
