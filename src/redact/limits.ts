/** Limits of redaction, each with its reason. */
export const REDACT_LIMITS = {
  /** Text held back so that a secret split over deltas is still found. */
  redaction_hold_chars: 4096,
  /** Every pattern costs time on every text, and a cloned repository may configure them. */
  redaction_patterns_max: 64,
} as const;
