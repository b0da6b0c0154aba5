/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { isNative, type Native } from '../../lib/foreign.ts';

export * from '../../lib/foreign.ts';

/** Text of a message's or result's content: a string, or text blocks joined by newlines; null when it has none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  let text: string | null = null;
  for (const block of content) {
    if (!isNative(block) || block.type !== 'text' || typeof block.text !== 'string') continue;
    text = text === null ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

/** `type/subtype` of a record, for a problem's detail. */
export function nameOf(record: Native): string {
  const type = typeof record.type === 'string' ? record.type : 'no type';
  return typeof record.subtype === 'string' ? `${type}/${record.subtype}` : type;
}
