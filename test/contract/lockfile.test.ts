/** Installing the checkout brings only packages with a hash in the lockfile. */
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

test('every package has a hash, and none has a download address', () => {
  const packages = entries.filter(([, { link }]) => link !== true);
  expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test('no package installs a program by a script: Node itself is a package with a hash', () => {
  const scripted = entries.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // esbuild's script only replaces a wrapper with the program from its platform package; fsevents is for macOS.
  const known = ['node_modules/esbuild', 'node_modules/fsevents'];
  expect(scripted.map(([path]) => path).filter((path) => !known.includes(path))).toEqual([]);
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'scripts/node/package.json'), 'utf8'),
  );
  for (const [name, version] of Object.entries(optionalDependencies))
    expect(entries).toContainEqual([`node_modules/${name}`, expect.objectContaining({ version })]);
});
