/** The guard against loops keeps what was called last. */
import { expect, test } from 'vitest';
import type { Event } from '../model/event.ts';
import { createLoopGuard } from './budget.ts';
import { CAPTURE_LIMITS } from './limits.ts';

const MOST = CAPTURE_LIMITS.loop_guard_calls_max;

const call = (n: number) =>
  ({ kind: 'call_requested', data: { tool: 'Bash', input: { n } } }) as unknown as Event;

test('a call is counted while fewer than the limit of other calls lie between', () => {
  const guard = createLoopGuard(3);
  expect(guard.push([call(0), call(1)])).toBeNull();
  for (let n = 2; n < MOST; n++) guard.push([call(n)]);
  // Calling it again makes it the newest; the one before it is the oldest then, and goes first.
  expect(guard.push([call(0), call(MOST)])).toBeNull();
  expect(guard.push([call(0)])).toContain('3 times');
  expect(guard.push([call(1), call(1)])).toBeNull();
});
