/** Bounds of conformance checks, each with its reason. */
export const CONFORMANCE_LIMITS = {
  /** Failures of one rule that are listed; all are counted. */
  failures_max: 10,
  /** Open calls of all sessions of a stream that is judged: some 40 MB. Their ids have the
   * bound `live_call_chars_max`. */
  calls_max: 100_000,
  /** The last messages of a session that are remembered: twice what can be under way when a connection breaks. */
  seen_max: 4_096,
  /** Messages of a sent stream that another is held against: 12 bytes each. */
  against_max: 10_000_000,
  /** Messages that wait for their answer in a stream that is judged. */
  waiting_max: 1_000,
} as const;
