import { expect, test } from 'vitest';
import { cleanPath, pathInside, shortestPath } from './paths.ts';

const BASES = ['/srv/run', '/private/srv/run'];

test.each([
  ['a.js', 'a.js'],
  ['./src//a.js', 'src/a.js'],
  ['src/../a.js', 'a.js'],
  ['/srv/run/a.js', 'a.js'],
  ['/private/srv/run/src/a.js', 'src/a.js'],
  ['/srv/other/../run/a.js', 'a.js'],
  ['/srv/run', ''],
  ['.', ''],
  ['../run/a.js', 'a.js'],
  ['../a.js', null],
  ['/srv/run/../a.js', null],
  ['/srv/running/a.js', null],
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
  expect([short('/srv/run/a'), short('/srv/run'), short('/x/./y'), short('../b')]).toEqual([
    'a',
    '/srv/run',
    '/x/./y',
    '../b',
  ]);
  expect(cleanPath('C:\\a\\..\\b')).toBe('C:/b');
});
