import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedSet, LastSet, RecentMap, RecentSet } from './bounded.ts';

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

test('a bounded set limits the number of texts and of characters', () => {
  const few = new BoundedSet(2, 100);
  for (const text of ['a', 'a', 'b', 'c']) few.add(text);
  expect([...few]).toEqual(['a', 'b']);
  const short = new BoundedSet(100, 4);
  for (const text of ['abc', 'de', 'abc', '\ud83d']) short.add(text);
  expect([...short]).toEqual(['abc', '\ud83d']);
});

test('after any operations, exactly the entries that were set last are left', () => {
  const key = fc.integer({ min: 0, max: 9 });
  const operation = fc.record({ what: fc.constantFrom('set', 'set', 'delete'), key });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const dropped: number[] = [];
      const kept = new LastSet<number, number>(4, (key) => void dropped.push(key));
      const plain = new Map<number, number>();
      const expected: number[] = [];
      for (const [at, { what, key }] of operations.entries()) {
        plain.delete(key);
        if (what === 'delete') kept.delete(key);
        else {
          kept.set(key, at);
          plain.set(key, at);
        }
        const [oldest] = plain.keys();
        if (plain.size <= 4 || oldest === undefined) continue;
        plain.delete(oldest);
        expected.push(oldest);
      }
      const byKey = (a: [number, number], b: [number, number]) => a[0] - b[0];
      expect([...kept.entries()].sort(byKey)).toEqual([...plain].sort(byKey));
      expect(dropped).toEqual(expected);
      for (let one = 0; one < 10; one++) expect(kept.get(one)).toBe(plain.get(one));
    }),
  );
});
