/** A target's log: `stream_log`, and `log_format`, its deprecated name (TR-2, TR-3). */
import { own } from '../../lib/own.ts';
import { fieldName, type Place } from '../../lib/schema/mistakes.ts';
import { type Fields, oneOf, type Values } from '../../lib/schema/read.ts';

/** False: no log next to the transcript. */
export const STREAM_LOGS = [false, 'summary', 'raw'] as const;
export type StreamLog = (typeof STREAM_LOGS)[number];

const LOG_FORMATS: Readonly<Record<string, StreamLog>> = { json: 'raw', summary: 'summary' };

export const LOG_FIELDS = {
  stream_log: oneOf(STREAM_LOGS),
  log_format: oneOf(Object.keys(LOG_FORMATS)),
} satisfies Fields;

export interface TargetLog {
  stream_log: StreamLog | undefined;
  /** Shown before the target is used. */
  warnings: string[];
}

export function logOf(
  { stream_log, log_format }: Values<typeof LOG_FIELDS>,
  place: Place,
): TargetLog {
  if (log_format === undefined) return { stream_log, warnings: [] };
  const here = place.inside('log_format');
  if (stream_log !== undefined)
    here.mistake('is the old name of stream_log: give stream_log alone');
  const now = own(LOG_FORMATS, log_format) as StreamLog;
  const say = `${fieldName(here.at)} is deprecated: write "stream_log: ${now}" instead`;
  return { stream_log: now, warnings: [say] };
}
