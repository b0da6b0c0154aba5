import { expect, test } from 'vitest';
import { BoundedSet } from './bounded-set.ts';

test('a bounded set has a limit of texts and one of characters', () => {
  const few = new BoundedSet(2, 100);
  for (const text of ['a', 'a', 'b', 'c']) few.add(text);
  expect([...few]).toEqual(['a', 'b']);
  const short = new BoundedSet(100, 4);
  for (const text of ['abc', 'de', 'abc', '\ud83d']) short.add(text);
  expect([...short]).toEqual(['abc', '\ud83d']);
});
