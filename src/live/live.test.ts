/** The small pure parts of the collector. */
import { expect, test } from 'vitest';
import { TachoError } from '../lib/errors.ts';
import { LIVE_CHECKS } from '../model/generated/live.ts';
import { FULL_GRANT, grantFor, hasExpired, parseTokens, refusalOf } from './collector/auth.ts';
import { causeOf, errorMessage, LIVE_ERRORS, type LiveErrorCode } from './protocol/errors.ts';
import { Refused } from './sender/link.ts';
import { cutBeforeHandshake } from './transports/pipe-handshake.ts';

test('every error code makes a message that matches the schema of errors', () => {
  for (const code of Object.keys(LIVE_ERRORS) as LiveErrorCode[]) {
    const options = { at_ms: 0, message_id: 'm', details: { a: 1 }, session_id: 's' };
    const made = errorMessage(code, 'why', options);
    expect([code, LIVE_CHECKS.error?.(made)]).toEqual([code, true]);
    expect(made.timestamp).toBe('1970-01-01T00:00:00.000Z');
  }
});

test('an error is linked to its cause, as far as that could be read', () => {
  expect(causeOf(null)).toBe(null);
  expect(causeOf({ message_id: 'm', seq: 3, correlation_id: 7 })).toEqual({
    correlation_id: null,
    message_id: 'm',
    seq: 3,
  });
  expect(causeOf({ seq: -1 })).toMatchObject({ seq: null });
});

test('a token must match completely, and is valid until it expires', () => {
  const text = JSON.stringify({
    tokens: [
      { token: 'a', permissions: ['send'], sessions: ['s'] },
      { token: 'b', permissions: ['subscribe'], expires_at: '1970-01-01T00:00:01.000Z' },
    ],
  });
  const tokens = parseTokens(text, 'F');
  expect(grantFor(tokens, 'a', 0)?.permissions).toEqual(new Set(['send']));
  expect(grantFor(tokens, 'ab', 0)).toBe(null);
  expect(grantFor(tokens, '', 0)).toBe(null);
  expect(grantFor(tokens, 'b', 999)).not.toBe(null);
  expect(grantFor(tokens, 'b', 1000)).toBe(null);
  expect(hasExpired(FULL_GRANT, Number.MAX_SAFE_INTEGER)).toBe(false);
  const grant = grantFor(tokens, 'a', 0) ?? FULL_GRANT;
  expect(refusalOf(grant, 'send', 's')).toBe(null);
  expect(refusalOf(grant, 'send', 't')).toMatch(/session/);
  expect(refusalOf(grant, 'inject', 's')).toMatch(/inject/);
});

test('an unknown field in a token file is refused with its position: a misspelt limit would grant more', () => {
  const token = { token: 'a', permissions: ['send'] };
  const refusal = (file: object) => {
    try {
      return parseTokens(JSON.stringify(file), 'F');
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(refusal({ tokens: [{ ...token, session: ['s'], expires: '2026' }], note: 1 })).toBe(
    [
      'F:1:48: tokens[0].session: unknown field; did you mean sessions?',
      'F:1:64: tokens[0].expires: unknown field; did you mean expires_at?',
      'F:1:83: note: unknown field; expected one of: tokens',
    ].join('\n'),
  );
});

test('a handshake is found after the torn line of a killed writer', () => {
  const shake = '{"type":"handshake_request","data":{"client_info":{"name":"{"}}}';
  const cut = (text: string) => cutBeforeHandshake(Buffer.from(text));
  expect(cut(shake)).toBe(0);
  expect(cut(`{"type":"tool_call_requ${shake}`)).toBe(23);
  expect(cut(`{"ty${shake.replace('"data"', '"é"')}`)).toBe(4);
  expect(cut(`{"data":{"a":1},"type":"handshake_request"}`)).toBe(0);
  expect(cut(`torn{"data":{"a":1},"type":"handshake_request"}`)).toBe(4);
  expect(cut('{"type":"user_input","data":{"content":"\\"handshake_request\\""}}')).toBe(null);
  expect(cut('{"type":"user_input","content":"handshake_request"}')).toBe(null);
  expect(cut('nothing')).toBe(null);
});

test('only an answer of the collector counts as a refusal, so that other failures keep the messages', () => {
  expect(new Refused('AUTH_FAILED', 'unknown token') instanceof Refused).toBe(true);
  const missing = new TachoError('not_found', 'ca.pem: no such file', { stage: 'live' });
  expect(missing instanceof Refused).toBe(false);
  expect(new Error('closed') instanceof Refused).toBe(false);
});
