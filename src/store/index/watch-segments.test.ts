import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { watchSegments } from './watch-segments.ts';

const nameOf = (digit: number) => `${String(digit).repeat(26)}.jsonl`;

verifies('ST-6', 'a segment is found where the times of folders are whole seconds', () => {
  const dir = testFolder();
  const segments = watchSegments(dir);
  const names = () => Array.from(segments.changed(), ({ segment }) => segment);
  // Two changes within one, and a look between them.
  for (const [digit, age_ms] of [300, 900].entries()) {
    const at = (Date.now() - age_ms) / 1000;
    writeFileSync(join(dir, nameOf(2 * digit)), 'x');
    utimesSync(dir, at, at);
    expect(names()).toContain(nameOf(2 * digit));
    writeFileSync(join(dir, nameOf(2 * digit + 1)), 'x');
    utimesSync(dir, at, at);
    expect(statSync(dir).mtimeMs).toBeCloseTo(at * 1000, -1);
    expect(names()).toContain(nameOf(2 * digit + 1));
  }
});
