import { expect, test } from 'vitest';
import { RecentMap, RecentSet } from './bounded.ts';

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
