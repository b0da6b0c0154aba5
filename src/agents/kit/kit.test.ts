import { expect, test } from 'vitest';
import { decodesByteText, fromByteText, jsonInside, toByteText } from '../../lib/byte-text.ts';
import type { Draft } from '../../model/draft.ts';
import { PROVIDER_FAILURE_KINDS } from '../../model/words.ts';
import { decoder, type Table } from './decoder.ts';
import type { Drafts } from './drafts.ts';
import { failureOf } from './failures.ts';
import { add, isEmpty, minus, spent } from './usage.ts';

interface Toy {
  say: { readonly text?: unknown };
  'system/init': { readonly id?: unknown };
  system: { readonly subtype?: unknown };
}

function decoded(table: (to: Drafts) => Table<Toy>, ...records: unknown[]): Draft[] {
  const out: Draft[] = [];
  const toy = decoder<Toy>(table);
  for (const record of records) toy.record(record, out);
  toy.end(out);
  return out;
}

const kinds = (drafts: readonly Draft[]) =>
  drafts.map((draft) =>
    draft.kind === 'problem' ? `${draft.data.code}: ${draft.data.detail}` : draft.kind,
  );

test('a record is handled by the row of its kind, else of its type; others are problems', () => {
  const table = (to: Drafts): Table<Toy> => ({
    records: {
      say: (record) => to.message('assistant', String(record.text)),
      'system/init': () => to.session({}),
      system: () => to.notice('system', null),
    },
    ignored: ['ping'],
    notices: ['news/flash'],
    end: () => to.ended({ exit_reason: 'ok', error: null }),
  });
  const drafts = decoded(
    table,
    { type: 'say', text: 'hello' },
    { type: 'system', subtype: 'init' },
    { type: 'system', subtype: 'other' },
    { type: 'ping' },
    { type: 'news', subtype: 'flash' },
    { type: 'novelty' },
    { type: 'constructor' },
    { type: 7 },
    [],
  );
  expect(kinds(drafts)).toEqual([
    'message_finished',
    'session_started',
    'notice',
    'notice',
    'unknown_record: novelty',
    'unknown_record: constructor',
    'bad_record: no type',
    'bad_record: record is not an object',
    'agent_ended',
  ]);
});

test('drafts have the time of their record, and text of an unknown sub-agent is dropped', () => {
  const drafts = decoded(
    (to) => ({
      records: {
        say(record) {
          to.speak(null, record.text !== 'lost');
          to.message('assistant', String(record.text));
        },
      },
    }),
    { type: 'say', text: 'kept', timestamp: '2026-01-01T00:00:00Z' },
    { type: 'say', text: 'lost' },
    { type: 'say', text: 'untimed' },
  );
  expect(drafts.map(({ at_ms }) => at_ms)).toEqual([Date.UTC(2026, 0, 1), undefined]);
});

test('records of earlier runs reach no row, nor do untimed records that follow them', () => {
  const seen: unknown[] = [];
  decoded(
    () => ({
      since_ms: Date.UTC(2026, 0, 2),
      before: (record, _part, earlier) => seen.push([record.text, earlier]),
      records: { say: (record) => seen.push(record.text) },
    }),
    { type: 'say', text: 'old', timestamp: '2026-01-01T00:00:00Z' },
    { type: 'say', text: 'after old' },
    { type: 'say', text: 'new', timestamp: '2026-01-02T00:00:00Z' },
  );
  expect(seen).toEqual([['old', true], ['after old', true], ['new', false], 'new']);
});

function* wrapped(to: Drafts, list: readonly unknown[]): Generator<unknown> {
  for (const item of list) {
    if (item === null) to.bad('nothing in the list');
    else yield item;
  }
}

test('a wrapper and a line of text yield their records, with problems in their place', () => {
  const out: Draft[] = [];
  const toy = decoder<Toy>((to) => ({
    inside: (value) => (Array.isArray(value) ? wrapped(to, value) : null),
    text: (line) => (line === '-' ? null : [{ type: 'say', text: line }]),
    records: { say: (record) => to.message('assistant', String(record.text)) },
  }));
  toy.record([{ type: 'say', text: 'a' }, null, { type: 'say', text: 'b' }], out);
  expect(toy.text?.('c', out)).toEqual([{ type: 'say', text: 'c' }]);
  expect(toy.text?.('-', out)).toBeNull();
  expect(kinds(out)).toEqual([
    'message_finished',
    'bad_record: nothing in the list',
    'message_finished',
  ]);
});

test('JSON inside byte text is read too, and an escape is not a byte', () => {
  const text = '{"a":"\\u00fc é"}';
  expect(jsonInside(text)).toEqual({ a: 'ü é' });
  decodesByteText(true);
  expect(fromByteText(jsonInside(toByteText(text)))).toEqual({ a: 'ü é' });
  decodesByteText(false);
  expect(jsonInside('{')).toBeUndefined();
});

test.each([
  [{ status: 429 }, 'rate_limit', true],
  [{ status: 529 }, 'overloaded', true],
  [{ status: 503 }, 'overloaded', true],
  [{ status: 500, native_kind: 'query' }, 'server', true],
  [{ status: 408 }, 'timeout', true],
  [{ status: 401, native_kind: 'http_connection_failed' }, 'auth', false],
  [{ status: 403 }, 'auth', false],
  [{ status: 404 }, 'not_found', false],
  [{ status: 400, native_kind: 'unknown' }, 'invalid_request', false],
  [{ native_kind: 'RESOURCE_EXHAUSTED' }, 'rate_limit', true],
  [{ native_kind: 'ProviderAuthError' }, 'auth', false],
  [{ native_kind: 'ContextOverflowError' }, 'invalid_request', false],
  [{ native_kind: 'internal_server_error' }, 'server', true],
  [{ message: 'connect ECONNREFUSED 127.0.0.1:1' }, 'network', true],
  [{ message: 'Request timed out.' }, 'timeout', true],
  [{ message: 'mock: invalid request (permanent)' }, 'invalid_request', false],
  [{ message: 'something else' }, 'unknown', null],
  [{ message: 'something else', retryable: false }, 'unknown', false],
  [{}, 'unknown', null],
] as const)('a provider failure %o is %s, retryable %s', (facts, kind, retryable) => {
  expect(failureOf(facts)).toEqual({
    native_kind: null,
    status: null,
    message: '',
    ...facts,
    kind,
    retryable,
  });
  expect(PROVIDER_FAILURE_KINDS).toContain(kind);
});

test('missing figures stay unknown, and so do cumulative figures that decrease', () => {
  const sum = spent();
  expect(isEmpty(sum)).toBe(true);
  add(sum, spent({ input: 3, output: 4 }, 0.5));
  add(sum, spent({ input: 2 }));
  expect(sum).toEqual(spent({ input: 5, output: 4 }, 0.5));
  expect(minus(spent({ input: 5, output: 1 }), sum)).toEqual(spent({ input: 0 }));
});
