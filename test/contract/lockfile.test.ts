/** What an installation of the checkout brings: only what the lockfile has a hash of. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface Entry {
  version: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  hasInstallScript?: boolean;
}

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
const entries = Object.entries(JSON.parse(text).packages as Record<string, Entry>).filter(
  ([path]) => path.includes('node_modules/'),
);

test('every package has a hash, and no place to download it from is written down', () => {
  const packages = entries.filter(([, { link }]) => link !== true);
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test('no package brings a program by a script: Node itself is a package with a hash', () => {
  const scripted = entries.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // esbuild's script only replaces a wrapper by the program of its platform package; fsevents is for macOS.
  const known = ['node_modules/esbuild', 'node_modules/fsevents'];
  expect(scripted.map(([path]) => path).filter((path) => !known.includes(path))).toEqual([]);
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'scripts/node/package.json'), 'utf8'),
  );
  for (const [name, version] of Object.entries(optionalDependencies))
    expect(entries).toContainEqual([`node_modules/${name}`, expect.objectContaining({ version })]);
});
