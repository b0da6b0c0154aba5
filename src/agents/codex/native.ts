/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { nativeOf, problem, textOf } from '../../lib/foreign.ts';
import type { Draft } from '../../model/draft.ts';

export * from '../../lib/foreign.ts';

/** A text, or the texts of content blocks joined by newlines; null when there is none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  let text: string | null = null;
  for (const block of content) {
    const part = typeof block === 'string' ? block : textOf(nativeOf(block)?.text);
    if (part !== null) text = text === null ? part : `${text}\n${part}`;
  }
  return text;
}

/** JSON inside a text; undefined when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A type as a problem's detail names it. */
export function nameOf(type: unknown): string {
  return typeof type === 'string' ? type : 'no type';
}

/** Of a type that is not known; a record without one is broken. */
export function unknown(type: unknown, name: string): Draft {
  return problem(typeof type === 'string' ? 'unknown_record' : 'bad_record', name);
}

export function notice(code: string, text: string | null, at_ms?: number): Draft {
  return { kind: 'notice', at_ms, data: { code, text } };
}
