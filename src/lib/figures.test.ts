import { expect, test } from 'vitest';
import { costText, countText, durationText, plural } from './figures.ts';

test('durations are readable at every size', () => {
  const ms = [-5, 0, 999, 1000, 59_949, 59_950, 60_000, 3_599_000, 3_600_000, 7_380_000];
  expect(ms.map(durationText)).toEqual([
    '0ms',
    '0ms',
    '999ms',
    '1.0s',
    '59.9s',
    '1m 00s',
    '1m 00s',
    '59m 59s',
    '1h 00m',
    '2h 03m',
  ]);
});

test('counts, costs and nouns are readable', () => {
  expect([0, 999, 1000, 12_345, 999_949, 999_950, 3_400_000, 12.9e9].map(countText)).toEqual([
    '0',
    '999',
    '1.0k',
    '12.3k',
    '999.9k',
    '1.0M',
    '3.4M',
    '12.9B',
  ]);
  expect([0, 0.01234, 1, 12.345].map(costText)).toEqual(['$0.0000', '$0.0123', '$1.00', '$12.35']);
  expect([plural(1, 'file'), plural(0, 'file')]).toEqual(['1 file', '0 files']);
});
