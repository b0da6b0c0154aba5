/** Tokens and cost of one model call. `input` is without the cache, `output` without reasoning. */
import { costOf, type Merged, nativeOf, tokensOf } from '../kit/native.ts';
import { isEmpty, minus, type Spent, spent } from '../kit/usage.ts';
import type { Message, Part } from './forms.ts';

/** Of a step-finish part or an assistant message; null where it says nothing. */
export function spentOf(native: Merged<{ message: Message; part: Part }>): Spent | null {
  const tokens = nativeOf(native.tokens);
  const cache = nativeOf(tokens?.cache);
  const usage = {
    input: tokensOf(tokens?.input),
    output: tokensOf(tokens?.output),
    cache_read: tokensOf(cache?.read),
    cache_write: tokensOf(cache?.write),
    reasoning: tokensOf(tokens?.reasoning),
  };
  const figures = spent(usage, costOf(native.cost));
  return tokens === null && isEmpty(figures) ? null : figures;
}

/** The figures that a later snapshot of the same call adds; null when none. */
export function added(now: Spent, before: Spent | null): Spent | null {
  const more = minus(now, before);
  const figures = [...Object.values(more.usage), more.cost_usd];
  return before === null || figures.some(Boolean) ? more : null;
}
