import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { Event } from '../../model/event.ts';
import { EvidenceFold } from './evidence.ts';

const event = (kind: Event['kind'], data: object = {}) =>
  ({ kind, at_ms: 1, data: { role: 'user', ...data } }) as unknown as Event;

verifies('WA-9', 'a turn has ended whether its end is among the records or after them', () => {
  const fold = new EvidenceFold();
  const ended = (...end: Event[]) => fold.evidence(end, 0).ended;
  const seen: boolean[] = [];
  for (const kind of [
    'step_started',
    'message_finished',
    'agent_ended',
    'usage_reported',
    'message_finished',
    'agent_ended',
  ] as const) {
    fold.push(event(kind));
    seen.push(ended());
  }
  expect(seen).toEqual([false, false, true, true, false, true]);
  fold.push(event('step_started'));
  expect([ended(), ended(event('agent_ended'))]).toEqual([false, true]);
});
