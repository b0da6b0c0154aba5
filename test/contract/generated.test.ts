/** Generated files that are committed match their sources. */
import { expect, test } from 'vitest';
import { committed, generated } from '../../scripts/generate.ts';

for (const [path, text] of await generated()) {
  test(`${path} matches the output of npm run generate`, () => {
    expect(committed(path)).toBe(text);
  });
}
