/** Pieces of texts in live messages: which parts are held back, and when they are sent. */
import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { LIMITS } from '../lib/limits.ts';
import { secretHash } from '../store/journal/hash.ts';
import { createLiveRedaction } from './live.ts';
import { createRedactor } from './redact.ts';

const SECRET = 'Zq81mKpXv0tRs5Wd9Lb2';
const HALF = SECRET.slice(0, 9);
const REST = SECRET.slice(9);
const MARK = /\[REDACTED:env:[0-9a-f]{8}\]/;
const hash = secretHash(Buffer.alloc(32, 1));

type Sent = { type: string; data: Record<string, unknown> };

function redaction() {
  const env = { MY_API_KEY: SECRET };
  const live = createLiveRedaction(createRedactor({ env, secret_env: [], hash }));
  const delta = (text: string, index = 0, session = 's', message_id = 'm') =>
    textOf(live.messages(session, 'content_block_delta', { message_id, index, delta: { text } }));
  return { ...live, delta };
}

const textOf = (sent: readonly Sent[]) =>
  sent.map(({ data }) => (data.delta as { text?: string } | undefined)?.text ?? '').join('');
const typesOf = (sent: readonly Sent[]) => sent.map(({ type }) => type);

verifies(['ST-7', 'LP-2'], 'the rest of a text comes before the message that ends it', () => {
  const { delta, messages, held } = redaction();
  for (const [type, data] of [
    ['content_block_stop', { message_id: 'm', index: 0 }],
    ['session_end', { status: 'ok' }],
  ] as const) {
    expect(delta(`a ${HALF}`)).not.toContain(HALF);
    const sent = messages('s', type, data);
    expect([typesOf(sent), textOf(sent)]).toEqual([
      ['content_block_delta', type],
      expect.stringMatching(new RegExp(`${HALF}$`)),
    ]);
    expect(held('s')).toEqual([]);
  }
});

verifies(['ST-7', 'LP-2'], 'other texts and other sessions do not end a text', () => {
  const { delta, messages, held } = redaction();
  delta(HALF);
  const stop = (session: string, data: object) =>
    typesOf(messages(session, 'content_block_stop', { ...data }));
  expect(stop('s', { message_id: 'm', index: 1 })).toEqual(['content_block_stop']);
  expect(stop('s', { message_id: 'n', index: 0 })).toEqual(['content_block_stop']);
  expect(stop('t', { message_id: 'm', index: 0 })).toEqual(['content_block_stop']);
  expect(typesOf(messages('t', 'session_end', { status: 'ok' }))).toEqual(['session_end']);
  expect(typesOf(messages('s', 'message_stop', { message_id: 'n' }))).toEqual(['message_stop']);
  expect(held('t')).toEqual([]);
  // Pieces of other texts are not part of this one.
  for (const other of [delta(REST, 1), delta(REST, 0, 't'), delta(REST, 0, 's', 'n')])
    expect(other).not.toMatch(MARK);
  delta(REST);
  const sent = messages('s', 'content_block_stop', { message_id: 'm', index: 0 });
  expect(textOf(sent)).toMatch(MARK);
});

verifies(['ST-7', 'LP-16'], 'with too many open texts each piece is redacted separately', () => {
  const { delta, held } = redaction();
  for (let at = 0; at < LIMITS.live_open_texts_max; at++) expect(delta(HALF, at)).toBe('');
  expect(delta(HALF, -1)).toBe(HALF);
  expect(delta(`${SECRET}.`, -1)).toMatch(MARK);
  // Open texts stay open.
  expect(delta(`${REST}, and more than that`.padEnd(200, '.'), 0)).toMatch(MARK);
  expect(held('s')).toHaveLength(LIMITS.live_open_texts_max);
});

verifies(['ST-7', 'LP-2'], "a message's own fields are kept, even in a message that begins", () => {
  const { messages, data, envelope } = redaction();
  const said = { id: SECRET, role: 'assistant', content: [{ text: SECRET }] };
  const [begun] = messages('s', 'message_start', { message: said });
  expect(begun?.data.message).toEqual({
    id: SECRET,
    role: 'assistant',
    content: [{ text: expect.stringMatching(MARK) }],
  });
  // Only there: deeper values, or values outside the data, are like any other.
  const deep = { message: { id: 'm', message: { id: SECRET } } };
  expect(JSON.stringify([data(deep), envelope({ message: { id: SECRET } })])).not.toContain(SECRET);
  expect(data({ message: `x ${SECRET}`, call_id: SECRET })).toEqual({
    message: expect.stringMatching(MARK),
    call_id: SECRET,
  });
});

verifies(
  ['ST-7', 'LP-2'],
  'a secret of digits is found as a number of a tool, and only there',
  () => {
    const env = { MY_API_KEY: '8123456789' };
    const { data } = createLiveRedaction(createRedactor({ env, secret_env: [], hash }));
    const number = 8_123_456_789;
    const mark = expect.stringMatching(MARK);
    expect(data({ args: { n: [number] }, result: number, execution_time_ms: number })).toEqual({
      args: { n: [mark] },
      result: mark,
      execution_time_ms: number,
    });
  },
);
