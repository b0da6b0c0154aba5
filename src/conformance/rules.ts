/** The rules, one a criterion, in the order of the criteria. */
import type { Rule } from './rule.ts';
import { CONTENT_RULES } from './rules-content.ts';
import { CORRELATION_RULES } from './rules-correlation.ts';
import { MESSAGE_RULES } from './rules-messages.ts';
import { PERFORMANCE_RULES } from './rules-performance.ts';
import { PROTOCOL_RULES } from './rules-protocol.ts';
import { RESILIENCE_RULES } from './rules-resilience.ts';
import { TIMING_RULES } from './rules-timing.ts';

export const LIVE_RULES: readonly Rule[] = [
  ...MESSAGE_RULES,
  ...CONTENT_RULES,
  ...TIMING_RULES,
  ...CORRELATION_RULES,
  ...PERFORMANCE_RULES,
  ...RESILIENCE_RULES,
  ...PROTOCOL_RULES,
];
