/** What is generated and committed is what its sources say now. */
import { expect, test } from 'vitest';
import { committed, generated } from '../../scripts/generate.ts';

for (const [path, text] of await generated()) {
  test(`${path} is what npm run generate makes`, () => {
    expect(committed(path)).toBe(text);
  });
}
