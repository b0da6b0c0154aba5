/**
 * Redacts drafts with texts in pieces or lines as whole texts, so that secrets split over several pieces are found. A
 * possible beginning of a secret is held back until a later piece, the end of its text, or the end of input. Ids are not
 * changed: calls are paired by them.
 */
import { LIMITS } from '../lib/limits.ts';
import type { DataOf } from '../model/event.ts';
import { type Entry, PIECES, redactEvent } from './records.ts';
import type { Redactor } from './redact.ts';

/** Named streams of a call. Text that is held back at the end of the call is also in its output. */
const CALL_STREAMS = ['stdout', 'stderr'];
/** Kinds that end a text, and the kind of its pieces. */
const ENDS = new Map([
  ['message_finished', 'message_delta'],
  ['thinking_finished', 'thinking_delta'],
]);

/** Lines that are kept as text. */
const isLine = ({ kind }: Entry): boolean => kind === 'problem' || kind === 'notice';
const isChanged = (draft: Entry): boolean => isLine(draft) || PIECES.includes(draft.kind);

export class PieceRedaction {
  readonly #redactor: Redactor;
  /** The first piece of each unfinished text. */
  readonly #open = new Map<string, Entry>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  drafts<D extends Entry>(drafts: readonly D[], channel: string): D[] {
    // Most texts arrive complete: if no text is open, nothing is held back.
    if (this.#open.size === 0 && !drafts.some(isChanged)) return drafts as D[];
    return drafts.flatMap((draft) => {
      const stream = streamOf(draft);
      if (stream === null) return redactLine(draft, channel, this.#redactor);
      return stream.ends ? this.#last(draft, stream.key) : this.#piece(draft, stream.key);
    });
  }

  /** Nothing if the complete text is held back. */
  #piece<D extends Entry>(draft: D, key: string): D[] {
    if (!this.#open.has(key) && this.#open.size < LIMITS.open_calls_max)
      this.#open.set(key, withText(draft, ''));
    const { text } = draft.data as { text: string | null };
    if (text === null) return [draft];
    const safe = this.#redactor.delta(key, text);
    return safe === '' && text !== '' ? [] : [withText(draft, safe)];
  }

  /** The draft that ends a text, after its held-back part. */
  #last<D extends Entry>(draft: D, key: string): D[] {
    const text = this.#flush(key);
    if (draft.kind === 'call_finished') for (const end of CALL_STREAMS) this.#flush(key + end);
    const kind = ENDS.get(draft.kind);
    if (text === '' || kind === undefined) return [draft];
    const { message_id = null, parent_call_id = null } = draft.data as Partial<
      DataOf<'message_delta'>
    >;
    return [{ ...draft, kind, data: { message_id, parent_call_id, text } }, draft];
  }

  #flush(key: string): string {
    this.#open.delete(key);
    return this.#redactor.flush(key);
  }

  /** Whether a text is unfinished. */
  get holds(): boolean {
    return this.#open.size > 0;
  }

  /** The held-back parts of unfinished texts, as their last pieces, at the end of input. */
  held(): Entry[] {
    return [...this.#open].flatMap(([key, draft]) => {
      const text = this.#redactor.flush(key);
      // In the same form as in the journal, so that recovery recognises it.
      return text === '' ? [] : [redactEvent(withText(draft, text), this.#redactor)];
    });
  }
}

/** Redacts only lines among the drafts: pieces of texts are unused, or are redacted when their text is complete. */
export function redactLines<D extends Entry>(
  drafts: readonly D[],
  channel: string,
  redactor: Redactor,
): D[] {
  if (!drafts.some(isLine)) return drafts as D[];
  return drafts.map((draft) => redactLine(draft, channel, redactor));
}

/** Lines are redacted separately, before any other code reads, joins or truncates them. */
function redactLine<D extends Entry>(draft: D, channel: string, redactor: Redactor): D {
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

const withText = <D extends Entry>(draft: D, text: string): D => ({
  ...draft,
  data: { ...draft.data, text },
});

/** Identifies the text that an event is a piece or the end of. */
function streamOf(event: Entry): { key: string; ends: boolean } | null {
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
