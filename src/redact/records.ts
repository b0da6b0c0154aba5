/** Redacts complete records: events, outcomes, transcripts, reports. Field names and tacho's own words are kept. */
import type { OutcomeCall } from '../model/outcome.ts';
import type { Redactor } from './redact.ts';

/** An event or a draft. */
export interface Entry {
  kind: string;
  data: object;
}

/** Kinds with a piece of a text. As drafts they are redacted as parts of their whole text. */
export const PIECES = ['message_delta', 'thinking_delta', 'call_progress'];

/**
 * Fields with tacho's own words and figures. These and all field names are never changed: a secret that equals such a word,
 * or a pattern that matches one, must not break the record.
 */
const OWN_FIELDS = new Set([
  'agent',
  'approve',
  'attempt',
  'completeness',
  'cost_source',
  'decision',
  'digest',
  'evidence',
  'exit_reason',
  'fingerprint',
  'limits',
  'mode',
  'operation',
  'output_mode',
  'redactions',
  'role',
  'stage',
  'status',
  'terminal_evidence',
  'usage',
]);
/** Fields with one of tacho's own objects: its field names are kept. */
const OWN_OBJECTS = new Set(['config', 'project']);
/** Fields that are never changed in some kinds of events. */
const OWN_FIELDS_OF = new Map([
  ['problem', new Set([...OWN_FIELDS, 'code', 'sha256'])],
  ['file_changed', new Set([...OWN_FIELDS, 'source'])],
  ...PIECES.map((kind) => [kind, new Set([...OWN_FIELDS, 'text'])] as const),
]);

/** Replaces every secret in an event's data. Returns the same object if there is none. Pieces of texts are not changed. */
export function redactEvent<E extends Entry>(event: E, redactor: Redactor): E {
  const own = OWN_FIELDS_OF.get(event.kind) ?? OWN_FIELDS;
  const data = redactFields(event.data, redactor, own);
  return data === event.data ? event : { ...event, data };
}

/** Replaces every secret in an object's fields, except those in `own`. Field names are kept. */
export function redactFields<T extends object>(
  data: T,
  redactor: Redactor,
  own: ReadonlySet<string>,
): T {
  let changed: T | null = null;
  for (const name in data) {
    if (own.has(name)) continue;
    const value = data[name];
    const ours = OWN_OBJECTS.has(name) && typeof value === 'object' && value !== null;
    let safe: unknown = value;
    if (ours) safe = redactFields(value, redactor, own);
    else safe = name === 'input' ? redactor.foreign(value) : redactor.value(value);
    if (safe === value) continue;
    changed ??= { ...data };
    changed[name] = safe as typeof value;
  }
  return changed ?? data;
}

/** tacho's own words in outcomes, transcripts and reports. */
const OWN_WORDS = new Set([
  ...OWN_FIELDS,
  ...['schema_version', 'kind', 'source', 'grade', 'gaps', 'filled'],
  ...['format', 'verdict', 'section', 'title', 'started_at', 'updated_at'],
]);

/** Replaces every secret in the texts of an outcome, a transcript or a report. Field names and own words are kept. */
export function redactRecord<T>(record: T, redactor: Redactor, name = ''): T {
  if (typeof record === 'string')
    return OWN_WORDS.has(name) ? record : (redactor.text(record) as T);
  if (typeof record !== 'object' || record === null) return record;
  if (name === 'input') return redactor.foreign(record);
  if (name === 'labels') return redactor.value(record);
  if (Array.isArray(record)) return record.map((item) => redactRecord(item, redactor, name)) as T;
  const fields = Object.entries(record);
  return Object.fromEntries(
    fields.map(([key, item]) => [key, redactRecord(item, redactor, key)]),
  ) as T;
}

/** Redacts a call of an outcome; its status and figures are tacho's own. Contract: changes the call in place. */
export function redactCall(call: OutcomeCall, redactor: Redactor): OutcomeCall {
  const { id, name, native_name, parent_id, inputs, outputs } = call;
  call.id = redactor.text(id);
  call.name = redactor.name(name);
  call.native_name = redactor.name(native_name);
  if (parent_id !== null) call.parent_id = redactor.text(parent_id);
  call.inputs = redactor.foreign(inputs);
  if (outputs != null) call.outputs = redactor.text(outputs);
  return call;
}
