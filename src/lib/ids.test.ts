import { expect, test } from 'vitest';
import { shortRunId, shortRunIds } from './ids.ts';

const id = (start: string) => `r_${start.padEnd(26, '0')}`;

test('a short id has ten characters, or more when several ids in a list share that prefix', () => {
  expect(shortRunId(id('01m7ek9wahxyz'))).toBe('01m7ek9wah');
  const ids = [id('01m7ek9wahxyz'), id('01m7ek9wab'), id('01m7ek9wahxya'), id('01m7ek9wahb')];
  expect(shortRunIds(ids)).toEqual(['01m7ek9wahxyz', '01m7ek9wab', '01m7ek9wahxya', '01m7ek9wahb']);
  expect(shortRunIds([id('a'), id('a')])).toEqual(['a000000000', 'a000000000']);
  expect(shortRunIds([])).toEqual([]);
});
