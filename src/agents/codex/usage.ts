/** Tokens as the CLI counts them: cached ones are part of the input, reasoning is part of the output. */
import type { Usage } from '../../model/parts.ts';
import { nativeOf, tokensOf } from './native.ts';

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

/** Null when the record gives no figure at all. */
export function usageOf(value: unknown): Usage | null {
  const figures = nativeOf(value);
  const all = tokensOf(figures?.input_tokens ?? figures?.inputTokens);
  const cache_read = tokensOf(figures?.cached_input_tokens ?? figures?.cachedInputTokens);
  const usage: Usage = {
    input: all === null ? null : Math.max(0, all - (cache_read ?? 0)),
    output: tokensOf(figures?.output_tokens ?? figures?.outputTokens),
    cache_read,
    cache_write: tokensOf(figures?.cache_write_input_tokens ?? figures?.cacheWriteInputTokens),
    reasoning: tokensOf(figures?.reasoning_output_tokens ?? figures?.reasoningOutputTokens),
  };
  return FIGURES.every((name) => usage[name] === null) ? null : usage;
}

/** The sum; a figure that only one side gives is that one's. */
export function plus(sum: Usage | null, more: Usage): Usage {
  if (sum === null) return { ...more };
  const total = { ...sum };
  for (const name of FIGURES) {
    const [a, b] = [sum[name], more[name]];
    total[name] = a === null ? b : b === null ? a : a + b;
  }
  return total;
}
