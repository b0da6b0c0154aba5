import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { remoteIn } from './git-remote.ts';
import { projectOf } from './project.ts';

const URL = 'https://example.org/one.git';
const configOf = (url: string) => `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`;

function repository(folder: string, url = URL): string {
  mkdirSync(join(folder, '.git'), { recursive: true });
  writeFileSync(join(folder, '.git', 'config'), configOf(url));
  return folder;
}

verifies('WA-1', 'the project is the root of the repository, otherwise the folder', () => {
  const folder = testFolder();
  expect(projectOf(folder)).toEqual({ path: folder, remote: null });
  expect(projectOf(join(folder, 'gone'))).toEqual({ path: join(folder, 'gone'), remote: null });
  const top = repository(join(folder, 'one'));
  mkdirSync(join(top, 'a', 'b'), { recursive: true });
  symlinkSync(join(top, 'a'), join(folder, 'link'));
  for (const cwd of [top, join(top, 'a', 'b'), join(folder, 'link', 'b')])
    expect(projectOf(cwd)).toEqual({ path: top, remote: URL });
});

verifies('WA-1', 'linked work trees and submodules have the remote of their repository', () => {
  const folder = testFolder();
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd });
  const one = join(folder, 'one');
  mkdirSync(one);
  git(one, 'init', '-q');
  git(one, 'remote', 'add', 'origin', URL);
  git(one, 'commit', '-q', '--allow-empty', '-m', 'first');
  git(one, 'worktree', 'add', '-q', '../other', '-b', 'b');
  expect(projectOf(join(folder, 'other'))).toEqual({ path: join(folder, 'other'), remote: URL });
  const part = join(one, 'part');
  mkdirSync(join(one, '.git', 'modules', 'part'), { recursive: true });
  mkdirSync(part);
  writeFileSync(join(part, '.git'), 'gitdir: ../.git/modules/part\n');
  writeFileSync(join(one, '.git', 'modules', 'part', 'config'), configOf('git@h.org:part.git'));
  expect(projectOf(part)).toEqual({ path: part, remote: 'git@h.org:part.git' });
});

test('a pipe, a circular link or a folder in place of a git file gives no remote', () => {
  for (const spoil of [
    (path: string) => execFileSync('mkfifo', [path]),
    (path: string) => symlinkSync(path, path),
    (path: string) => mkdirSync(path),
    (path: string) => writeFileSync(path, Buffer.alloc(400_000, '[')),
  ]) {
    const top = testFolder();
    mkdirSync(join(top, '.git'));
    spoil(join(top, '.git', 'config'));
    expect(projectOf(top)).toEqual({ path: top, remote: null });
  }
});

verifies('WA-1', 'a remote is recorded without credentials, or not at all', () => {
  const of = (url: string) => remoteIn(configOf(url));
  const kept = {
    [URL]: URL,
    'https://user:token@example.org/one.git': URL,
    'https://token@example.org/one.git': URL,
    'https://a:b@c@example.org/one.git?private_token=x#y': URL,
    'https://example.org:8443/one': 'https://example.org:8443/one',
    'ssh://git@[::1]:22/one': 'ssh://[::1]:22/one',
    'git@example.org:one/two.git': 'git@example.org:one/two.git',
    'someone@example.org:one.git': 'example.org:one.git',
    'file:///srv/one.git': 'file:///srv/one.git',
    '/srv/one.git': '/srv/one.git',
    '../one.git': '../one.git',
    '"https://example.org/one.git" ; a comment': URL,
  };
  for (const [url, remote] of Object.entries(kept)) expect([url, of(url)]).toEqual([url, remote]);
  for (const url of [
    'https://user:to/ken@example.org/one.git',
    'https://proxy.org/https://user:token@example.org/one.git',
    'user:token@example.org/one.git',
    'user:token@example.org:one.git',
    'ext::sh -c token%',
    'helper::https://user:token@example.org',
    'token with spaces',
    '',
  ])
    expect([url, of(url)]).toEqual([url, null]);
  expect(remoteIn('')).toBeNull();
  expect(remoteIn('[remote "up"]\nurl=/srv/up\n[branch "x"]\nurl=/no\n[remote "b"]\nurl=/b')).toBe(
    '/srv/up',
  );
  expect(remoteIn(`[remote "up"]\nurl=/srv/up\n[REMOTE "origin"] url = /srv/one`)).toBe('/srv/one');
});
