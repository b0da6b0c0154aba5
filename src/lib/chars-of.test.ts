import { expect, test } from 'vitest';
import { charsOf } from './chars-of.ts';

test('the size of an input is counted up to a bound', () => {
  expect(charsOf({ command: 'ls' }, 1_000)).toBe(16 + 7 + 16 + 2);
  const many = Array.from({ length: 1_000_000 }, () => 'xxxx');
  expect(charsOf({ many, more: many }, 1_000)).toBeLessThan(1_100);
});
