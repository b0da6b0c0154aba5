import { expect, test } from 'vitest';
import type { WireMessage } from '../protocol/messages.ts';
import { Delivery } from './delivery.ts';

const source = { session_id: 's', first_seq: 1, last_seq: 500, acked: 0, read: async () => [] };
const times = { resend_ms: 1_000, resend_ms_max: 60_000 };
const collision = {
  type: 'error',
  data: { error_code: 'SESSION_COLLISION', message: 'x', severity: 'error', retriable: true },
} as unknown as WireMessage;

test('a session that another connection owns waits once for all messages in flight, and longer the next time', () => {
  const delivery = new Delivery(source, times);
  for (let seq = 1; seq <= 300; seq++) delivery.sent(seq, 0);
  for (let answer = 0; answer < 300; answer++) delivery.error(collision, 10);
  expect(delivery.due(10)).toBe(1_010);
  delivery.sent(1, 1_010);
  delivery.error(collision, 1_020);
  expect(delivery.due(1_020)).toBe(3_020);
});

function begun(last_seq: number): Delivery {
  const delivery = new Delivery({ ...source, last_seq }, times);
  delivery.begin();
  delivery.asked(0);
  return delivery;
}

test('nothing is sent after a message that may belong to another session, until it is acknowledged or overdue', () => {
  const delivery = begun(5);
  delivery.answered(4);
  expect([delivery.acked, delivery.next, delivery.ready(0)]).toEqual([2, 3, true]);
  expect([3, 4].map((seq) => delivery.maySend(seq))).toEqual([true, false]);
  delivery.sent(3, 0);
  expect(delivery.ready(1)).toBe(false);
  delivery.ack(3, 2);
  expect([delivery.next, delivery.ready(2), delivery.maySend(5)]).toEqual([4, true, true]);

  const silent = begun(5);
  silent.answered(4);
  silent.sent(3, 0);
  expect(silent.resend(1_000)).toBe(true);
  expect(silent.maySend(4)).toBe(true);
});

test('a session that is not ready always has a later time to check again', () => {
  const silent = begun(5);
  const paused = begun(5);
  paused.answered(1);
  paused.pause(0);
  for (const delivery of [silent, paused]) {
    for (let now = 0; now < times.resend_ms; now += 1) {
      expect(delivery.ready(now)).toBe(false);
      expect(delivery.due(now)).toBe(times.resend_ms);
    }
    expect(delivery.ready(times.resend_ms)).toBe(true);
  }
});
