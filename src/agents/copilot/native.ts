/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { LIMITS } from '../../lib/limits.ts';

export * from '../../lib/foreign.ts';

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>): void {
  if (held.size <= LIMITS.open_calls_max) return;
  for (const key of held.keys()) {
    if (held.size <= LIMITS.open_calls_max / 2) return;
    held.delete(key);
  }
}
