import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { withRealPaths } from './path-rules.ts';
import { isIncluded, WATCH_DEFAULTS } from './watch-config.ts';

const FILE = '/home/u/.agent/sessions/a.jsonl';

function follows(cwd: string | null, rules: { include?: string[]; exclude?: string[] }): boolean {
  return isIncluded({ session_file: FILE, cwd }, { ...WATCH_DEFAULTS, ...rules });
}

verifies('WA-12', 'without rules, every session is followed', () => {
  expect(follows('/home/u/work', {})).toBe(true);
  expect(follows(null, {})).toBe(true);
});

verifies('WA-12', 'a path includes everything in the folder, compared part by part', () => {
  const include = ['/home/u/work'];
  expect(follows('/home/u/work', { include })).toBe(true);
  expect(follows('/home/u/work/a/b', { include })).toBe(true);
  expect(follows('/home/u/workshop', { include })).toBe(false);
  expect(follows('/home/u/work/../private', { include })).toBe(false);
  expect(follows('/home/u', { include: ['/'] })).toBe(true);
});

verifies('WA-12', 'exclude has priority over include', () => {
  const rules = { include: ['/home/u'], exclude: ['/home/u/work/secret'] };
  expect(follows('/home/u/work', rules)).toBe(true);
  expect(follows('/home/u/work/secret', rules)).toBe(false);
  expect(follows('/home/u/work/secret/deep', rules)).toBe(false);
});

verifies('WA-12', 'globs match within a part of a path, and ** over several', () => {
  const exclude = ['/home/u/clients/*/src', '**/private', '/srv/**/keys-?'];
  expect(follows('/home/u/clients/acme/src/x', { exclude })).toBe(false);
  expect(follows('/home/u/clients/acme/docs', { exclude })).toBe(true);
  expect(follows('/home/u/clients/a/b/src', { exclude })).toBe(true);
  expect(follows('/anywhere/at/all/private/x', { exclude })).toBe(false);
  expect(follows('/anywhere/privateer', { exclude })).toBe(true);
  expect(follows('/srv/a/b/keys-1', { exclude })).toBe(false);
});

verifies('WA-12', 'rules also match the session file', () => {
  expect(follows('/w', { exclude: ['/home/u/.agent/sessions'] })).toBe(false);
  expect(follows(null, { include: ['**/a.jsonl'] })).toBe(true);
});

verifies(
  'WA-12',
  'a session with an unknown folder is not followed if a rule could exclude it',
  () => {
    expect(follows(null, { exclude: ['/home/u/secret'] })).toBe(false);
    expect(follows(null, { include: ['/home/u/work'] })).toBe(false);
  },
);

verifies('WA-12', 'a rule about a folder behind a link matches the real path as well', () => {
  const folder = testFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  const exclude = withRealPaths([`${folder}/link/*.x`, '/missing/folder']);
  expect(follows(`${folder}/link/a.x`, { exclude })).toBe(false);
  expect(follows(`${folder}/real/a.x`, { exclude })).toBe(false);
  expect(follows(`${folder}/real/a.y`, { exclude })).toBe(true);
});
