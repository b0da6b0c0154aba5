/**
 * Prices of models: the user's own ones, then the bundled list (ADR 22). Contract: no network. A model without a known
 * price has none; it is never guessed from a similar name.
 */
import { globPattern } from '../../lib/glob.ts';
import { hashOf } from '../../store/user-state.ts';
import type { OwnPrices, Price } from '../config/prices.ts';

/** The bundled list. The package has no date in its data: this is the day on which npm published the version. */
export const PRICE_LIST = { name: 'genai-prices', version: '0.1.8', date: '2026-09-23' } as const;

export interface Prices {
  /** Null: unknown. `provider`: of a name that does not show its provider. `at_ms`: when the model was used. */
  of(model: string, provider: string | null, at_ms: number | null): Price | null;
}

type List = typeof import('./bundled-list.ts');

/** Providers of a name such as `openai/gpt-5`, by their names in the list if those differ. */
const PROVIDERS = new Map([
  ['vertex', 'google'],
  ['google-vertex', 'google'],
  ['bedrock', 'aws'],
  ['amazon-bedrock', 'aws'],
  ['moonshot', 'moonshotai'],
  ['xai', 'x-ai'],
  ['togetherai', 'together'],
]);

/** Loads the list, which takes about 40 ms: only where a price is needed. */
export async function openPrices(own: OwnPrices): Promise<Prices> {
  const list = await import('./bundled-list.ts');
  const exact = new Map(
    own.filter(({ name }) => !name.includes('*')).map((one) => [one.name, one]),
  );
  const patterns = own
    .filter(({ name }) => name.includes('*'))
    .map((one) => ({ ...one, pattern: new RegExp(globPattern(one.name, '[\\s\\S]')) }));
  const known = new Map<string, Price | null>();
  return {
    of(model, provider, at_ms) {
      const mine = exact.get(model) ?? patterns.find(({ pattern }) => pattern.test(model));
      if (mine !== undefined) return mine.price;
      // Some prices have a first day or hours of the day.
      const key = JSON.stringify([model, provider, at_ms]);
      const found = known.get(key) ?? listed(list, model, provider, at_ms);
      if (known.size < KNOWN_MAX) known.set(key, found);
      return found;
    },
  };
}

const KNOWN_MAX = 10_000;

/** Changes with the list and with the user's own prices: costs with another id are computed again. */
export const priceId = (own: OwnPrices): string =>
  own.length === 0 ? PRICE_LIST.version : `${PRICE_LIST.version} ${hashOf(JSON.stringify(own))}`;

function listed(list: List, name: string, provider: string | null, at_ms: number | null) {
  // The context size that the CLI shows with the name.
  const model = name.replace(/\[1m\]$/, '');
  const slash = model.indexOf('/');
  const named = model.slice(0, Math.max(0, slash));
  const found =
    slash < 0
      ? (provider && look(list, model, provider, at_ms)) || look(list, model, undefined, at_ms)
      : look(list, model.slice(slash + 1), PROVIDERS.get(named) ?? named, at_ms);
  return found || null;
}

function look(
  list: List,
  model: string,
  providerId: string | undefined,
  at_ms: number | null,
): Price | null {
  const options = {
    ...(providerId === undefined ? {} : { providerId }),
    ...(at_ms === null ? {} : { timestamp: new Date(at_ms) }),
  };
  let prices: Readonly<Record<string, unknown>>;
  try {
    // The library's own sums would apply the price of long requests to the sum of short ones.
    const found = list.calcPrice({ input_tokens: 1, output_tokens: 1 }, model, options);
    if (found === null) return null;
    prices = found.model_price;
  } catch {
    // A name that the library cannot handle is unknown.
    return null;
  }
  const [input, output] = [baseOf(prices.input_mtok), baseOf(prices.output_mtok)];
  if (input === null || output === null) return null;
  const cache_read = baseOf(prices.cache_read_mtok) ?? input;
  return { input, output, cache_read, cache_write: baseOf(prices.cache_write_mtok) ?? input };
}

/** A price may depend on the length of a request. The record has sums of requests, so the first price applies. */
function baseOf(price: unknown): number | null {
  if (typeof price === 'number') return price;
  const base = (price as { base?: unknown } | undefined)?.base;
  return typeof base === 'number' ? base : null;
}
