/** What is wrong with a message, field by field (LP-1). The generated checks say only whether; this says where. */
import { own } from '../../lib/own.ts';
import type { JsonSchema } from '../../lib/schema-fault.ts';
import { LIVE_SCHEMAS } from '../../model/generated/live.ts';

/** Error codes of a message that cannot be taken. */
export type FaultCode =
  | 'INVALID_JSON_FORMAT'
  | 'INVALID_NDJSON_FORMAT'
  | 'INVALID_MESSAGE_FORMAT'
  | 'MISSING_REQUIRED_FIELD'
  | 'INVALID_FIELD_TYPE'
  | 'INVALID_MESSAGE_TYPE'
  | 'MESSAGE_TOO_LARGE';

export interface Fault {
  code: FaultCode;
  /** `data.call_id`; null where no one field is to blame. */
  field: string | null;
  message: string;
  details: Record<string, unknown>;
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

const isType = (value: unknown, type: string) =>
  type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;

function missing(field: string, holder: Record<string, unknown>, schema: JsonSchema): Fault {
  return {
    code: 'MISSING_REQUIRED_FIELD',
    field,
    message: `the field ${field} is missing`,
    details: {
      missing_field: field,
      received_fields: Object.keys(holder).slice(0, 50),
      expected_fields: Object.keys(schema.properties ?? {}),
    },
  };
}

function wrong(field: string, expected: string, value: unknown): Fault {
  const received = typeOf(value);
  return {
    code: 'INVALID_FIELD_TYPE',
    field,
    message: `the field ${field} must be ${expected}, not ${shown(value)}`,
    details: { field, expected, received_type: received },
  };
}

/** A long text is not quoted: a part of it could be the beginning of a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'this text' : JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a map';
  return String(value);
}

/** How a schema is said in words. */
function wording(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.anyOf !== undefined) {
    const words = schema.anyOf.filter(({ type }) => type !== 'null').map(wording);
    const more = schema.anyOf.some(({ type }) => type === 'null') ? ['null'] : [];
    return [...words, ...more].join(' or ');
  }
  if (schema.pattern !== undefined) return 'a time like 2026-03-03T10:00:00.037Z';
  if (schema.minLength !== undefined) return 'a non-empty string';
  if (schema.minimum !== undefined) return `a number from ${schema.minimum} on`;
  return `of type ${schema.type ?? 'any'}`;
}

function faultIn(schema: JsonSchema, value: unknown, at: string): Fault | null {
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((one) => faultIn(one, value, at));
    if (faults.includes(null)) return null;
    // The fault deepest inside the alternative that the value was meant to be.
    const inside = faults.find((fault) => fault?.field !== at);
    return inside ?? wrong(at, wording(schema), value);
  }
  const wrongHere = () => wrong(at, wording(schema), value);
  if (schema.const !== undefined) return value === schema.const ? null : wrongHere();
  if (schema.enum !== undefined) return schema.enum.includes(value) ? null : wrongHere();
  if (schema.type !== undefined && !isType(value, schema.type)) return wrongHere();
  if (schema.minimum !== undefined && (value as number) < schema.minimum) return wrongHere();
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value as string))
    return wrongHere();
  if (schema.type === 'object') return faultInMap(schema, value as Record<string, unknown>, at);
  if (schema.items === undefined || !Array.isArray(value)) return null;
  for (const [i, item] of value.entries()) {
    const fault = faultIn(schema.items, item, `${at}[${i}]`);
    if (fault !== null) return fault;
  }
  return null;
}

function faultInMap(schema: JsonSchema, value: Record<string, unknown>, at: string): Fault | null {
  const inner = (name: string) => (at === '' ? name : `${at}.${name}`);
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const required = schema.required?.includes(name) ?? false;
    // An empty text counts as missing.
    const empty = value[name] === '' && child.minLength !== undefined;
    if (!Object.hasOwn(value, name) || (required && empty)) {
      if (required) return missing(inner(name), value, schema);
      continue;
    }
    const fault = empty
      ? wrong(inner(name), wording(child), '')
      : faultIn(child, value[name], inner(name));
    if (fault !== null) return fault;
  }
  return null;
}

/** The first fault of a message of a known type that its check refused. */
export function faultOf(type: string, message: Record<string, unknown>): Fault {
  const schema = own(LIVE_SCHEMAS, type) as JsonSchema;
  return (
    faultInMap(schema, message, '') ?? {
      code: 'INVALID_MESSAGE_FORMAT',
      field: null,
      message: `this is no ${type}`,
      details: {},
    }
  );
}

/** A response has a result or an error, and not both. */
export function responseFault(data: Record<string, unknown>): Fault | null {
  const { result = null, error = null } = data;
  if (result === null && error === null)
    return {
      code: 'MISSING_REQUIRED_FIELD',
      field: 'data.result',
      message: 'one of the fields data.result and data.error is missing: exactly one is not null',
      details: {
        missing_field: 'data.result',
        received_fields: Object.keys(data).slice(0, 50),
        expected_fields: ['result', 'error'],
      },
    };
  if (result !== null && error !== null)
    return {
      code: 'INVALID_FIELD_TYPE',
      field: 'data.error',
      message:
        'the field data.error must be null where data.result is not: exactly one is not null',
      details: { field: 'data.error', expected: 'null', received_type: 'object' },
    };
  return null;
}
