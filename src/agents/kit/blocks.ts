/** Blocks and pieces of messages in the form of a model API that several CLIs pass on (`stream-json`). */
import type { Drafts } from './drafts.ts';
import { textOf } from './native.ts';

interface Piece {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly thinking?: unknown;
}

/** A piece of a message (`content_block_delta`). */
export function putDelta(
  to: Drafts,
  piece: Piece | null,
  message_id: string | null,
  ignored: ReadonlySet<unknown>,
): void {
  if (piece?.type === 'text_delta' && typeof piece.text === 'string') {
    to.delta('message_delta', piece.text, message_id);
  } else if (piece?.type === 'thinking_delta' && typeof piece.thinking === 'string') {
    to.delta('thinking_delta', piece.thinking, message_id);
  } else if (!ignored.has(piece?.type)) {
    const known = piece?.type === 'text_delta' || piece?.type === 'thinking_delta';
    putUnknown(to, 'stream_event/content_block_delta', piece?.type, known);
  }
}

/** A block that is not read: unknown, or of a known type without its text. */
export function putUnknown(to: Drafts, place: string, type: unknown, known: boolean): void {
  const bad = known || typeof type !== 'string';
  to.problem(bad ? 'bad_record' : 'unknown_record', `${place}/${textOf(type) ?? 'no type'}`);
}
