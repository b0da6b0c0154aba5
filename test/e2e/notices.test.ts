/** The package contains the licences of its bundled code. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledPackages, noticesOf } from '../../scripts/notices.mjs';
import { testFolder } from '../fixtures/folder.ts';
import { root } from './cli.ts';

/** Packages that the sources import at run time, with their dependencies. */
function importedPackages(): string[] {
  const src = join(root, 'src');
  const found = new Set<string>();
  const take = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    const path = join(root, 'node_modules', name, 'package.json');
    const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8'));
    for (const more of Object.keys(dependencies)) take(more);
  };
  for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts') || name.startsWith('model/')) continue;
    const text = readFileSync(join(src, name), 'utf8');
    const imports = /^import (?!type )[^;]*?from '((?:@[\w-]+\/)?[\w-]+)'/gm;
    for (const [, from] of text.matchAll(imports)) take(from as string);
  }
  return [...found].sort();
}

test('every bundled package is listed with its licence in the published package', () => {
  const notices = readFileSync(join(root, 'dist/THIRD-PARTY-NOTICES'), 'utf8');
  const names = importedPackages();
  expect(names).toContain('commander');
  for (const name of names) {
    const { version, license } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
    );
    expect(notices).toContain(`\n${name} ${version} (${license})\n`);
  }
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const files = packed.files.map(({ path }: { path: string }) => path);
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'dist/THIRD-PARTY-NOTICES']));
});

test('a package without a licence text, or with an unreviewed licence, fails the build', () => {
  const folder = testFolder();
  const put = (name: string, license: string, text: string | null) => {
    const path = join(folder, 'node_modules', name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'package.json'), JSON.stringify({ name, version: '1.0.0', license }));
    if (text !== null) writeFileSync(join(path, 'LICENSE.md'), text);
    return `node_modules/${name}`;
  };
  const good = put('good', 'MIT', 'Copyright Somebody');
  expect(noticesOf(folder, [good])).toContain('good 1.0.0 (MIT)\n\nCopyright Somebody\n');
  expect(() => noticesOf(folder, [put('bare', 'MIT', null)])).toThrow(/no licence text/);
  expect(() => noticesOf(folder, [put('odd', 'GPL-3.0', 'text')])).toThrow(/GPL-3.0/);
});

test('a package counts as bundled when it has bytes in an output file', () => {
  const inputs = {
    'src/a.ts': { bytesInOutput: 5 },
    'node_modules/one/x.js': { bytesInOutput: 1 },
    'node_modules/none/x.js': { bytesInOutput: 0 },
    'node_modules/one/node_modules/@scope/two/x.js': { bytesInOutput: 1 },
  };
  expect(bundledPackages([{ outputs: { 'dist/a.js': { inputs } } }])).toEqual([
    'node_modules/one',
    'node_modules/one/node_modules/@scope/two',
  ]);
});
