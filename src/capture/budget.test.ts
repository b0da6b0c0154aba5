/** The loop guard keeps the last calls, and limits that an agent reports too late are known before the run. */
import { expect, test } from 'vitest';
import type { Agent, KnownWhen } from '../model/agent.ts';
import type { Event } from '../model/event.ts';
import { createLoopGuard, lateLimit } from './budget.ts';
import { CAPTURE_LIMITS } from './limits.ts';

const MOST = CAPTURE_LIMITS.loop_guard_calls_max;

const call = (n: number) =>
  ({ kind: 'call_requested', data: { tool: 'Bash', input: { n } } }) as unknown as Event;

test('a call is counted while fewer other calls than the limit come between', () => {
  const guard = createLoopGuard(3);
  expect(guard.push([call(0), call(1)])).toBeNull();
  for (let n = 2; n < MOST; n++) guard.push([call(n)]);
  // Calling it again makes it the newest; the one before it is then the oldest and is dropped first.
  expect(guard.push([call(0), call(MOST)])).toBeNull();
  expect(guard.push([call(0)])).toContain('3 times');
  expect(guard.push([call(1), call(1)])).toBeNull();
});

test.each<[KnownWhen, string | null]>([
  ['live', null],
  [
    'end',
    'Toy reports its cost only at the end.\nUse --max-tokens, --max-tool-calls, --max-steps or --timeout',
  ],
  ['after', 'Toy reports its cost only at the end.'],
  ['never', 'Toy never reports its cost.'],
])('a limit on a cost that is known %s', (cost, why) => {
  const capabilities = { cost, usage: 'live', call_requests: 'live', steps: 'live' };
  const agent = { id: 'toy', title: 'Toy', capabilities } as unknown as Agent;
  const text = lateLimit({ cost_usd: 1, tokens: 5 }, agent);
  if (why === null) expect(text).toBeNull();
  else expect(text).toContain(`--max-cost cannot stop a run of toy in time: ${why}`);
  expect(lateLimit({ cost_usd: null, tokens: 5, same_calls: 2 }, agent)).toBeNull();
});

test.each<[KnownWhen, KnownWhen, string | null]>([
  ['never', 'live', null],
  ['end', 'live', null],
  ['never', 'end', 'Toy reports its tokens only at the end.'],
  ['never', 'never', 'Toy never reports its cost.'],
  ['live', 'never', null],
])(
  'a limit on a cost that is known %s, or computed from tokens that are known %s',
  (cost, usage, why) => {
    const capabilities = { cost, usage, call_requests: 'live', steps: 'live' };
    const pricing = { provider: null, reasoning: 'in_output', needs: [] };
    const agent = { id: 'toy', title: 'Toy', capabilities, pricing } as unknown as Agent;
    const text = lateLimit({ cost_usd: 1 }, agent);
    if (why === null) expect(text).toBeNull();
    else expect(text).toContain(`--max-cost cannot stop a run of toy in time: ${why}`);
  },
);
