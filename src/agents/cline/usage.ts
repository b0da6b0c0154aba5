/** Tokens of one request. Input tokens include those from the cache. */
import { tokensOf } from '../kit/native.ts';
import { type Spent, spent, without } from '../kit/usage.ts';

interface Figures {
  readonly inputTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly cacheReadTokens?: unknown;
  readonly cacheWriteTokens?: unknown;
}

export function spentOf(figures: Figures): Spent {
  const cache_read = tokensOf(figures.cacheReadTokens);
  const cache_write = tokensOf(figures.cacheWriteTokens);
  const input = without(tokensOf(figures.inputTokens), cache_read, cache_write);
  return spent({ input, output: tokensOf(figures.outputTokens), cache_read, cache_write });
}
