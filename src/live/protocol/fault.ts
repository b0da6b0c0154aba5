/** Names the fault of a message, field by field (LP-1). The generated checks only decide whether it is valid. */
import { own } from '../../lib/own.ts';
import { type JsonSchema, schemaFaults, typeOf } from '../../lib/schema/json-schema.ts';
import { fieldName } from '../../lib/schema/mistakes.ts';
import { LIVE_SCHEMAS } from '../../model/generated/live.ts';

/** Error codes of an invalid message. */
type FaultCode =
  | 'INVALID_JSON_FORMAT'
  | 'INVALID_NDJSON_FORMAT'
  | 'INVALID_MESSAGE_FORMAT'
  | 'MISSING_REQUIRED_FIELD'
  | 'INVALID_FIELD_TYPE'
  | 'INVALID_MESSAGE_TYPE'
  | 'MESSAGE_TOO_LARGE';

export interface Fault {
  code: FaultCode;
  /** Path of the field, such as `data.call_id`; null when no single field is at fault. */
  field: string | null;
  message: string;
  details: Record<string, unknown>;
}

export const fault = (
  code: FaultCode,
  field: string | null,
  message: string,
  details: Fault['details'],
): Fault => ({ code, field, message, details });

/** A long text is not quoted: it could contain the beginning of a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'this text' : JSON.stringify(value);
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'a map';
  return String(value);
}

export function missing(field: string, holder: object, expected_fields: string[]): Fault {
  const received_fields = Object.keys(holder).slice(0, 50);
  const details = { missing_field: field, received_fields, expected_fields };
  return fault('MISSING_REQUIRED_FIELD', field, `the field ${field} is missing`, details);
}

/** `not`: the end of the message, which shows the value; may be empty. */
export function wrong(
  field: string,
  expected: string,
  value: unknown,
  not = `, not ${shown(value)}`,
): Fault {
  const details = { field, expected, received_type: typeOf(value) };
  return fault(
    'INVALID_FIELD_TYPE',
    field,
    `the field ${field} must be ${expected}${not}`,
    details,
  );
}

/** The first fault of a message of a known type that failed its check. */
export function faultOf(type: string, message: Record<string, unknown>): Fault {
  const found = schemaFaults(own(LIVE_SCHEMAS, type) as JsonSchema, message).next().value;
  if (found?.kind === 'missing')
    return missing(fieldName(found.at), found.holder, Object.keys(found.schema.properties ?? {}));
  if (found?.kind === 'wrong') return wrong(fieldName(found.at), found.expected, found.value);
  return fault('INVALID_MESSAGE_FORMAT', null, `not a valid ${type}`, {});
}

/** A response has a result or an error, and not both. */
export function responseFault(data: Record<string, unknown>): Fault | null {
  const { result = null, error = null } = data;
  if (result === null && error === null)
    return {
      ...missing('data.result', data, ['result', 'error']),
      message: 'data.result and data.error are both missing: exactly one must not be null',
    };
  if (result !== null && error !== null)
    return wrong(
      'data.error',
      'null',
      error,
      ' when data.result is set: exactly one must not be null',
    );
  return null;
}
