/** Token and cost figures in the CLI's spellings. A figure that no record gives is null, never 0. */
import type { Usage } from '../../model/parts.ts';
import { costOf, isNative, type Native, nativeOf, tokensOf } from './native.ts';

export interface Spent {
  readonly usage: Usage;
  cost_usd: number | null;
}

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

export function nothing(): Spent {
  const usage = { input: null, output: null, cache_read: null, cache_write: null, reasoning: null };
  return { usage, cost_usd: null };
}

function plus(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}

function less(a: number | null, b: number | null): number | null {
  return a === null || a < (b ?? 0) ? null : a - (b ?? 0);
}

export function add(sum: Spent, more: Spent): void {
  for (const name of FIGURES) sum.usage[name] = plus(sum.usage[name], more.usage[name]);
  sum.cost_usd = plus(sum.cost_usd, more.cost_usd);
}

/** `later - earlier` of cumulative figures; a figure that went back says nothing. */
export function minus(later: Spent, earlier: Spent | null): Spent {
  if (earlier === null) return later;
  const rest = nothing();
  for (const name of FIGURES) rest.usage[name] = less(later.usage[name], earlier.usage[name]);
  rest.cost_usd = less(later.cost_usd, earlier.cost_usd);
  return rest;
}

/** `{ <model>: { inputTokens, …, costUSD } }`, all models summed; no model at all means 0, as the CLI says it. */
export function ofModels(models: Native): Spent {
  const names = Object.keys(models);
  if (names.length === 0) {
    const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
    return { usage, cost_usd: 0 };
  }
  const sum = nothing();
  for (const name of names) {
    const figures = models[name];
    if (!isNative(figures)) continue;
    const usage = {
      input: tokensOf(figures.inputTokens),
      output: tokensOf(figures.outputTokens),
      cache_read: tokensOf(figures.cacheReadInputTokens),
      cache_write: tokensOf(figures.cacheCreationInputTokens),
      reasoning: tokensOf(figures.thinkingTokens),
    };
    add(sum, { usage, cost_usd: costOf(figures.costUSD) });
  }
  return sum;
}

/** `usage` of a message or a result: the API's own names. It has no cost. */
export function ofApi(usage: Native): Spent {
  return {
    usage: {
      input: tokensOf(usage.input_tokens),
      output: tokensOf(usage.output_tokens),
      cache_read: tokensOf(usage.cache_read_input_tokens),
      cache_write: tokensOf(usage.cache_creation_input_tokens),
      reasoning: tokensOf(nativeOf(usage.output_tokens_details)?.thinking_tokens),
    },
    cost_usd: null,
  };
}

export function sameTokens(a: Usage, b: Usage): boolean {
  return (
    a.input === b.input &&
    a.output === b.output &&
    a.cache_read === b.cache_read &&
    a.cache_write === b.cache_write
  );
}

export function isEmpty(spent: Spent): boolean {
  return spent.cost_usd === null && FIGURES.every((name) => spent.usage[name] === null);
}
