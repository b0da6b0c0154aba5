/** What is wrong with a message, field by field (LP-1). The generated checks find out only whether it is. */
import { own } from '../../lib/own.ts';
import { type JsonSchema, schemaFaults, typeOf } from '../../lib/schema/json-schema.ts';
import { fieldName } from '../../lib/schema/mistakes.ts';
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

/** A long text is not quoted: a part of it could be the beginning of a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'this text' : JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a map';
  return String(value);
}

export const missing = (field: string, holder: object, expected_fields: string[]): Fault => ({
  code: 'MISSING_REQUIRED_FIELD',
  field,
  message: `the field ${field} is missing`,
  details: {
    missing_field: field,
    received_fields: Object.keys(holder).slice(0, 50),
    expected_fields,
  },
});

export const wrong = (field: string, expected: string, value: unknown): Fault => ({
  code: 'INVALID_FIELD_TYPE',
  field,
  message: `the field ${field} must be ${expected}, not ${shown(value)}`,
  details: { field, expected, received_type: typeOf(value) },
});

/** The first fault of a message of a known type that its check refused. */
export function faultOf(type: string, message: Record<string, unknown>): Fault {
  const fault = schemaFaults(own(LIVE_SCHEMAS, type) as JsonSchema, message).next().value;
  if (fault?.kind === 'missing')
    return missing(fieldName(fault.at), fault.holder, Object.keys(fault.schema.properties ?? {}));
  if (fault?.kind === 'wrong') return wrong(fieldName(fault.at), fault.expected, fault.value);
  return {
    code: 'INVALID_MESSAGE_FORMAT',
    field: null,
    message: `this is no ${type}`,
    details: {},
  };
}

/** A response has a result or an error, and not both. */
export function responseFault(data: Record<string, unknown>): Fault | null {
  const { result = null, error = null } = data;
  if (result === null && error === null)
    return {
      ...missing('data.result', data, ['result', 'error']),
      message: 'one of the fields data.result and data.error is missing: exactly one is not null',
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
