/** A target's log: `stream_log`, and `log_format`, its deprecated name (TR-2, TR-3). */
import { own } from '../../lib/own.ts';
import type { Check } from './checks.ts';

/** False: no log beside the transcript. */
export const STREAM_LOGS = [false, 'summary', 'raw'] as const;
export type StreamLog = (typeof STREAM_LOGS)[number];

const LOG_FORMATS: Readonly<Record<string, StreamLog>> = { json: 'raw', summary: 'summary' };

const oneOf =
  (words: readonly unknown[]): Check =>
  (value) =>
    words.includes(value) ? null : `must be one of ${words.join(', ')}`;

export const LOG_FIELDS: Readonly<Record<string, Check>> = {
  stream_log: oneOf(STREAM_LOGS),
  log_format: oneOf(Object.keys(LOG_FORMATS)),
};

export interface TargetLog {
  stream_log: StreamLog | null;
  /** What is to be said of the target before it is used. */
  warnings: string[];
}

type Fail = (path: string[], why: string) => never;

/** `fields` hold what `LOG_FIELDS` allow; `at` is their place in the file. */
export function logOf(fields: Record<string, unknown>, at: string[], fail: Fail): TargetLog {
  const { stream_log, log_format } = fields;
  if (log_format === undefined)
    return { stream_log: (stream_log as StreamLog | undefined) ?? null, warnings: [] };
  if (stream_log !== undefined)
    fail([...at, 'log_format'], 'is the old name of stream_log: give stream_log alone');
  const now = own(LOG_FORMATS, log_format as string) as StreamLog;
  const say = `${at.join('.')}.log_format is deprecated: write "stream_log: ${now}" instead`;
  return { stream_log: now, warnings: [say] };
}
