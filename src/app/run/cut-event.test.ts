import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { STORE_LIMITS } from '../../store/limits.ts';
import { APP_LIMITS } from '../limits.ts';
import { fitEvent } from './cut-event.ts';

test('an event that fits is left unchanged', () => {
  const event = createMaker()('message_finished', { text: 'short' });
  const body = JSON.stringify(event);
  expect(fitEvent(event, body)).toEqual({ event, body, cut: false });
});

test('an event over the limit of an entry keeps the beginnings of its texts, with a mark', () => {
  const output = `${'é'.repeat(STORE_LIMITS.entry_bytes_max / 2)}x`;
  const event = createMaker()('call_finished', { call_id: 'c1', output });
  const { body, cut } = fitEvent(event, JSON.stringify(event));
  expect(cut).toBe(true);
  expect(body.length).toBeLessThan(APP_LIMITS.cut_text_chars + 1_000);
  const kept = JSON.parse(body);
  expect(kept).toMatchObject({ seq: event.seq, data: { call_id: 'c1' } });
  const rest = output.length - APP_LIMITS.cut_text_chars;
  expect(kept.data.output).toMatch(
    new RegExp(`^é+… \\[${rest} more characters were not recorded\\]$`),
  );
});
