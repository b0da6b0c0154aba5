import { expect, test } from 'vitest';
import { cleanPath, pathInside, shortestPath } from './paths.ts';

const BASES = ['/work/run', '/private/work/run'];

test.each([
  ['a.js', 'a.js'],
  ['./src//a.js', 'src/a.js'],
  ['src/../a.js', 'a.js'],
  ['/work/run/a.js', 'a.js'],
  ['/private/work/run/src/a.js', 'src/a.js'],
  ['/work/other/../run/a.js', 'a.js'],
  ['/work/run', ''],
  ['.', ''],
  ['../run/a.js', 'a.js'],
  ['../a.js', null],
  ['/work/run/../a.js', null],
  ['/work/running/a.js', null],
  ['/etc/passwd', null],
])('%s is inside as %s', (path, want) => expect(pathInside(path, BASES)).toBe(want));

test('without a known folder, a relative path is inside unless it leaves with ..', () => {
  expect(['./a', 'b/../a', '../a', '..', '/a'].map((path) => pathInside(path, []))).toEqual([
    'a',
    'a',
    null,
    null,
    null,
  ]);
});

test('every absolute path is inside the root folder', () => {
  expect(pathInside('/etc/x', ['/'])).toBe('etc/x');
});

test('a path is shown in its shortest form', () => {
  const short = (path: string) => shortestPath(path, BASES);
  expect([short('/work/run/a'), short('/work/run'), short('/x/./y'), short('../b')]).toEqual([
    'a',
    '/work/run',
    '/x/./y',
    '../b',
  ]);
  expect(cleanPath('C:\\a\\..\\b')).toBe('C:/b');
});
