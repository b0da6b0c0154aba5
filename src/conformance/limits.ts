/** Limits of conformance checks, each with its reason. */
export const CONFORMANCE_LIMITS = {
  /** Failures listed per rule; all are counted. */
  failures_max: 10,
  /** Open calls over all sessions of a judged stream, about 40 MB. The length of their ids is limited by
   * `live_call_chars_max`. */
  calls_max: 100_000,
  /** Latest messages remembered per session: twice what can be in flight when a connection breaks. */
  seen_max: 4_096,
  /** Messages of the sent stream in a comparison: 12 bytes each. */
  against_max: 10_000_000,
  /** Unanswered messages remembered in a judged stream. */
  waiting_max: 1_000,
} as const;
