/** Computes costs of runs, with the list of prices and the user's own ones. */
import { statSync } from 'node:fs';
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Usage } from '../../model/parts.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { OwnPrices } from '../config/prices.ts';
import { loadUserConfig, userConfigPath } from '../config/user-config.ts';
import { pricedRows, withCost } from './costs.ts';
import { openPrices, type Prices, priceId } from './price-list.ts';

interface Loaded {
  own: OwnPrices;
  prices(): Promise<Prices>;
}

let last: { stamp: string; loaded: Promise<Loaded> } | null = null;

/** The user's own prices, and the list with them. Throws a TachoError for a mistake in the user's `tacho.yaml`. */
export async function userPrices(env: NodeJS.ProcessEnv = process.env): Promise<Loaded> {
  const path = userConfigPath(env);
  const { mtimeMs = 0, size = 0, ino = 0 } = statOf(path) ?? {};
  // An import asks once per session. The watcher lives for weeks, and the file may change.
  const stamp = `${path} ${ino} ${mtimeMs} ${size}`;
  if (last?.stamp !== stamp) last = { stamp, loaded: load(env) };
  return last.loaded;
}

async function load(env: NodeJS.ProcessEnv): Promise<Loaded> {
  const own = (await loadUserConfig(env, AGENT_IDS)).prices;
  let prices: Promise<Prices> | null = null;
  return {
    own,
    prices() {
      prices ??= openPrices(own);
      return prices;
    },
  };
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Reading it reports why.
    return undefined;
  }
}

/** A mistake in the user's `tacho.yaml` must not lose a record: its costs stay unknown until it is corrected. */
export async function pricesOrNone(): Promise<Prices | null> {
  try {
    return await (await userPrices()).prices();
  } catch (error) {
    if (error instanceof TachoError) return null;
    throw error;
  }
}

/** For `priced`. */
export async function priceRun(run: MeasuredRun): Promise<MeasuredRun> {
  const pricing = (await findAgent(run.outcome.agent))?.pricing;
  const prices = pricing === undefined ? null : await pricesOrNone();
  return pricing === undefined || prices === null ? run : withCost(run, pricing, prices);
}

/** Runs that are read and saved together. */
const AT_ONCE = 200;

/** Computes the costs of these runs, or of all, again. A cost that an agent reported is left unchanged. */
async function priceRuns(index: Index, prices: Prices, only: readonly string[] | null) {
  const run_ids = index.withoutCost(only);
  for (let at = 0; at < run_ids.length; at += AT_ONCE) {
    const runs = run_ids.slice(at, at + AT_ONCE).flatMap((run_id) => index.measured(run_id) ?? []);
    const changed: MeasuredRun[] = [];
    for (const run of runs) {
      const pricing = (await findAgent(run.outcome.agent))?.pricing;
      const now = pricing === undefined ? run : withCost(run, pricing, prices);
      if (JSON.stringify(now) !== JSON.stringify(run)) changed.push(now);
    }
    index.saveCosts(changed);
  }
}

/** For `RunCost`. */
export async function costOfRows(
  agent_id: string,
  rows: readonly UsageRow[],
  tokens: Usage,
): Promise<number | null> {
  const pricing = (await findAgent(agent_id))?.pricing;
  const prices = pricing === undefined ? null : await pricesOrNone();
  if (pricing === undefined || prices === null) return null;
  return pricedRows(rows, tokens, { pricing, prices }).cost;
}

/** For `priceAdded`. */
export async function priceListed(index: Index, run_ids: readonly string[]): Promise<void> {
  const prices = await pricesOrNone();
  if (prices !== null) await priceRuns(index, prices, run_ids);
}

/**
 * Brings all computed costs up to the list of prices and the user's own ones, if others were used for them. Throws a
 * TachoError for a mistake in the user's `tacho.yaml`.
 */
export async function followPrices(index: Index): Promise<void> {
  const { own, prices } = await userPrices();
  const id = priceId(own);
  if (index.priceList() === id) return;
  if (index.withoutCost(null).length > 0) await priceRuns(index, await prices(), null);
  index.savePriceList(id);
}
