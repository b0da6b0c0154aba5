/** Redacting events: every string of their data, and texts that come in pieces as the texts they are. */
import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { Redactor } from './redact.ts';

/** An event or a draft of one. */
interface Told {
  kind: string;
  data: object;
}

type Delta =
  | { kind: 'message_delta'; data: DataOf<'message_delta'> }
  | { kind: 'thinking_delta'; data: DataOf<'thinking_delta'> };

/** Streams of a call beside the unnamed one. What is held of them at its end stands in its output too. */
const CALL_STREAMS = ['stdout', 'stderr'];

/** Texts in pieces: their drafts are redacted as the texts they are, before they are numbered. */
const PIECES = ['message_delta', 'thinking_delta', 'call_progress'];

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

/** The event with every secret in its data replaced; the same object when there is none. Texts of pieces are left to `draftRedaction`. */
export function redactEvent<E extends Told = Event>(event: E, redactor: Redactor): E {
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

/** Lines that are kept as text. */
const isLine = ({ kind }: Told): boolean => kind === 'problem' || kind === 'notice';
const isChanged = (draft: Told): boolean => isLine(draft) || PIECES.includes(draft.kind);

export interface DraftRedaction<D> {
  transform(drafts: readonly D[], channel?: string): D[];
  /** What is still held back of texts that have not ended, as their last pieces: nothing more comes. */
  held(): D[];
}

/**
 * Drafts with the pieces of texts redacted, also where a secret is split over several: what may be the beginning of one
 * is held back and comes with a later piece, before the end of its text, or at the end of all. Ids stay as they are until
 * `redactEvent`: calls are paired by them.
 */
export function draftRedaction<D extends Told>(redactor: Redactor): DraftRedaction<D> {
  /** The first piece of each text that has not ended. */
  const open = new Map<string, D>();
  return {
    transform(drafts, channel = '') {
      // Most texts come whole: where none is open, nothing is held back.
      if (open.size === 0 && !drafts.some(isChanged)) return drafts as D[];
      const kept: D[] = [];
      for (const draft of drafts) {
        const stream = streamOf(draft);
        if (stream === null) kept.push(redactLine(draft, channel, redactor));
        else kept.push(...redactStreamed(draft, stream, redactor, open));
      }
      return kept;
    },
    held: () =>
      [...open].flatMap(([key, draft]) => {
        const text = redactor.flush(key);
        // As the journal has it: a recovery must know it again.
        return text === '' ? [] : [redactEvent(withText(draft, text), redactor)];
      }),
  };
}

/** `draftRedaction` where pieces of texts are not used, or are redacted when their text is whole. */
export function lineRedaction<D extends Told>(
  redactor: Redactor,
): Pick<DraftRedaction<D>, 'transform'> {
  return {
    transform: (drafts, channel = '') =>
      drafts.some(isLine)
        ? drafts.map((draft) => redactLine(draft, channel, redactor))
        : (drafts as D[]),
  };
}

/** Lines are redacted by themselves, before anything else sees, joins or cuts them. */
function redactLine<D extends Told>(draft: D, channel: string, redactor: Redactor): D {
  const data = draft.data as Record<string, unknown>;
  if (draft.kind === 'notice' && typeof data.text === 'string') {
    return { ...draft, data: { ...data, text: redactor.line(channel, data.text) } };
  }
  if (draft.kind !== 'problem') return draft;
  const { detail, excerpt } = data as { detail: string; excerpt: string | null };
  const safe = {
    detail: redactor.head(detail, LIMITS.problem_detail_bytes_max),
    excerpt: excerpt === null ? null : redactor.line(channel, excerpt, LIMITS.excerpt_bytes_max),
  };
  return { ...draft, data: { ...data, ...safe } };
}

function redactStreamed<D extends Told>(
  draft: D,
  stream: { key: string; ends: boolean },
  redactor: Redactor,
  open: Map<string, D>,
): D[] {
  if (stream.ends) {
    open.delete(stream.key);
    if (draft.kind === 'call_finished')
      for (const end of CALL_STREAMS) open.delete(stream.key + end);
    const held = heldDelta(draft, redactor);
    return held === null ? [draft] : [{ ...draft, ...held }, draft];
  }
  const piece = redactPiece(draft, stream.key, redactor);
  if (!open.has(stream.key) && open.size < LIMITS.open_calls_max)
    open.set(stream.key, withText(draft, ''));
  return piece === null ? [] : [piece];
}

const withText = <D extends Told>(draft: D, text: string): D => ({
  ...draft,
  data: { ...draft.data, text },
});

/** Null when all of the text is held back. */
function redactPiece<D extends Told>(draft: D, key: string, redactor: Redactor): D | null {
  const { text } = draft.data as { text: string | null };
  if (text === null) return draft;
  const safe = redactor.delta(key, text);
  return safe === '' && text !== '' ? null : withText(draft, safe);
}

/**
 * What was held back of a text that this draft ends, as the delta that has to go before it; null when there is nothing.
 */
function heldDelta(event: Told, redactor: Redactor): Delta | null {
  const stream = streamOf(event);
  if (stream === null || !stream.ends) return null;
  const text = redactor.flush(stream.key);
  if (event.kind === 'call_finished')
    for (const end of CALL_STREAMS) redactor.flush(stream.key + end);
  if (text === '') return null;
  const { message_id = null, parent_call_id = null } = event.data as Partial<
    DataOf<'message_delta'>
  >;
  const data = { message_id, parent_call_id, text };
  if (event.kind === 'message_finished') return { kind: 'message_delta', data };
  return event.kind === 'thinking_finished' ? { kind: 'thinking_delta', data } : null;
}

/** Which text an event is a piece or the end of. */
function streamOf(event: Told): { key: string; ends: boolean } | null {
  const data = event.data as Record<string, unknown>;
  const message = () => `${data.message_id ?? ''}\n${data.parent_call_id ?? ''}`;
  switch (event.kind) {
    case 'message_delta':
    case 'message_finished':
      return { key: `message\n${message()}`, ends: event.kind === 'message_finished' };
    case 'thinking_delta':
    case 'thinking_finished':
      return { key: `thinking\n${message()}`, ends: event.kind === 'thinking_finished' };
    case 'call_progress':
      return { key: `call\n${data.call_id}\n${data.stream ?? ''}`, ends: false };
    case 'call_finished':
      return { key: `call\n${data.call_id}\n`, ends: true };
    default:
      return null;
  }
}
