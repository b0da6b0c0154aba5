/** Links and pictures in the pages point to existing files and headings. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const LINK = /\]\(([^)#\s]*)(?:#([^)]*))?\)/g;

/** The anchors of a page, as GitHub derives them from its headings. Code blocks have no headings. */
function anchorsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```/gm, '');
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(headings);
}

/** Whether the file exists and has the heading. */
function leadsSomewhere(page: string, link: string, anchor: string | undefined): boolean {
  const path = link === '' ? join(root, page) : join(root, dirname(page), link);
  if (!existsSync(path)) return false;
  return anchor === undefined || !path.endsWith('.md') || anchorsOf(path).has(anchor);
}

function pagesIn(folder: string, recursive: boolean): string[] {
  return readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('testdata'))
    .map((name) => join(folder, name));
}

test('every link between pages points to an existing file and heading', () => {
  const pages = [...pagesIn('.', false), ...pagesIn('docs', true), ...pagesIn('src', true)];
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(LINK)]
      .filter(([, link = '']) => !/^[a-z]+:/.test(link))
      .filter(([, link = '', anchor]) => !leadsSomewhere(page, link, anchor))
      .map(([whole]) => `${page}: ${whole}`),
  );
  expect(broken).toEqual([]);
});
