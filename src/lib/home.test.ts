import { expect, test } from 'vitest';
import { homeFolder } from './home.ts';

const unknown = () => {
  throw new Error('no such user');
};

test('an empty or relative HOME does not mean the current folder, and a user without a home has the root', () => {
  const ways = ['/x', '', '.', 'a/b'].map((given) => [() => given, () => '/home/a']);
  expect([...ways, [() => '', unknown], [unknown, unknown]].map((way) => homeFolder(way))).toEqual([
    '/x',
    '/home/a',
    '/home/a',
    '/home/a',
    '/',
    '/',
  ]);
});
