/** The rules, one per criterion, in the order of the criteria. */
import type { Rule, SectionRule } from './rule.ts';
import { CONTENT_RULES } from './rules-content.ts';
import { CORRELATION_RULES } from './rules-correlation.ts';
import { MESSAGE_RULES } from './rules-messages.ts';
import { PERFORMANCE_RULES } from './rules-performance.ts';
import { PROTOCOL_RULES } from './rules-protocol.ts';
import { RESILIENCE_RULES } from './rules-resilience.ts';
import { TIMING_RULES } from './rules-timing.ts';

const SECTIONS: Readonly<Record<string, readonly SectionRule[]>> = {
  'Message types': MESSAGE_RULES,
  'Content accuracy': CONTENT_RULES,
  Timing: TIMING_RULES,
  Correlation: CORRELATION_RULES,
  Performance: PERFORMANCE_RULES,
  'Error resilience': RESILIENCE_RULES,
  Conformance: PROTOCOL_RULES,
};

export const LIVE_RULES: readonly Rule[] = Object.entries(SECTIONS).flatMap(([section, rules]) =>
  rules.map((rule) => ({ section, threshold: 1, ...rule })),
);
