/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { durationOf, isNative, listOf, momentOf, type Native } from '../../lib/foreign.ts';

export * from '../../lib/foreign.ts';

/** A message's `timestamp`: epoch ms of its beginning. */
export function beginOf(message: Native): number | undefined {
  return momentOf(message.timestamp);
}

/** When a message was complete; unknown where the version does not tell how long it took. */
export function endOf(message: Native): number | undefined {
  const begin = beginOf(message);
  const took = durationOf(message.durationMs);
  return begin === undefined || took === null ? undefined : begin + took;
}

/** Text of a message's or result's content: a string, or text blocks joined by newlines; null when it has none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  let text: string | null = null;
  for (const block of listOf(content)) {
    if (!isNative(block) || block.type !== 'text' || typeof block.text !== 'string') continue;
    text = text === null ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

/** A type's name, for a problem's detail. */
export function nameOf(type: unknown): string {
  return typeof type === 'string' ? type : 'no type';
}
