/** Changes that an agent made to a git work tree, found by comparing before and after. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CAPTURE_LIMITS } from '../../src/capture/limits.ts';
import {
  diffWorktrees,
  type FileChange,
  type Worktree,
} from '../../src/capture/source/worktree.ts';
import { snapshotWorktree } from '../../src/capture/source/worktree-snapshot.ts';
import { verifies } from './verifies.ts';

const base = mkdtempSync(join(tmpdir(), 'tacho-worktree-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));
let count = 0;

interface Repository {
  top: string;
  git(...args: string[]): string;
  put(path: string, content: string | Buffer): void;
}

function repository(...init: string[]): Repository {
  count += 1;
  const top = join(base, `r${count}`);
  mkdirSync(top);
  const names = ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid'];
  const git = (...args: string[]) =>
    execFileSync('git', [...names, ...args], { cwd: top, encoding: 'utf8', stdio: 'pipe' });
  git('init', '-q', ...init);
  return { top, git, put: (path, content) => writeFileSync(join(top, path), content) };
}

/** `a`, `b` and `c` committed. */
function threeFiles(...init: string[]): Repository {
  const repo = repository(...init);
  for (const name of ['a', 'b', 'c']) repo.put(name, `${name}\n`);
  repo.git('add', '.');
  repo.git('commit', '-q', '-m', 'one');
  return repo;
}

async function look(cwd: string, since: Worktree | null = null): Promise<Worktree> {
  const tree = await snapshotWorktree(cwd, { since });
  if (tree === null) throw new Error('no work tree');
  return tree;
}

async function changes(cwd: string, act: () => void): Promise<FileChange[]> {
  const before = await look(cwd);
  act();
  return diffWorktrees(before, await look(cwd, before));
}

const created = (path: string, size: number | null): FileChange => ({
  path,
  operation: 'created',
  size,
});
const modified = (path: string, size: number | null): FileChange => ({
  path,
  operation: 'modified',
  size,
});
const deleted = (path: string): FileChange => ({ path, operation: 'deleted', size: null });

verifies('RO-10', 'in a clean tree, created, modified and deleted files are reported', async () => {
  const repo = threeFiles();
  const found = await changes(repo.top, () => {
    repo.put('new', 'new\n');
    mkdirSync(join(repo.top, 'deep/er'), { recursive: true });
    repo.put('deep/er/new', '');
    repo.put('a', 'changed\n');
    rmSync(join(repo.top, 'b'));
  });
  expect(found).toEqual([
    modified('a', 8),
    deleted('b'),
    created('deep/er/new', 0),
    created('new', 4),
  ]);
});

verifies(
  'RO-10',
  'files that were already dirty count only when their content changed',
  async () => {
    const repo = threeFiles();
    repo.put('a', 'dirty\n');
    repo.put('b', 'dirty\n');
    rmSync(join(repo.top, 'c'));
    repo.put('untracked-same', 'x');
    repo.put('untracked-changed', 'x');
    repo.put('untracked-gone', 'x');
    const found = await changes(repo.top, () => {
      utimesSync(join(repo.top, 'a'), 1, 1);
      repo.put('b', 'dirtier\n');
      repo.put('c', 'c again\n');
      utimesSync(join(repo.top, 'untracked-same'), 1, 1);
      appendFileSync(join(repo.top, 'untracked-changed'), 'y');
      rmSync(join(repo.top, 'untracked-gone'));
    });
    expect(found).toEqual([
      modified('b', 8),
      created('c', 8),
      modified('untracked-changed', 2),
      deleted('untracked-gone'),
    ]);
  },
);

verifies('RO-10', 'commits made meanwhile hide nothing and add nothing', async () => {
  const repo = threeFiles();
  repo.put('a', 'dirty\n');
  repo.put('mine', 'mine\n');
  const found = await changes(repo.top, () => {
    repo.put('b', 'changed and committed\n');
    repo.put('new', 'new and committed\n');
    rmSync(join(repo.top, 'c'));
    repo.git('add', '-A');
    repo.git('commit', '-q', '-m', 'two');
    repo.put('later', 'x');
  });
  expect(found).toEqual([modified('b', 22), deleted('c'), created('later', 1), created('new', 18)]);
});

