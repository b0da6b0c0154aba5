/** Finds where a value violates one of tacho's JSON Schemas. The generated checks decide whether it does. */
import { fieldName, type Path } from './mistakes.ts';

/** The subset of JSON Schema that tacho's schemas use. */
export interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  /** False: only the fields in `properties` are allowed. */
  additionalProperties?: boolean;
  minimum?: number;
  minLength?: number;
  pattern?: string;
}

type SchemaFault = { at: Path } & (
  | { kind: 'wrong'; expected: string; value: unknown }
  /** `at` is the path of the missing field, `holder` the map that lacks it. */
  | { kind: 'missing'; holder: Record<string, unknown>; schema: JsonSchema }
  | { kind: 'unknown' }
);

export const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

/** The only pattern in tacho's schemas is the one for times. */
export const TIME_LIKE = 'a time like 2026-03-03T10:00:00.037Z';

/** A readable description of a schema. */
function wording(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.anyOf !== undefined) {
    const words = schema.anyOf.filter(({ type }) => type !== 'null').map(wording);
    const more = schema.anyOf.some(({ type }) => type === 'null') ? ['null'] : [];
    return [...words, ...more].join(' or ');
  }
  if (schema.pattern !== undefined) return TIME_LIKE;
  if (schema.minLength !== undefined) return 'a non-empty string';
  if (schema.minimum !== undefined) return `a number of at least ${schema.minimum}`;
  return `of type ${schema.type ?? 'any'}`;
}

/** Whether the value is valid, apart from its contents. */
function holds(schema: JsonSchema, value: unknown): boolean {
  const { type, minimum, minLength, pattern } = schema;
  if (schema.const !== undefined) return value === schema.const;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (type === 'integer' ? !Number.isInteger(value) : type !== undefined && typeOf(value) !== type)
    return false;
  if (minimum !== undefined && (value as number) < minimum) return false;
  if (minLength !== undefined && (value as string).length < minLength) return false;
  return pattern === undefined || new RegExp(pattern, 'u').test(value as string);
}

/** All violations, in the order of the schema. */
export function* schemaFaults(
  schema: JsonSchema,
  value: unknown,
  at: Path = [],
): Generator<SchemaFault, undefined> {
  const wrong = (): SchemaFault => ({ kind: 'wrong', at, expected: wording(schema), value });
  if (schema.anyOf !== undefined) {
    const all = schema.anyOf.map((one) => schemaFaults(one, value, at));
    const firsts = all.map((faults) => faults.next().value);
    if (firsts.includes(undefined)) return;
    // Report violations against the alternative that the value was meant to be.
    const meant = firsts.findIndex((fault) => fault !== undefined && fault.at.length > at.length);
    yield firsts[meant] ?? wrong();
    if (meant >= 0) yield* all[meant] ?? [];
  } else if (!holds(schema, value)) yield wrong();
  else if (schema.type === 'object')
    yield* faultsInMap(schema, value as Record<string, unknown>, at);
  else if (schema.items !== undefined && Array.isArray(value))
    for (const [i, item] of value.entries()) yield* schemaFaults(schema.items, item, [...at, i]);
}

function* faultsInMap(
  schema: JsonSchema,
  holder: Record<string, unknown>,
  at: Path,
): Generator<SchemaFault, undefined> {
  const { properties = {}, required = [], additionalProperties } = schema;
  for (const [name, child] of Object.entries(properties)) {
    const here = [...at, name];
    // An empty required text counts as missing.
    const empty = holder[name] === '' && child.minLength !== undefined;
    if (Object.hasOwn(holder, name) && !(empty && required.includes(name)))
      yield* schemaFaults(child, holder[name], here);
    else if (required.includes(name)) yield { kind: 'missing', at: here, holder, schema };
  }
  if (additionalProperties !== false) return;
  for (const name of Object.keys(holder))
    if (!Object.hasOwn(properties, name)) yield { kind: 'unknown', at: [...at, name] };
}

function textOf(fault: SchemaFault): string {
  const { at } = fault;
  if (fault.kind === 'missing')
    return `${fieldName(at.slice(0, -1))} lacks the field ${at.at(-1)}`.trimStart();
  if (fault.kind === 'unknown') return `${fieldName(at)}: unknown field`;
  const { expected, value } = fault;
  const received = expected.startsWith('of type') ? `, not ${typeOf(value)}` : '';
  return `${fieldName(at)} must be ${expected}${received}`.trimStart();
}

/** The first violation as `field why`; null if there is none. */
export function schemaFault(schema: JsonSchema, value: unknown): string | null {
  const fault = schemaFaults(schema, value).next().value;
  return fault === undefined ? null : textOf(fault);
}
