/** Reading a git work tree runs no program that the repository's own configuration names. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CAPTURE_LIMITS } from '../../src/capture/limits.ts';
import { diffWorktrees, type Worktree } from '../../src/capture/source/worktree.ts';
import { snapshotWorktree } from '../../src/capture/source/worktree-snapshot.ts';
import { testFolder } from '../fixtures/folder.ts';
import { demo, usePlace } from './cli.ts';
import { can } from './needs.ts';

interface Repository {
  top: string;
  proof: string;
  /** A command that leaves proof that it ran. */
  program: string;
  git(...args: string[]): string;
}

/** `f` is committed and has changed since, so that git must read it. Every file has the filter `x`. */
function repository(): Repository {
  const folder = testFolder();
  const top = join(folder, 'r');
  mkdirSync(top);
  const names = ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid'];
  const git = (...args: string[]) =>
    execFileSync('git', [...names, ...args], { cwd: top, encoding: 'utf8', stdio: 'pipe' });
  git('init', '-q');
  writeFileSync(join(top, 'f'), 'one\n');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
  writeFileSync(join(top, '.gitattributes'), '* filter=x diff=x\n');
  writeFileSync(join(top, 'f'), 'two\n');
  utimesSync(join(top, 'f'), 1_000, 1_000);
  const proof = join(folder, 'proof');
  return { top, proof, program: `sh -c 'echo ran >> ${proof}; cat'`, git };
}

/** Both snapshots of a run that makes `new`. */
async function compared(top: string): Promise<{ paths: string[]; trees: (Worktree | null)[] }> {
  const before = await snapshotWorktree(top);
  writeFileSync(join(top, 'new'), 'x');
  const after = await snapshotWorktree(top, { since: before });
  const both = before !== null && after !== null;
  const paths = both ? diffWorktrees(before, after).map(({ path }) => path) : [];
  return { paths, trees: [before, after] };
}

const KEYS = [
  'filter.x.clean',
  'filter.x.process',
  'filter.x.smudge',
  'core.fsmonitor',
  'core.pager',
  'core.editor',
  'core.sshCommand',
  'core.alternateRefsCommand',
  'diff.external',
  'diff.x.command',
  'diff.x.textconv',
  'pager.status',
  'alias.status',
  'credential.helper',
  'gpg.program',
];
for (const key of KEYS)
  test(`${key} of .git/config is not run, and the tree is compared`, async () => {
    const { top, proof, program, git } = repository();
    git('config', key, program);
    const { paths } = await compared(top);
    expect([existsSync(proof), paths]).toEqual([false, ['new']]);
  });

test('a required filter, one in an included file, and one in a linked work tree are not run', async () => {
  const { top, proof, program, git } = repository();
  const linked = join(top, '..', 'linked');
  git('worktree', 'add', '-q', linked);
  git('config', 'extensions.worktreeConfig', 'true');
  execFileSync('git', ['config', '--worktree', 'filter.x.clean', program], { cwd: linked });
  const included = join(top, '..', 'included');
  writeFileSync(
    included,
    `[filter "x"]\n\tclean = ${JSON.stringify(program)}\n\trequired = true\n`,
  );
  git('config', 'include.path', included);
  writeFileSync(join(linked, '.gitattributes'), '* filter=x\n');
  writeFileSync(join(linked, 'f'), 'two\n');
  utimesSync(join(linked, 'f'), 1_000, 1_000);
  const [main, other] = [await compared(top), await compared(linked)];
  expect([existsSync(proof), main.paths, other.paths]).toEqual([false, ['new'], ['new']]);
});

