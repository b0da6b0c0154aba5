/** Breaks every field of every type in every way that its schema forbids: the fault names that field. */

import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { type JsonSchema, schemaFaults } from '../../lib/schema/json-schema.ts';
import { fieldName } from '../../lib/schema/mistakes.ts';
import { LIVE_SCHEMAS } from '../../model/generated/live.ts';
import { LIVE_TYPES } from '../../model/live-words.ts';
import { readMessage, readText } from './messages.ts';

type Map = Record<string, unknown>;

/** A value that the schema allows. */
function sample(schema: JsonSchema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0] as JsonSchema);
  if (schema.pattern?.includes('T')) return '2026-03-03T10:00:00.037Z';
  switch (schema.type) {
    case 'string':
      return 'x';
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 0);
    case 'boolean':
      return true;
    case 'array':
      return schema.items === undefined ? [] : [sample(schema.items)];
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, child]) => [name, sample(child)]),
      );
    default:
      return { any: 'thing' };
  }
}

/** A valid message of a type; a response has a result and no error. */
function whole(type: string): Map {
  const message = sample(LIVE_SCHEMAS[type] as JsonSchema) as Map;
  if (type === 'tool_call_response') (message.data as Map).error = null;
  return message;
}

interface Place {
  path: string;
  schema: JsonSchema;
  required: boolean;
  /** The map that holds the field, in a message. */
  holder(message: Map): Map;
  name: string;
}

