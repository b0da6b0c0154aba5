/** The records of the demo dialect, and readers for the fields we read: one JSON object a line, its type in `t`. */
import { keptName, momentOf } from '../../lib/foreign.ts';

export const DEMO_VERSION = '1.0.0';

/** Every record type there is. */
export const RECORD_TYPES = [
  'hello',
  'prompt',
  'turn',
  'turn_end',
  'think_delta',
  'think',
  'text_delta',
  'text',
  'call',
  'permission',
  'decision',
  'call_start',
  'call_output',
  'call_end',
  'call_late',
  'call_retry',
  'file',
  'skill',
  'blocked',
  'usage',
  'api_retry',
  'api_error',
  'hook',
  'note',
  'end',
] as const;
export type RecordType = (typeof RECORD_TYPES)[number];

/** How this agent may say that it ended. */
export const END_REASONS = [
  'ok',
  'agent_error',
  'provider_error',
  'denied',
  'approval_required',
  'max_steps',
  'budget_exceeded',
  'cancelled',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** How this agent may say that a call ended. */
export const END_STATUSES = ['ok', 'error', 'denied', 'timeout', 'cancelled'] as const;
export type EndStatus = (typeof END_STATUSES)[number];

export type Native = Readonly<Record<string, unknown>>;

export function asRecord(value: unknown): Native | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Native)
    : null;
}

export function textOf(record: Native, field: string): string | null {
  const value = record[field];
  return typeof value === 'string' ? value : null;
}

/** An id or the name of a tool. */
export function idOf(record: Native, field: string): string | null {
  const text = textOf(record, field);
  return text === null ? null : keptName(text);
}

export function flagOf(record: Native, field: string): boolean | null {
  const value = record[field];
  return typeof value === 'boolean' ? value : null;
}

/** The strings of a list; null when there is no list. */
export function namesOf(record: Native, field: string): string[] | null {
  const value = record[field];
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : null;
}

/** The field's value when it is one of `words`, else null. */
export function wordOf<const W extends string>(
  record: Native,
  field: string,
  words: readonly W[],
): W | null {
  const value = record[field];
  return (words as readonly unknown[]).includes(value) ? (value as W) : null;
}

/** A record's own time in epoch ms. */
export function timeOf(value: unknown): number | null {
  return momentOf(asRecord(value)?.at) ?? null;
}
