/**
 * Attempts of a run (RO-9): which failures are worth another attempt, the delay, and its facts about earlier
 * ones.
 */
import type { RandomSource } from '../../lib/ids.ts';
import type { DataOf, Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { RunAttempt } from '../../model/parts.ts';
import { APP_LIMITS } from '../limits.ts';

export const FIRST_ATTEMPT: RunAttempt = { number: 1, earlier_ms: 0, first_run_id: null };

export function attemptAfter(attempt: RunAttempt, { run_id, metrics }: RunOutcome): RunAttempt {
  return {
    number: attempt.number + 1,
    earlier_ms: attempt.earlier_ms + (metrics.duration_ms ?? 0),
    first_run_id: attempt.first_run_id ?? run_id,
  };
}

/** Watches the events of an attempt, and then decides whether to retry. */
export function watchAttempt() {
  let failure: DataOf<'provider_failed'> | null = null;
  return {
    sink(events: readonly Event[]): void {
      for (const event of events) if (event.kind === 'provider_failed') failure = event.data;
    },
    worthAnother({ exit_reason, metrics }: RunOutcome): boolean {
      if (exit_reason === 'provider_error') return failure?.retryable !== false;
      // It exited before it did anything, so it can safely be started again.
      return exit_reason === 'incomplete' && metrics.tool_calls_count === 0;
    },
  };
}

/** Doubles with each attempt, and varies by up to a quarter so that many runs do not retry simultaneously. */
export function waitBefore(attempt: number, first_ms: number, random: RandomSource): number {
  const whole = Math.min(first_ms * 2 ** (attempt - 2), APP_LIMITS.retry_wait_ms_max);
  return Math.round(whole * (0.75 + ((random(1)[0] ?? 0) / 255) * 0.5));
}
