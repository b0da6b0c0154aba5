/** Redacting whole records: events, outcomes, transcripts, reports. Names of fields and tacho's own words stay. */
import type { OutcomeCall } from '../model/outcome.ts';
import type { Redactor } from './redact.ts';

/** An event or a draft of one. */
export interface Entry {
  kind: string;
  data: object;
}

/** Kinds with a piece of a text: as drafts they are redacted as the texts they are pieces of. */
export const PIECES = ['message_delta', 'thinking_delta', 'call_progress'];

/**
 * Fields that hold words and figures of tacho's own. They and all field names stay as they are: a secret that happens to be
 * such a word, or a pattern that matches one, must not break the record.
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
/** Fields that stay as they are in some kinds of events only. */
const OWN_FIELDS_OF = new Map([
  ['problem', new Set([...OWN_FIELDS, 'code', 'sha256'])],
  ['file_changed', new Set([...OWN_FIELDS, 'source'])],
  ...PIECES.map((kind) => [kind, new Set([...OWN_FIELDS, 'text'])] as const),
]);

/** The event with every secret in its data replaced; the same object when there is none. Texts of pieces stay. */
export function redactEvent<E extends Entry>(event: E, redactor: Redactor): E {
  const own = OWN_FIELDS_OF.get(event.kind) ?? OWN_FIELDS;
  const data = redactFields(event.data, redactor, own);
  return data === event.data ? event : { ...event, data };
}

/** The object with every secret in its fields replaced, but for those in `own`; names of fields stay. */
export function redactFields<T extends object>(
  data: T,
  redactor: Redactor,
  own: ReadonlySet<string>,
): T {
  let changed: T | null = null;
  for (const name in data) {
    if (own.has(name)) continue;
    const value = data[name];
    const ours = name === 'config' && typeof value === 'object' && value !== null;
    let safe: unknown = value;
    if (ours) safe = redactFields(value, redactor, own);
    else safe = name === 'input' ? redactor.foreign(value) : redactor.value(value);
    if (safe === value) continue;
    changed ??= { ...data };
    changed[name] = safe as typeof value;
  }
  return changed ?? data;
}

/** Words of tacho's own in outcomes, transcripts and reports. */
const OWN_WORDS = new Set([
  ...OWN_FIELDS,
  ...['schema_version', 'kind', 'source', 'grade', 'gaps', 'filled'],
  ...['format', 'verdict', 'section', 'title', 'started_at', 'updated_at'],
]);

/** An outcome, a transcript or a report with every secret in its texts replaced; names of fields and own words stay. */
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

/** A call of an outcome; its status and figures are tacho's own. Contract: changes the call, which nobody else holds. */
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