for (const [what, name] of [
  ['an equals sign', 'a=b'],
  ['a byte that is not UTF-8', '\xff'],
] as const)
  test(`a filter with ${what} in its name is not run; the tree is not compared`, async () => {
    const { top, proof, program } = repository();
    const name_bytes = Buffer.from(name, 'latin1');
    const section = [Buffer.from('[filter "'), name_bytes, Buffer.from('"]\n\tclean = ')];
    appendFileSync(join(top, '.git', 'config'), Buffer.concat(section));
    appendFileSync(join(top, '.git', 'config'), `${JSON.stringify(program)}\n`);
    const attributes = [Buffer.from('* filter='), name_bytes, Buffer.from('\n')];
    writeFileSync(join(top, '.gitattributes'), Buffer.concat(attributes));
    const { trees } = await compared(top);
    expect([existsSync(proof), trees.map((tree) => tree?.limits)]).toEqual([
      false,
      [['unsafe_config'], ['unsafe_config']],
    ]);
  });

for (const [what, names] of [
  ['more filters than are switched off', Array.from({ length: 101 }, (_, at) => `x${at}`)],
  ['a filter with a name too long for a command line', ['x'.repeat(200_000)]],
] as const)
  test(`with ${what}, none is run, and the tree is not compared`, async () => {
    const { top, proof, program } = repository();
    const clean = `\tclean = ${JSON.stringify(program)}\n`;
    const sections = names.map((name) => `[filter "${name}"]\n${clean}`);
    appendFileSync(join(top, '.git', 'config'), sections.join(''));
    writeFileSync(join(top, '.gitattributes'), `* filter=${names[0]}\n`);
    const { trees } = await compared(top);
    expect([existsSync(proof), trees.map((tree) => tree?.limits)]).toEqual([
      false,
      [['unsafe_config'], ['unsafe_config']],
    ]);
  });

test('with a configuration too long to be listed, no filter is run, and the tree is not compared', async () => {
  const { top, proof, program, git } = repository();
  git('config', 'filter.x.clean', program);
  const long = `[a "${'x'.repeat(2 ** 20)}"]\n\tb = c\n`;
  appendFileSync(join(top, '.git', 'config'), long.repeat(17));
  const { trees } = await compared(top);
  expect([existsSync(proof), trees.map((tree) => tree?.limits)]).toEqual([
    false,
    [['unsafe_config'], ['unsafe_config']],
  ]);
});

for (const url of ['ext::sh -c "echo ran >> PROOF"', 'ssh://127.0.0.1/x', 'REPO'])
  test(`a missing object is not fetched from ${url.split(':')[0]}`, async () => {
    const { top, proof, git } = repository();
    const wrapper = join(top, '..', 'wrapper');
    writeFileSync(wrapper, `#!/bin/sh\necho ran >> ${proof}\n`, { mode: 0o755 });
    const tree = git('rev-parse', 'HEAD^{tree}').trim();
    const settings = {
      'core.repositoryFormatVersion': '1',
      'extensions.partialClone': 'evil',
      'remote.evil.promisor': 'true',
      'remote.evil.url': url.replace('PROOF', proof).replace('REPO', top),
      'remote.evil.uploadpack': wrapper,
      'core.sshCommand': wrapper,
      'protocol.ext.allow': 'always',
    };
    for (const [key, value] of Object.entries(settings)) git('config', key, value);
    rmSync(join(top, '.git', 'objects', tree.slice(0, 2), tree.slice(2)));
    const { trees } = await compared(top);
    expect([existsSync(proof), trees.map((one) => one?.limits)]).toEqual([
      false,
      [['git_failed'], ['git_failed']],
    ]);
  });

test('core.worktree does not make tacho read another folder', async () => {
  const { top, git } = repository();
  const elsewhere = testFolder();
  writeFileSync(join(elsewhere, 'private'), 'x');
  for (const folder of [elsewhere, join(top, '..')]) {
    git('config', 'core.worktree', folder);
    const trees = [await snapshotWorktree(top)];
    expect(trees.map((tree) => [tree?.limits ?? ['unsafe_config'], tree?.files.size ?? 0])).toEqual(
      [[['unsafe_config'], 0]],
    );
  }
});

test('a repository that names its parent repository as its work tree runs none of its filters', async () => {
  const { top, proof, program, git } = repository();
  git('config', 'filter.x.clean', program);
  const inner = join(top, 'inner');
  git('init', '-q', inner);
  execFileSync('git', ['config', 'core.worktree', '../..'], { cwd: inner });
  const { trees } = await compared(inner);
  expect([existsSync(proof), trees.every((tree) => tree !== null)]).toEqual([false, true]);
});

