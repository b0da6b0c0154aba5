/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { isNative, listOf, textOf } from '../../lib/foreign.ts';

export * from '../../lib/foreign.ts';

/** Text of a message's content: a string, or the text of its parts, which follow each other without a break. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  let text = '';
  for (const part of listOf(content)) {
    if (typeof part === 'string') text += part;
    else if (isNative(part) && part.thought !== true) text += textOf(part.text) ?? '';
  }
  return text;
}
