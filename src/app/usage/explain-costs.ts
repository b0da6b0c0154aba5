/** How the costs of a run came about: reported by the agent, or computed from prices. */
import { findAgent } from '../../agents/registry.ts';
import type { Pricing } from '../../model/agent.ts';
import type { Usage } from '../../model/parts.ts';
import type { CostedRow } from '../../projections/usage/usage-report.ts';
import type { Price } from '../config/prices.ts';
import { PRICE_LIST, type Prices } from '../prices/price-list.ts';
import { userPrices } from '../prices/price-runs.ts';
import type { ExplainedCost, ExplainedUsage } from './explained.ts';

const KINDS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;
const NONE: Usage = {
  ...{ input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
};
const MILLION = 1_000_000;

const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

export async function listOfPrices(): Promise<ExplainedUsage['prices']> {
  return { ...PRICE_LIST, own: (await userPrices()).own.length };
}

/** One entry per model, source and price. */
export async function costsOf(agent: string, rows: readonly CostedRow[]): Promise<ExplainedCost[]> {
  const pricing = (await findAgent(agent))?.pricing;
  const computed = rows.some(({ source }) => source === 'computed');
  const prices = computed ? await (await userPrices()).prices() : null;
  const costs = new Map<string, Costs>();
  for (const row of rows) {
    const { source } = row;
    const price = source === 'computed' ? priceOf(row, pricing, prices) : null;
    const key = JSON.stringify([row.model, source, price]);
    const sum = costs.get(key) ?? { model: row.model, source, price, tokens: NONE, cost: null };
    const tokens = { ...NONE };
    for (const kind of KINDS) tokens[kind] = plus(sum.tokens[kind], row.tokens[kind]);
    costs.set(key, { ...sum, tokens, cost: plus(sum.cost, row.cost) });
  }
  return [...costs.values()].map(({ price, ...sum }) => ({
    ...sum,
    terms: termsOf(sum.tokens, price, pricing),
  }));
}

type Costs = Omit<ExplainedCost, 'terms'> & { price: Price | null };

function priceOf({ model, at_ms }: CostedRow, pricing: Pricing | undefined, prices: Prices | null) {
  return model === null ? null : (prices?.of(model, pricing?.provider ?? null, at_ms) ?? null);
}

function termsOf(tokens: Usage, price: Price | null, pricing: Pricing | undefined) {
  if (price === null) return [];
  const by_kind: Record<keyof Usage, number> = {
    ...price,
    reasoning: pricing?.reasoning === 'beside' ? price.output : 0,
  };
  return KINDS.flatMap((kind) => {
    const [count, usd_per_million] = [tokens[kind] ?? 0, by_kind[kind]];
    if (count === 0 || (kind === 'reasoning' && usd_per_million === 0)) return [];
    return [{ kind, tokens: count, usd_per_million, usd: (count * usd_per_million) / MILLION }];
  });
}
