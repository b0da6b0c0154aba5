/** The input of a test: a text, a message or a list of them; texts may come from files. */

import { isMap } from '../../lib/own.ts';
import type { Place } from '../../lib/schema/mistakes.ts';
import type { Message } from '../types.ts';
import type { Suite } from './suite.ts';

const contentOf = (value: unknown, place: Place, suite: Suite): string => {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return JSON.stringify(value, null, 2) ?? '';
  const parts = value.map((part: unknown, i) => {
    const here = place.inside(i);
    if (typeof part === 'string') return part;
    const { type, value: content, text: words } = isMap(part) ? part : {};
    if (type === 'file' && typeof content === 'string') return fileText(content, here, suite);
    if (type === 'text' && typeof (content ?? words) === 'string') return String(content ?? words);
    here.mistake('must be a string, or a map with type (text or file) and value');
    return '';
  });
  return parts.join('\n');
};

export function fileText(name: string, place: Place, { files, source }: Suite): string {
  const found = files.open(source.path, name);
  if (found === null) place.mistake(`names a file that cannot be read: ${name}`);
  return found?.text ?? '';
}

/** A text, a message, a list of messages, or anything else as JSON. */
export function messagesOf(value: unknown, place: Place, suite: Suite): Message[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return [{ role: 'user', content: value }];
  const list = Array.isArray(value) ? value : [value];
  return list.map((item: unknown, i) => {
    const here = Array.isArray(value) ? place.inside(i) : place;
    if (typeof item === 'string') return { role: 'user', content: item };
    if (!isMap(item) || item.role === undefined)
      return { role: 'user', content: contentOf(item, here, suite) };
    return {
      role: String(item.role),
      content: contentOf(item.content, here.inside('content'), suite),
    };
  });
}

/** Replaces `{{ name }}` by a variable of the test; an unknown name is left unchanged. */
export const filled = (messages: readonly Message[], vars: Record<string, unknown>): Message[] =>
  messages.map(({ role, content }) => ({
    role,
    content: content.replace(/\{\{\s*(\w+)\s*\}\}/g, (mark, name: string) =>
      Object.hasOwn(vars, name) ? String(vars[name]) : mark,
    ),
  }));
