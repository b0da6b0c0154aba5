/** Changes in a git work tree between two moments (RO-10), found without writing to it. */
import { relative, sep } from 'node:path';
import type { FileOperation } from '../../model/words.ts';
import { ABSENT, type FileState } from './file-state.ts';

/**
 * `big_files`: some files were compared by size and time only. The others mean that nothing was compared: too many
 * changed files, no answer in time, git failed midway, or the repository's configuration runs programs that cannot be
 * disabled, names another folder as its work tree, or is a pipe.
 */
export type WorktreeLimit =
  | 'big_files'
  | 'too_many_files'
  | 'timed_out'
  | 'git_failed'
  | 'unsafe_config';

/** Paths are relative to the top of the work tree, one character per byte: names need not be UTF-8. */
export interface Worktree {
  top: string;
  cwd: string;
  /** Length of an object id: 40, or 64 in a repository that uses SHA-256. */
  oid_length: number;
  /** Null: no commit yet. */
  head: string | null;
  /** Files that differ from `head`, and those in the earlier snapshot. */
  files: Map<string, FileState>;
  /** Object ids in `head` for the paths of `files` that it contains. */
  committed: Map<string, string>;
  /** Differences between the earlier snapshot's `head` and this one's. */
  moved: Map<string, { from: FileState; to: FileState }>;
  limits: WorktreeLimit[];
}

export interface FileChange {
  /** Relative to the folder the run works in; may begin with `..`. */
  path: string;
  operation: FileOperation;
  size: number | null;
}

const NOTHING_COMPARED: readonly WorktreeLimit[] = [
  'too_many_files',
  'timed_out',
  'git_failed',
  'unsafe_config',
];

/** Whether the content is the same. If that is unknown, it counts as changed. */
function same(a: FileState, b: FileState): boolean {
  if (a.kind === 'absent' || b.kind === 'absent') return a.kind === b.kind;
  if (a.oid !== null && b.oid !== null) return a.oid === b.oid;
  return a.stat !== null && a.stat === b.stat;
}

function stateBefore(path: string, before: Worktree, after: Worktree): FileState {
  const known = before.files.get(path) ?? after.moved.get(path)?.from;
  if (known !== undefined) return known;
  // Unchanged before, and both commits have the same content: it was as committed.
  const oid = after.committed.get(path);
  return oid === undefined ? ABSENT : { kind: 'present', oid, stat: null, size: null };
}

/** Why two snapshots are not compared, or null if they are. */
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
  const full = `${tree.top}/${Buffer.from(path, 'latin1').toString('utf8').replace(/\/$/, '')}`;
  return relative(tree.cwd, full).split(sep).join('/');
}
