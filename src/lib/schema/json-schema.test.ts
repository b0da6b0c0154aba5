import { expect, test } from 'vitest';
import { type JsonSchema, schemaFault, schemaFaults } from './json-schema.ts';
import { fieldName } from './mistakes.ts';

const NAME: JsonSchema = { type: 'string', minLength: 1 };
const SCHEMA: JsonSchema = {
  type: 'object',
  required: ['name', 'kind', 'items'],
  properties: {
    name: NAME,
    kind: { enum: ['a', 'b'] },
    version: { const: 1 },
    count: { type: 'integer', minimum: 0 },
    at: { type: 'string', pattern: '^\\d{4}T$' },
    parent: {
      anyOf: [{ type: 'object', required: ['id'], properties: { id: NAME } }, { type: 'null' }],
    },
    items: { type: 'array', items: { anyOf: [NAME, { type: 'null' }] } },
  },
  additionalProperties: false,
};
const GOOD = { name: 'x', kind: 'a', items: ['y', null], parent: null };

const faultsOf = (value: unknown) =>
  [...schemaFaults(SCHEMA, value)].map((fault) => `${fault.kind} ${fieldName(fault.at)}`);

test('a valid value has no faults', () => {
  expect(faultsOf(GOOD)).toEqual([]);
  expect(schemaFault(SCHEMA, { ...GOOD, parent: { id: 'p' }, at: '2026T', count: 0 })).toBeNull();
});

test('all faults are found, in the order of the schema', () => {
  const value = { kind: 'c', version: 2, count: -1, at: 'x', parent: {}, items: ['', 1], odd: 1 };
  expect(faultsOf(value)).toEqual([
    'missing name',
    'wrong kind',
    'wrong version',
    'wrong count',
    'wrong at',
    'missing parent.id',
    'wrong items[0]',
    'wrong items[1]',
    'unknown odd',
  ]);
});

test.each([
  [{ ...GOOD, name: undefined }, 'name must be a non-empty string'],
  [{ kind: 'a', items: [] }, 'lacks the field name'],
  [{ ...GOOD, name: '' }, 'lacks the field name'],
  [{ ...GOOD, parent: { id: 1 } }, 'parent.id must be a non-empty string'],
  [{ ...GOOD, parent: {} }, 'parent lacks the field id'],
  [{ ...GOOD, parent: 1 }, 'parent must be of type object or null, not number'],
  [{ ...GOOD, kind: 1 }, 'kind must be one of a, b'],
  [{ ...GOOD, version: 2 }, 'version must be 1'],
  [{ ...GOOD, count: 1.5 }, 'count must be a number of at least 0'],
  [{ ...GOOD, at: 'x' }, 'at must be a time like 2026-03-03T10:00:00.037Z'],
  [{ ...GOOD, items: {} }, 'items must be of type array, not object'],
  [{ ...GOOD, constructor: 1 }, 'constructor: unknown field'],
  [[], 'must be of type object, not array'],
])('the first fault in words: %j', (value, text) => {
  expect(schemaFault(SCHEMA, value)).toBe(text);
});
