/** Links and pictures in the pages point to existing files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const LINK = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g;

function pagesIn(folder: string, recursive: boolean): string[] {
  return readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('testdata'))
    .map((name) => join(folder, name));
}

test('every link between pages points to an existing file', () => {
  const pages = [...pagesIn('.', false), ...pagesIn('docs', true), ...pagesIn('src', true)];
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(LINK)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => !existsSync(join(root, dirname(page), link)))
      .map((link) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});