verifies(
  'RO-10',
  'the first commit, a soft reset, a stage and an unstage change no file',
  async () => {
    const fresh = repository();
    fresh.put('a', 'a');
    expect(
      await changes(fresh.top, () => {
        fresh.git('add', '.');
        fresh.git('commit', '-q', '-m', 'first');
      }),
    ).toEqual([]);
    const repo = threeFiles();
    repo.put('a', 'second\n');
    repo.git('commit', '-q', '-a', '-m', 'two');
    expect(await changes(repo.top, () => repo.git('reset', '-q', '--soft', 'HEAD~1'))).toEqual([]);
    expect(await changes(repo.top, () => repo.git('reset', '-q'))).toEqual([]);
    expect(await changes(repo.top, () => repo.git('add', '.'))).toEqual([]);
    expect(await changes(repo.top, () => repo.git('rm', '-q', '--cached', 'b'))).toEqual([]);
  },
);

verifies(
  'RO-10',
  'a checkout, a hard reset and a restore report the files they changed',
  async () => {
    const repo = threeFiles();
    repo.git('checkout', '-q', '-b', 'other');
    repo.put('a', 'other\n');
    repo.git('rm', '-q', 'b');
    repo.git('commit', '-q', '-a', '-m', 'other');
    const back = await changes(repo.top, () => repo.git('checkout', '-q', '-'));
    expect(back).toEqual([modified('a', 2), created('b', 2)]);
    repo.put('c', 'dirty\n');
    expect(await changes(repo.top, () => repo.git('checkout', '--', 'c'))).toEqual([
      modified('c', 2),
    ]);
    const ahead = await changes(repo.top, () => repo.git('reset', '-q', '--hard', 'other'));
    expect(ahead).toEqual([modified('a', 6), deleted('b')]);
  },
);

verifies('RO-10', 'a moved file is one deleted and one created file', async () => {
  const repo = threeFiles();
  expect(await changes(repo.top, () => repo.git('mv', 'a', 'z'))).toEqual([
    deleted('a'),
    created('z', 2),
  ]);
});

test('a conflict is reported as a change of the file', async () => {
  const repo = threeFiles();
  repo.git('checkout', '-q', '-b', 'other');
  repo.put('a', 'other\n');
  repo.git('commit', '-q', '-a', '-m', 'other');
  repo.git('checkout', '-q', '-');
  repo.put('a', 'here\n');
  repo.git('commit', '-q', '-a', '-m', 'here');
  const found = await changes(repo.top, () => {
    expect(() => repo.git('merge', 'other')).toThrow();
  });
  expect(found).toEqual([modified('a', statSync(join(repo.top, 'a')).size)]);
});

test('paths are relative to the folder of the run, also for files above it', async () => {
  const repo = threeFiles();
  mkdirSync(join(repo.top, 'sub/deep'), { recursive: true });
  const found = await changes(join(repo.top, 'sub'), () => {
    repo.put('sub/deep/x', '1');
    repo.put('a', '22');
  });
  expect(found).toEqual([modified('../a', 2), created('deep/x', 1)]);
});

test('names with blanks, quotes, line feeds, non-ASCII and invalid UTF-8 are kept', async () => {
  const repo = threeFiles();
  const names = [' lead and trail ', '"quoted"', 'line\nfeed', 'tab\t', 'ünï😀'];
  const odd = Buffer.concat([Buffer.from(`${repo.top}/odd-`), Buffer.from([0xff])]);
  const found = await changes(repo.top, () => {
    for (const name of names) repo.put(name, 'x');
    writeFileSync(odd, 'x');
  });
  expect(found).toEqual([...names, 'odd-\ufffd'].sort().map((name) => created(name, 1)));
});

test('links are reported by their target and never followed; a mode alone is not a change', async () => {
  const repo = threeFiles();
  symlinkSync('a', join(repo.top, 'link'));
  symlinkSync('a', join(repo.top, 'other'));
  const found = await changes(repo.top, () => {
    rmSync(join(repo.top, 'link'));
    symlinkSync('nowhere', join(repo.top, 'link'));
    symlinkSync('/etc', join(repo.top, 'out'));
    chmodSync(join(repo.top, 'b'), 0o755);
  });
  expect(found).toEqual([modified('link', 7), created('out', 4)]);
});

