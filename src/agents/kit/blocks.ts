/** Message blocks and deltas in the format of a model API that several CLIs pass through (`stream-json`). */
import { kindOf } from './decoder.ts';
import type { Drafts, Said } from './drafts.ts';
import { nativeOf, type Open, textOf } from './native.ts';

interface Piece {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly thinking?: unknown;
}

/** Stream events by their inner type, as in `stream_event/message_start`; other records by type and subtype. */
export function kindOfEvent(record: Open): string | null {
  if (record.type !== 'stream_event') return kindOf(record);
  return `stream_event/${textOf(nativeOf(record.event)?.type) ?? 'no type'}`;
}

type Words = ReadonlySet<unknown>;

/** A block of the model's message, except calls. */
export function putBlock(to: Drafts, block: Piece, said: Said, ignored: Words = new Set()): void {
  if (block.type === 'text' && typeof block.text === 'string') {
    to.message('assistant', block.text, said);
  } else if (block.type === 'thinking' && typeof block.thinking === 'string') {
    to.thinking(block.thinking, said.message_id ?? null);
  } else if (!ignored.has(block.type)) putUnknown(to, 'assistant', block.type);
}

/** A piece of a message (`content_block_delta`). */
export function putDelta(to: Drafts, piece: Piece | null, said: Said, ignored: Words): void {
  const { message_id = null } = said;
  if (piece?.type === 'text_delta' && typeof piece.text === 'string') {
    to.delta('message_delta', piece.text, message_id);
  } else if (piece?.type === 'thinking_delta' && typeof piece.thinking === 'string') {
    to.delta('thinking_delta', piece.thinking, message_id);
  } else if (!ignored.has(piece?.type)) {
    putUnknown(to, 'stream_event/content_block_delta', piece?.type, DELTAS.has(piece?.type));
  }
}

const KNOWN: Words = new Set(['text', 'thinking']);
const DELTAS: Words = new Set(['text_delta', 'thinking_delta']);

/** A block that cannot be decoded: of an unknown type, or of a known type without its text. */
export function putUnknown(to: Drafts, place: string, type: unknown, known = KNOWN.has(type)) {
  const bad = known || typeof type !== 'string';
  to.problem(bad ? 'bad_record' : 'unknown_record', `${place}/${textOf(type) ?? 'no type'}`);
}
