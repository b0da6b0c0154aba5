/** The words of the demo dialect. */

export const DEMO_VERSION = '1.0.0';

/** Possible ends of a run. */
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

/** Possible ends of a call. */
export const END_STATUSES = ['ok', 'error', 'denied', 'timeout', 'cancelled'] as const;
export type EndStatus = (typeof END_STATUSES)[number];
