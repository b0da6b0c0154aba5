/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { LIMITS } from '../../lib/limits.ts';
import { type Inside, isNative, listOf, type Merged, type Native } from '../kit/native.ts';
import type { Session, Stdout } from './generated/native.ts';

export * from '../kit/native.ts';

/** The end record, however the run ended. */
export type Result = Merged<Stdout, `result/${string}`>;
/** What `usage` of stdout holds. */
export type StreamUsage = Inside<Result['usage']>;
export type Telemetry = Inside<Inside<Session['system/ui_telemetry']['systemPayload']>['uiEvent']>;

/** Text of a result's content: a string, or text blocks joined by newlines; null when it has none. */
export function contentText(content: unknown): string | null {
  if (typeof content === 'string') return content;
  let text: string | null = null;
  for (const block of listOf(content)) {
    if (!isNative(block) || typeof block.text !== 'string') continue;
    text = text === null ? block.text : `${text}\n${block.text}`;
  }
  return text;
}

/** `type/subtype` of a record, for a problem's detail. */
export function nameOf(record: Native): string {
  const type = typeof record.type === 'string' ? record.type : 'no type';
  return typeof record.subtype === 'string' ? `${type}/${record.subtype}` : type;
}

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}
