/** Tokens and cost of one model call. `input` is without the cache, `output` without reasoning. */
import type { DataOf } from '../../model/event.ts';
import type { Usage } from '../../model/parts.ts';
import { costOf, type Native, nativeOf, tokensOf } from './native.ts';

export type Spent = Pick<DataOf<'usage_reported'>, 'usage' | 'cost_usd'>;

/** Of a step-finish part or an assistant message; null where it says nothing. */
export function spentOf(native: Native): Spent | null {
  const tokens = nativeOf(native.tokens);
  const cost_usd = costOf(native.cost);
  if (tokens === null && cost_usd === null) return null;
  const cache = nativeOf(tokens?.cache);
  const usage = {
    input: tokensOf(tokens?.input),
    output: tokensOf(tokens?.output),
    cache_read: tokensOf(cache?.read),
    cache_write: tokensOf(cache?.write),
    reasoning: tokensOf(tokens?.reasoning),
  };
  return { usage, cost_usd };
}

const KEYS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

const less = (now: number | null, before: number | null) =>
  now === null ? null : now - (before ?? 0);

/** What a later snapshot of the same call adds; null when nothing. */
export function added(now: Spent, before: Spent | null): Spent | null {
  if (before === null) return now;
  const usage: Usage = { ...now.usage };
  for (const key of KEYS) usage[key] = less(now.usage[key], before.usage[key]);
  const cost_usd = less(now.cost_usd, before.cost_usd);
  const nothing = !cost_usd && KEYS.every((key) => !usage[key]);
  // Figures are counts: one that fell is left as it was.
  const fell = KEYS.some((key) => (usage[key] ?? 0) < 0);
  return nothing || fell ? null : { usage, cost_usd };
}

const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

export function sumOf(total: Spent | null, more: Spent): Spent {
  if (total === null) return more;
  const usage: Usage = { ...total.usage };
  for (const key of KEYS) usage[key] = plus(usage[key], more.usage[key]);
  return { usage, cost_usd: plus(total.cost_usd, more.cost_usd) };
}
