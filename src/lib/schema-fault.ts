/** Where a value departs from a JSON Schema of ours, in words. The generated checks say only whether; this says where. */

/** What our schemas use of JSON Schema. */
export interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  /** Of fields that `properties` does not name. */
  additionalProperties?: JsonSchema | boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  pattern?: string;
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

function isType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return typeOf(value) === type;
}

/** The first fault as `field: why`; null: none that this knows of. */
export function schemaFault(schema: JsonSchema, value: unknown, at = ''): string | null {
  const here = at === '' ? 'the record' : at;
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((one) => schemaFault(one, value, at));
    return faults.includes(null) ? null : (faults[0] ?? null);
  }
  if (schema.const !== undefined && value !== schema.const)
    return `${here} must be ${JSON.stringify(schema.const)}`;
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return `${here} must be one of ${schema.enum.join(', ')}`;
  if (schema.type !== undefined && !isType(value, schema.type))
    return `${here} must be of type ${schema.type}, not ${typeOf(value)}`;
  if (schema.minimum !== undefined && (value as number) < schema.minimum)
    return `${here} must be at least ${schema.minimum}`;
  if (schema.maximum !== undefined && (value as number) > schema.maximum)
    return `${here} must be at most ${schema.maximum}`;
  if (schema.type === 'object') return mapFault(schema, value as Record<string, unknown>, at);
  if (schema.items !== undefined && Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      const fault = schemaFault(schema.items, item, `${at}[${i}]`);
      if (fault !== null) return fault;
    }
  }
  return null;
}

function mapFault(schema: JsonSchema, value: Record<string, unknown>, at: string): string | null {
  const known = schema.properties ?? {};
  const others = schema.additionalProperties;
  const rest = typeof others === 'object' ? others : undefined;
  for (const name of Object.keys(rest === undefined ? known : value)) {
    if (!Object.hasOwn(value, name)) continue;
    const child = Object.hasOwn(known, name) ? known[name] : rest;
    const fault = child && schemaFault(child, value[name], at === '' ? name : `${at}.${name}`);
    if (fault) return fault;
  }
  const missing = schema.required?.find((name) => !Object.hasOwn(value, name));
  return missing === undefined
    ? null
    : `${at === '' ? 'the record' : at} lacks the field ${missing}`;
}