test('the state folder, ignored files and given folders are excluded', async () => {
  const repo = threeFiles();
  repo.put('.gitignore', 'ignored\n');
  mkdirSync(join(repo.top, '.tacho'));
  mkdirSync(join(repo.top, 'sub/.tacho'), { recursive: true });
  mkdirSync(join(repo.top, 'state'));
  const ignore = [join(repo.top, 'state')];
  repo.put('state/early', 'x');
  const before = await snapshotWorktree(repo.top);
  repo.put('state/early', 'xx');
  for (const path of ['.tacho/x', 'sub/.tacho/x', 'state/x', 'ignored', 'seen'])
    repo.put(path, 'x');
  const after = await snapshotWorktree(repo.top, { since: before, ignore });
  expect(before && after && diffWorktrees(before, after)).toEqual([created('seen', 1)]);
});

test('a repository created within the tree is one entry', async () => {
  const repo = threeFiles();
  const found = await changes(repo.top, () => {
    repo.git('init', '-q', 'inner');
    repo.put('inner/x', 'x');
  });
  expect(found).toEqual([created('inner', null)]);
});

test('a repository with SHA-256 ids is compared in the same way', async () => {
  const repo = threeFiles('--object-format=sha256');
  repo.put('b', 'dirty\n');
  const found = await changes(repo.top, () => {
    repo.put('a', 'changed\n');
    repo.git('rm', '-q', '--cached', 'c');
    repo.git('commit', '-q', '-a', '-m', 'two');
  });
  expect(found).toEqual([modified('a', 8)]);
});

test('no work tree, a bare repository, a .git folder and a missing folder give null', async () => {
  const plain = join(base, 'plain');
  mkdirSync(plain);
  const bare = repository('--bare');
  const repo = threeFiles();
  const folders = [plain, bare.top, join(repo.top, '.git'), join(base, 'nowhere')];
  expect(await Promise.all(folders.map((folder) => snapshotWorktree(folder)))).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(await snapshotWorktree(repo.top, { env: { PATH: plain } })).toBe(null);
});

function everyFile(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map(
      (path) =>
        `${path} ${statSync(path).mtimeMs} ${createHash('sha1').update(readFileSync(path)).digest('hex')}`,
    )
    .sort();
}

verifies(
  'RO-10',
  'reading writes nothing into the repository and runs none of its hooks',
  async () => {
    const repo = threeFiles();
    const hook = join(repo.top, '.git/hooks/ran');
    repo.put('.git/hook.sh', `#!/bin/sh\ntouch ${hook}\n`);
    chmodSync(join(repo.top, '.git/hook.sh'), 0o755);
    repo.git('config', 'core.fsmonitor', join(repo.top, '.git/hook.sh'));
    // Git refreshes the index for a file with other times than the index has.
    utimesSync(join(repo.top, 'a'), 1, 1);
    repo.put('b', 'dirty\n');
    const before = everyFile(repo.top);
    const one = await look(repo.top);
    await look(repo.top, one);
    expect(everyFile(repo.top)).toEqual(before);
    expect(existsSync(hook)).toBe(false);
  },
);

test('variables that point git elsewhere are ignored', async () => {
  const [repo, other] = [threeFiles(), threeFiles()];
  repo.put('a', 'dirty\n');
  const GIT_DIR = join(other.top, '.git');
  const env = { ...process.env, GIT_DIR, GIT_WORK_TREE: other.top, GIT_INDEX_FILE: '/nowhere' };
  const tree = await snapshotWorktree(repo.top, { env });
  expect([tree?.top, [...(tree?.files.keys() ?? [])]]).toEqual([repo.top, ['a']]);
});

test('files too big to read are compared by size and time, and that is reported', async () => {
  const repo = threeFiles();
  const big = Buffer.alloc(CAPTURE_LIMITS.worktree_file_bytes_max + 1);
  repo.put('same', big);
  repo.put('changed', big);
  const before = await look(repo.top);
  big[0] = 1;
  repo.put('changed', big);
  const after = await look(repo.top, before);
  expect([before.limits, after.limits]).toEqual([['big_files'], ['big_files']]);
  expect(diffWorktrees(before, after)).toEqual([modified('changed', big.length)]);
});

test('with more changed files than the limit none are compared, and that is reported', async () => {
  const repo = threeFiles();
  const before = await look(repo.top);
  mkdirSync(join(repo.top, 'many'));
  for (let i = 0; i <= CAPTURE_LIMITS.worktree_files_max; i++) repo.put(`many/${i}`, '');
  const after = await look(repo.top, before);
  expect([after.limits, after.files.size]).toEqual([['too_many_files'], 0]);
  expect(diffWorktrees(before, after)).toEqual([]);
});
