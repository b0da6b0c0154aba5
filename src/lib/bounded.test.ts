import { expect, test } from 'vitest';
import { BoundedSet, RecentMap, RecentSet } from './bounded.ts';

test('over its limit a map keeps the newer half', () => {
  const map = new RecentMap<string, number>(4);
  for (let n = 0; n < 5; n += 1) map.set(`k${n}`, n);
  expect([...map]).toEqual([
    ['k3', 3],
    ['k4', 4],
  ]);
});

test('over its limit a set keeps the newer half', () => {
  const set = new RecentSet<number>(4);
  for (let n = 0; n < 5; n += 1) set.add(n);
  expect([...set]).toEqual([3, 4]);
});

test('a bounded set has a limit of texts and one of characters', () => {
  const few = new BoundedSet(2, 100);
  for (const text of ['a', 'a', 'b', 'c']) few.add(text);
  expect([...few]).toEqual(['a', 'b']);
  const short = new BoundedSet(100, 4);
  for (const text of ['abc', 'de', 'abc', '\ud83d']) short.add(text);
  expect([...short]).toEqual(['abc', '\ud83d']);
});
