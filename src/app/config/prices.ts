/** `prices:` of the user's own `tacho.yaml`: dollars per million tokens, by the name of a model or a pattern with `*`. */
import type { Fields, Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';

/** US dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

/** In the order of the file: the first pattern that matches counts, and an exact name before all patterns. */
export type OwnPrices = readonly { readonly name: string; readonly price: Price }[];

/** More of these make a pattern slow. */
const STARS_MAX = 8;
const PRICES_MAX = 1_000;

const dollars = is.figure(0);

const PRICE = {
  input: is.required(dollars),
  output: is.required(dollars),
  cache_read: dollars,
  cache_write: dollars,
} satisfies Fields;

/** Cached tokens cost as much as other input unless their price is given. */
const price: Read<Price> = (value, place) => {
  const {
    input = 0,
    output = 0,
    cache_read = input,
    cache_write = input,
  } = is.mapOf(PRICE)(value, place);
  return { input, output, cache_read, cache_write };
};

export const ownPrices: Read<OwnPrices> = (value, place) => {
  const found = Object.entries(is.named(price, 'must be a map of model names')(value, place));
  if (found.length > PRICES_MAX) place.mistake(`has more than ${PRICES_MAX} models`);
  for (const [name] of found)
    if (name.split('*').length > STARS_MAX)
      place.inside(name).mistake(`has a pattern with more than ${STARS_MAX - 1} stars`);
  return found.map(([name, one]) => ({ name, price: one }));
};
