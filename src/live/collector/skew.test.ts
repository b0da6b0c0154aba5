/** Clocks are compared by the times of messages; what a busy machine delays is no difference of clocks. */
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { Connection } from './hub.ts';
import { compareClocks } from './skew.ts';

/** A connection that was opened at 0, and what its peer is sent as warnings. */
function connected() {
  let now_ms = 0;
  const told: number[] = [];
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
    skew_told_ms: null,
    complain: (_code: string, _why: string, { details }: { details: { clock_skew_ms: number } }) =>
      void told.push(details.clock_skew_ms),
  } as unknown as Connection;
  return {
    told,
    /** A message arrives at this time, which its sender wrote `behind_ms` before, or with a clock that much behind. */
    arrives(at_ms: number, behind_ms: number): void {
      now_ms = at_ms;
      const timestamp = new Date(1_000_000_000_000 + at_ms - behind_ms).toISOString();
      compareClocks(connection, { timestamp } as WireMessage);
    },
  };
}

verifies('LP-17', 'messages that waited together are one measurement', () => {
  const { told, arrives } = connected();
  for (let n = 0; n < 20; n++) arrives(300 + n, 104 + n);
  expect(told).toEqual([]);
  arrives(5_000, 0);
  arrives(10_000, 500);
  for (let n = 0; n < 20; n++) arrives(15_000 + 10 * n, 500);
  expect(told).toEqual([]);
  arrives(20_000, 500);
  expect(told).toEqual([-500]);
});

test('a collector that takes a connection late finds no clock behind', () => {
  const { told, arrives } = connected();
  arrives(0, 900);
  expect(told).toEqual([]);
});

test('more than a delay can explain is reported at once, and so is a clock ahead', () => {
  const behind = connected();
  behind.arrives(10, 60_000);
  expect(behind.told).toEqual([-60_000]);
  const ahead = connected();
  ahead.arrives(10, 200);
  ahead.arrives(20, -5_000);
  expect(ahead.told).toEqual([5_000]);
});
