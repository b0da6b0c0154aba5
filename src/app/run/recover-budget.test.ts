import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createSpool } from '../../store/spool/spool.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { attemptAllowed, attemptOver, triedEnough } from './recover-budget.ts';

const newSpool = () => createSpool(openStateDir(join(testFolder(), 'state')), 'r_1');
const LATER = { until_ms: Number.POSITIVE_INFINITY };
const OVER = { until_ms: -1 };

verifies(
  'ST-3',
  'no automatic recovery starts after its time is over, and none is recorded then',
  () => {
    const spool = newSpool();
    expect(attemptAllowed(spool, OVER)).toMatch(/time for automatic recoveries is used up/);
    expect(existsSync(join(spool.path, 'attempts'))).toBe(false);
    expect(attemptAllowed(spool, LATER)).toBeNull();
    expect(readFileSync(join(spool.path, 'attempts'), 'latin1')).toBe('x');
  },
);

verifies(
  'ST-3',
  'attempts are counted until one succeeds; an explicit command has no budget',
  () => {
    const spool = newSpool();
    for (let i = 0; i < APP_LIMITS.auto_recover_attempts_max; i++) {
      expect(triedEnough(spool)).toBe(false);
      expect(attemptAllowed(spool, LATER)).toBeNull();
    }
    expect(triedEnough(spool)).toBe(true);
    expect(attemptAllowed(spool, LATER)).toMatch(/failed 3 times/);
    expect(attemptAllowed(spool, null)).toBeNull();
    attemptOver(spool);
    expect([triedEnough(spool), attemptAllowed(spool, LATER)]).toEqual([false, null]);
  },
);

verifies('ST-3', 'an attempt that cannot be recorded is not started', () => {
  const spool = newSpool();
  // A link is not followed.
  symlinkSync('x', join(spool.path, 'attempts'));
  expect(attemptAllowed(spool, LATER)).toMatch(/the attempt cannot be noted/);
});
