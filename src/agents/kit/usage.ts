/** Token and cost figures. A figure that no record reports is null, never 0. */
import type { Usage } from '../../model/parts.ts';

export interface Spent {
  readonly usage: Usage;
  cost_usd: number | null;
}

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

/** The given figures; all others are unknown. */
export function spent(usage: Partial<Usage> = {}, cost_usd: number | null = null): Spent {
  const { input = null, output = null, cache_read = null } = usage;
  const { cache_write = null, reasoning = null } = usage;
  return { usage: { input, output, cache_read, cache_write, reasoning }, cost_usd };
}

function plus(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}

/** `whole` minus a part that it includes. Unknown if the whole is smaller than its part. */
export function less(whole: number | null, part: number | null): number | null {
  return whole === null || whole < (part ?? 0) ? null : whole - (part ?? 0);
}

/** `whole` minus parts that it includes, at least 0. */
export function without(whole: number | null, ...parts: (number | null)[]): number | null {
  if (whole === null) return null;
  return Math.max(
    0,
    parts.reduce<number>((rest, part) => rest - (part ?? 0), whole),
  );
}

export function add(sum: Spent, more: Spent): void {
  for (const name of FIGURES) sum.usage[name] = plus(sum.usage[name], more.usage[name]);
  sum.cost_usd = plus(sum.cost_usd, more.cost_usd);
}

/** `later - earlier` for cumulative figures. A figure that decreased is unknown. */
export function minus(later: Spent, earlier: Spent | null): Spent {
  if (earlier === null) return later;
  const rest = spent();
  for (const name of FIGURES) rest.usage[name] = less(later.usage[name], earlier.usage[name]);
  rest.cost_usd = less(later.cost_usd, earlier.cost_usd);
  return rest;
}

export function isEmpty({ usage, cost_usd }: Spent): boolean {
  return cost_usd === null && FIGURES.every((name) => usage[name] === null);
}

/** The only key of an object, such as a model's name. Null if there is none, or more than one. */
export function onlyKey(value: object | null): string | null {
  const [name = null, ...others] = Object.keys(value ?? {});
  return others.length === 0 ? name : null;
}
