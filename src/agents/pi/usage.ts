/** Token and cost figures of messages and compactions. A figure that no record gives is null, never 0. */
import type { Usage } from '../../model/parts.ts';
import { costOf, type Native, nativeOf, tokensOf } from './native.ts';

export interface Spent {
  readonly usage: Usage;
  readonly cost_usd: number | null;
}

const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

/** `usage` of a message or a compaction; null when there is none. `input` is without what the cache gave. */
export function spentOf(value: unknown): Spent | null {
  const figures: Native | null = nativeOf(value);
  if (figures === null) return null;
  return {
    usage: {
      input: tokensOf(figures.input),
      output: tokensOf(figures.output),
      cache_read: tokensOf(figures.cacheRead),
      cache_write: tokensOf(figures.cacheWrite),
      reasoning: tokensOf(figures.reasoning),
    },
    cost_usd: costOf(nativeOf(figures.cost)?.total),
  };
}

export function added(a: Spent | null, b: Spent | null): Spent | null {
  if (a === null || b === null) return a ?? b;
  return {
    usage: {
      input: plus(a.usage.input, b.usage.input),
      output: plus(a.usage.output, b.usage.output),
      cache_read: plus(a.usage.cache_read, b.usage.cache_read),
      cache_write: plus(a.usage.cache_write, b.usage.cache_write),
      reasoning: plus(a.usage.reasoning, b.usage.reasoning),
    },
    cost_usd: plus(a.cost_usd, b.cost_usd),
  };
}