for (const key of ['filter.x.clean', 'core.fsmonitor'])
  test(`${key} of a submodule is not run`, async () => {
    const { top, proof, program, git } = repository();
    const inner = repository().top;
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'inner');
    git('commit', '-q', '-m', 'inner');
    const module = join(top, 'inner');
    execFileSync('git', ['config', key, program], { cwd: module });
    writeFileSync(join(module, '.gitattributes'), '* filter=x\n');
    writeFileSync(join(module, 'f'), 'two\n');
    utimesSync(join(module, 'f'), 1_000, 1_000);
    const { paths } = await compared(top);
    expect([existsSync(proof), paths]).toEqual([false, ['new']]);
  });

test('a bare repository among the files of a clone is not mistaken for the repository', async () => {
  const { top, proof, program, git } = repository();
  const inner = join(top, 'inner');
  git('init', '-q', '--bare', inner);
  for (const [key, value] of [
    ['core.bare', 'false'],
    ['core.worktree', top],
    ['core.fsmonitor', program],
    ['filter.x.clean', program],
  ] as const)
    execFileSync('git', ['config', '-f', join(inner, 'config'), key, value]);
  // Git refuses it: there is nothing to compare, neither by its index nor in the files around it.
  expect([await snapshotWorktree(inner), existsSync(proof)]).toEqual([null, false]);
});

const READ_BY_GIT = [
  '.gitignore',
  '.gitattributes',
  ...['HEAD', 'config', 'index', 'packed-refs', 'info/exclude', 'info/attributes'].map(
    (name) => `.git/${name}`,
  ),
];
for (const name of READ_BY_GIT)
  test.runIf(can('mkfifo', 'named pipes'))(`a pipe at ${name} delays nothing`, async () => {
    const { top } = repository();
    const below = join(top, 'below');
    mkdirSync(below);
    mkdirSync(join(top, '.git', 'info'), { recursive: true });
    rmSync(join(top, name), { force: true });
    execFileSync('mkfifo', [join(top, name)]);
    const began = performance.now();
    for (const folder of [top, below])
      expect((await snapshotWorktree(folder))?.limits).toEqual(['unsafe_config']);
    expect(performance.now() - began).toBeLessThan(CAPTURE_LIMITS.worktree_wait_ms / 2);
  });

const place = usePlace();

const git = (...args: string[]) => execFileSync('git', args, { cwd: place.work });
const says = async () => {
  const { stdout } = await place.tacho(['runs', 'show', 'last', '--json']);
  return JSON.stringify(JSON.parse(stdout).completeness).includes('worktree_unread');
};

test('a run reports that the work tree was not compared', async () => {
  git('init', '-q');
  appendFileSync(join(place.work, '.git', 'config'), '[filter "a=b"]\n\tclean = false\n');
  expect((await place.tacho(demo('default'))).code).toBe(0);
  expect(await says()).toBe(true);
});

test('a run with an endless configuration reports it, too, after waiting once', async () => {
  git('init', '-q');
  git('config', 'include.path', '../pipe');
  execFileSync('mkfifo', [join(place.work, 'pipe')]);
  const began = performance.now();
  expect((await place.tacho(demo('default'))).code).toBe(0);
  expect(performance.now() - began).toBeLessThan(1.9 * CAPTURE_LIMITS.worktree_wait_ms);
  expect(await says()).toBe(true);
});

test('a run that removes the repository reports it, too', async () => {
  git('init', '-q');
  const script = join(place.folder, 'script.yaml');
  const call = { tool: 'run', input: { cmd: `rm -rf ${join(place.work, '.git')}` } };
  writeFileSync(script, JSON.stringify({ steps: [{ calls: [call] }, { say: 'Done.' }] }));
  expect((await place.tacho(demo(script))).code).toBe(0);
  expect(existsSync(join(place.work, '.git'))).toBe(false);
  expect(await says()).toBe(true);
});
