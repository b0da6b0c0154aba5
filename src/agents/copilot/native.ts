/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import type { Native } from '../../lib/foreign.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';

export * from '../../lib/foreign.ts';

export function integerOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

/** A record's `timestamp` in epoch ms. */
export function timeOf(record: Native): number | undefined {
  const stamp = record.timestamp;
  return typeof stamp === 'string' ? isoTime(stamp) : undefined;
}

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}