/** Every named field of a type, at any depth, lists included. */
function* places(schema: JsonSchema, path: string, find: (message: Map) => Map): Generator<Place> {
  const maps = schema.anyOf?.filter(({ type }) => type === 'object') ?? [schema];
  const map = maps[0] as JsonSchema | undefined;
  for (const [name, child] of Object.entries(map?.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`;
    const required = map?.required?.includes(name) ?? false;
    yield { path: at, schema: child, required, holder: find, name };
    const list = [child, ...(child.anyOf ?? [])].find(({ type }) => type === 'array');
    if (list?.items?.properties !== undefined)
      yield* places(list.items, `${at}[0]`, (message) => (find(message)[name] as Map[])[0] as Map);
    yield* places(child, at, (message) => find(message)[name] as Map);
  }
}

const alternatives = (schema: JsonSchema): JsonSchema[] =>
  schema.anyOf?.flatMap(alternatives) ?? [schema];
const WRONG: readonly [string, unknown][] = [
  ['null', null],
  ['string', 'x'],
  ['number', 1.5],
  ['boolean', true],
  ['array', []],
  ['object', {}],
];

/** Values of types that the schema does not allow. */
function wrongValues(schema: JsonSchema): unknown[] {
  const all = alternatives(schema);
  if (all.some((one) => Object.keys(one).length === 0)) return [];
  const kinds = new Set(
    all.map(({ type, enum: words, const: word }) =>
      words !== undefined || word !== undefined ? 'one of some' : type,
    ),
  );
  if (kinds.has('integer')) kinds.delete('number');
  return WRONG.filter(([kind]) => !kinds.has(kind)).map(([, value]) => value);
}

function fault(message: Map) {
  const read = readText(JSON.stringify(message));
  return read.fault;
}

const cases = LIVE_TYPES.flatMap((type) =>
  [...places(LIVE_SCHEMAS[type] as JsonSchema, '', (message) => message)]
    .filter(({ path }) => path !== 'type')
    .map((place) => ({ type, place })),
);

verifies('LP-1', 'a valid message of every type is accepted', () => {
  for (const type of LIVE_TYPES) expect(fault(whole(type)), type).toBe(null);
  expect(cases.length).toBeGreaterThan(150);
});

/** The result and the error of a call are checked as a pair. */
const isAnswer = (type: string, path: string) =>
  type === 'tool_call_response' && /^data\.(result|error)/.test(path);

verifies('LP-1', 'a required field that is missing, empty or null is named, at any depth', () => {
  const required = cases.filter(({ place }) => place.required);
  expect(required.length).toBeGreaterThan(80);
  for (const { type, place } of required) {
    const missing = whole(type);
    delete place.holder(missing)[place.name];
    expect(fault(missing), `${type} ${place.path}`).toMatchObject({
      code: 'MISSING_REQUIRED_FIELD',
      field: place.path,
      details: { missing_field: place.path },
    });
    if (!wrongValues(place.schema).includes(null)) continue;
    const none = whole(type);
    place.holder(none)[place.name] = null;
    expect(fault(none), `${type} ${place.path}`).toMatchObject({
      code: 'INVALID_FIELD_TYPE',
      field: place.path,
    });
  }
});

verifies('LP-1', 'an empty required text counts as missing, and is named', () => {
  const texts = cases.filter(({ place }) => place.schema.minLength !== undefined);
  expect(texts.length).toBeGreaterThan(40);
  for (const { type, place } of texts) {
    const empty = whole(type);
    place.holder(empty)[place.name] = '';
    expect(fault(empty), `${type} ${place.path}`).toMatchObject({ field: place.path });
  }
});

verifies('LP-1', 'a value of another type is named, at any depth, optional fields included', () => {
  let tried = 0;
  for (const { type, place } of cases) {
    if (isAnswer(type, place.path)) continue;
    for (const value of wrongValues(place.schema)) {
      const wrong = whole(type);
      place.holder(wrong)[place.name] = value;
      tried += 1;
      const found = fault(wrong);
      // An empty map lacks its fields: the first of them is named.
      expect(found?.field ?? '', `${type} ${place.path} ${JSON.stringify(value)}`).toSatisfy(
        (field: string) => field === place.path || field.startsWith(`${place.path}.`),
      );
      expect(found?.message).toContain(place.path);
    }
  }
  expect(tried).toBeGreaterThan(500);
});

verifies('LP-1', 'an optional field may be null or absent', () => {
  for (const { type, place } of cases.filter(({ place: { required } }) => !required)) {
    if (isAnswer(type, place.path)) continue;
    const without = whole(type);
    delete place.holder(without)[place.name];
    expect(fault(without), `${type} ${place.path}`).toBe(null);
  }
});

test('numbers and booleans written as text are refused', () => {
  for (const { type, place } of cases) {
    const kinds = alternatives(place.schema).map((one) => one.type);
    const value = kinds.includes('boolean') ? 'true' : '1';
    if (
      kinds.includes('string') ||
      !kinds.some((kind) => /boolean|integer|number/.test(kind ?? ''))
    )
      continue;
    const wrong = whole(type);
    place.holder(wrong)[place.name] = value;
    expect(fault(wrong), `${type} ${place.path}`).toMatchObject({
      code: 'INVALID_FIELD_TYPE',
      field: place.path,
    });
  }
});

test.each([
  '2026-03-03T10:00:00Z',
  '2026-03-03T10:00:00.037+00:00',
  '2026-03-03T10:00:00.037123Z',
  '2026-02-30T25:00:00.000Z',
  '2026-13-01T10:00:00.000Z',
  '1772532000037',
  '2026-03-03T24:00:00.000Z',
])('the time %s is refused, also after a valid one of the same day', (timestamp) => {
  const message = whole('session_start');
  expect(fault({ ...message, timestamp })).toMatchObject({ field: 'timestamp' });
  expect(fault({ ...message, timestamp: '2026-03-03T10:00:00.000Z' })).toBeNull();
  expect(fault({ ...message, timestamp })).toMatchObject({ field: 'timestamp' });
});

verifies('LP-1', 'the answer to an unknown type lists the known types', () => {
  for (const type of ['tool_call_start', 'UNKNOWN', 'toString', '__proto__'])
    expect(fault({ ...whole('heartbeat'), type })).toMatchObject({
      code: 'INVALID_MESSAGE_TYPE',
      field: 'type',
      details: { received_type: type, supported_types: LIVE_TYPES },
    });
  for (const type of [undefined, '', null, 7])
    expect(fault({ ...whole('heartbeat'), type })).toMatchObject({ field: 'type' });
});

test('an error may use the older name of a code, and any other', () => {
  const message = whole('error');
  for (const error_code of ['UNKNOWN_MESSAGE_TYPE', 'SOMETHING_ELSE']) {
    (message.data as Map).error_code = error_code;
    expect(fault(message)).toBe(null);
  }
});

verifies('LP-1', 'a response has a result or an error, and not both', () => {
  const message = whole('tool_call_response');
  const data = message.data as Map;
  expect(fault({ ...message, data: { ...data, result: null } })?.field).toBe('data.result');
  expect(fault({ ...message, data: { ...data, error: {} } })?.field).toBe('data.error');
  for (const result of [false, 0, '', [], {}])
    expect(fault({ ...message, data: { ...data, result } })).toBe(null);
});

test('unknown fields are kept unchanged', () => {
  const message: Map = { ...whole('session_start'), weather: { rain: [1, '2', null] } };
  (message.data as Map).mood = 'good';
  const read = readText(JSON.stringify(message));
  expect(read.fault).toBe(null);
  expect(read.message).toEqual(message);
});

test.each([
  ['{"type":', 'INVALID_JSON_FORMAT'],
  ['nothing', 'INVALID_JSON_FORMAT'],
  ['[]', 'INVALID_NDJSON_FORMAT'],
  ['7', 'INVALID_NDJSON_FORMAT'],
  ['null', 'INVALID_NDJSON_FORMAT'],
  [`${'['.repeat(300)}${']'.repeat(300)}`, 'INVALID_NDJSON_FORMAT'],
  [`{"type":${'['.repeat(300)}${']'.repeat(300)}}`, 'INVALID_NDJSON_FORMAT'],
  [
    `{"type":"${'x'.repeat(70_000)}","data":${'['.repeat(300)}${']'.repeat(300)}}`,
    'INVALID_NDJSON_FORMAT',
  ],
])(
  'a line that is not a message is reported as a fault, without an exception: %.20s',
  (text, code) => {
    expect(readText(text)).toMatchObject({ message: null, fault: { code } });
  },
);

test('a line that is not UTF-8 is refused', () => {
  const bytes = Buffer.concat([Buffer.from('{"type":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(readMessage(bytes)).toMatchObject({
    message: null,
    fault: { code: 'INVALID_NDJSON_FORMAT' },
  });
});

verifies(
  'LP-16',
  'an id that is too long is refused by name, and the answer does not contain it',
  () => {
    const long = 'x'.repeat(1_025);
    const base = whole('tool_call_request');
    const broken: [string, Map][] = [
      ['session_id', { ...base, session_id: long }],
      ['correlation_id', { ...base, correlation_id: long }],
      ['message_id', { ...base, message_id: long }],
      ['data.call_id', { ...base, data: { ...(base.data as Map), call_id: long } }],
      ['trace.traceparent', { ...base, trace: { traceparent: long } }],
      [
        'data.message.id',
        { ...whole('message_start'), data: { message: { id: long, role: 'x' } } },
      ],
      ['data.message_id', { ...whole('message_stop'), data: { message_id: long } }],
      ['session_id', { type: 'unheard_of', session_id: long, message_id: 'm' }],
    ];
    for (const [field, value] of broken) {
      const { fault, message } = readText(JSON.stringify(value));
      expect(fault).toMatchObject({ code: 'INVALID_FIELD_TYPE', field });
      expect(JSON.stringify(message)).not.toContain(long);
      expect(message?.type).toBe(value.type);
    }
    const short = { ...base, session_id: 'x'.repeat(1_024) };
    expect(readText(JSON.stringify(short)).fault).toBe(null);
  },
);

verifies('LP-1', 'the answer names a missing type, and a type that is not text', () => {
  for (const text of ['{}', '{"type":""}', '{"data":{}}'])
    expect(readText(text).fault).toMatchObject({
      code: 'MISSING_REQUIRED_FIELD',
      message: 'the field type is missing',
      details: { missing_field: 'type' },
    });
  for (const [type, received_type] of [
    ['null', 'null'],
    ['5', 'number'],
    ['[]', 'array'],
  ])
    expect(readText(`{"type":${type}}`).fault).toMatchObject({
      code: 'INVALID_FIELD_TYPE',
      field: 'type',
      details: { received_type },
    });
});

verifies('LP-1', 'all of several faults are found, and the answer names the first', () => {
  const message = whole('tool_call_request');
  const wrong = { ...message, timestamp: 'soon', seq: -1, data: { call_id: '', input: null } };
  const schema = LIVE_SCHEMAS.tool_call_request as JsonSchema;
  expect(
    [...schemaFaults(schema, wrong)].map(({ kind, at }) => `${kind} ${fieldName(at)}`),
  ).toEqual([
    'wrong timestamp',
    'missing data.call_id',
    'missing data.name',
    'missing data.args',
    'missing data.is_client_initiated',
    'wrong seq',
  ]);
  expect(fault(wrong)).toEqual({
    code: 'INVALID_FIELD_TYPE',
    field: 'timestamp',
    message: 'the field timestamp must be a time like 2026-03-03T10:00:00.037Z, not "soon"',
    details: {
      field: 'timestamp',
      expected: 'a time like 2026-03-03T10:00:00.037Z',
      received_type: 'string',
    },
  });
});
