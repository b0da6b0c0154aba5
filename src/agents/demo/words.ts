/** The words of the demo dialect. */

export const DEMO_VERSION = '1.0.0';

/** Every record type there is. */
export const RECORD_TYPES = [
  'hello',
  'prompt',
  'turn',
  'turn_end',
  'think_delta',
  'think',
  'text_delta',
  'text',
  'call',
  'permission',
  'decision',
  'call_start',
  'call_output',
  'call_end',
  'call_late',
  'call_retry',
  'file',
  'skill',
  'blocked',
  'usage',
  'api_retry',
  'api_error',
  'hook',
  'note',
  'end',
] as const;
export type RecordType = (typeof RECORD_TYPES)[number];

/** How this agent may say that it ended. */
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

/** How this agent may say that a call ended. */
export const END_STATUSES = ['ok', 'error', 'denied', 'timeout', 'cancelled'] as const;
export type EndStatus = (typeof END_STATUSES)[number];
