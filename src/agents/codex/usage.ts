/** Tokens as the CLI counts them: cached ones are part of the input, reasoning is part of the output. */
import { type Inside, type Merged, nativeOf, tokensOf } from '../kit/native.ts';
import { less, type Spent, spent } from '../kit/usage.ts';
import type { Stdout } from './generated/native.ts';

type OfThread = Inside<Stdout['server/thread/tokenUsage/updated']['params']>['tokenUsage'];
type Figures = Merged<{
  stdout: Inside<Stdout['turn.completed']['usage']>;
  server: Inside<Inside<OfThread>['last']>;
}>;

export function spentOf(value: unknown): Spent {
  const figures: Figures | null = nativeOf(value);
  const cache_read = tokensOf(figures?.cached_input_tokens ?? figures?.cachedInputTokens);
  return spent({
    input: less(tokensOf(figures?.input_tokens ?? figures?.inputTokens), cache_read),
    output: tokensOf(figures?.output_tokens ?? figures?.outputTokens),
    cache_read,
    cache_write: tokensOf(figures?.cache_write_input_tokens ?? figures?.cacheWriteInputTokens),
    reasoning: tokensOf(figures?.reasoning_output_tokens ?? figures?.reasoningOutputTokens),
  });
}
