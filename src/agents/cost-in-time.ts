/**
 * The agents that `--max-cost` can stop in time: they report their cost, or tokens with which it is computed, while they
 * work. For help texts, which load no agent; a test compares the agents' folders.
 */
export const COST_IN_TIME: readonly string[] = [
  'cline',
  'grok',
  'kilo',
  'opencode',
  'omp',
  'pi',
  'qwen',
  'demo',
];
