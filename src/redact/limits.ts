/** Bounds of redaction, each with its reason. */
export const REDACT_LIMITS = {
  /** Text held back so that a secret split over deltas is still seen. */
  redaction_hold_chars: 4096,
  /** Each takes its time on every text, and a clone may bring them. */
  redaction_patterns_max: 64,
} as const;
