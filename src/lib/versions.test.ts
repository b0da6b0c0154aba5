import { expect, test } from 'vitest';
import { compareVersions } from './versions.ts';

/** Each version comes before all that follow it. */
const ORDER = [
  '0.9',
  '0.87.1',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.0.1',
  '1.2',
  '1.10.0',
  '2.1.325',
  '2.1.1000',
  '10.0.0',
  '2026.9.6',
];

test('versions have the order of package registries', () => {
  for (const [i, a] of ORDER.entries())
    for (const [j, b] of ORDER.entries())
      expect(Math.sign(compareVersions(a, b)), `${a} ${b}`).toBe(Math.sign(i - j));
});

test('a missing part is 0, a leading v and build metadata have no meaning', () => {
  expect(compareVersions('1.2', '1.2.0')).toBe(0);
  expect(compareVersions('v1.2.3', '1.2.3+build.7')).toBe(0);
  expect(compareVersions('1.0.0-x+1', '1.0.0')).toBeLessThan(0);
});
