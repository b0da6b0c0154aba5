/** Clocks are compared by the times of messages. A delay on a busy machine is not a clock difference. */
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';
import { compareClocks } from './skew.ts';

/** A connection opened at time 0, and the warnings sent to its peer. */
function connected() {
  let now_ms = 0;
  const reported: number[] = [];
  const connection = {
    hub: {
      limits: { skew_ms_max: 100 },
      counters: { skewed: 0 },
      options: { clock: { now: () => 1_000_000_000_000 + now_ms } },
      elapsed: () => now_ms,
    },
    wire: { waited_ms: 0 },
    opened_ms: 0,
    skews_ms: [],
    skew_at_ms: 0,
    skew_reported_ms: null,
    complain: (_code: string, _why: string, { details }: { details: { clock_skew_ms: number } }) =>
      void reported.push(details.clock_skew_ms),
  } as unknown as Connection;
  return {
    reported,
    /** A message arrives that was written `behind_ms` earlier, or with a clock that much behind. */
    arrives(at_ms: number, behind_ms: number): void {
      now_ms = at_ms;
      const timestamp = new Date(1_000_000_000_000 + at_ms - behind_ms).toISOString();
      compareClocks(connection, { timestamp } as WireMessage);
    },
  };
}

verifies('LP-17', 'messages that waited together count as one measurement', () => {
  const { reported, arrives } = connected();
  for (let n = 0; n < 20; n++) arrives(300 + n, 104 + n);
  expect(reported).toEqual([]);
  arrives(5_000, 0);
  arrives(10_000, 500);
  for (let n = 0; n < 20; n++) arrives(15_000 + 10 * n, 500);
  expect(reported).toEqual([]);
  arrives(20_000, 500);
  expect(reported).toEqual([-500]);
});

test('a collector that accepts a connection late reports no clock difference', () => {
  const { reported, arrives } = connected();
  arrives(0, 900);
  expect(reported).toEqual([]);
});

test('a difference that no delay explains is reported immediately, and so is a clock ahead', () => {
  const behind = connected();
  behind.arrives(10, 60_000);
  expect(behind.reported).toEqual([-60_000]);
  const ahead = connected();
  ahead.arrives(10, 200);
  ahead.arrives(20, -5_000);
  expect(ahead.reported).toEqual([5_000]);
});
