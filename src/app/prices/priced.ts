/**
 * Costs of runs, wherever runs are saved or printed. The journal has only what agents reported; a computed cost is
 * derived from it, so it follows the list of prices. Loads prices only if they are needed.
 */
import type { MeasuredRun } from '../../model/usage.ts';
import type { Index } from '../../store/index/index-db.ts';
import { lacksCost } from './costs.ts';

const work = () => import('./price-runs.ts');

/** The run with its computed cost, if its agent reported none and all of its prices are known. */
export async function priced(run: MeasuredRun): Promise<MeasuredRun> {
  return lacksCost(run) ? (await work()).priceRun(run) : run;
}

/** After runs were added from the journal. */
export async function priceAdded(index: Index, run_ids: readonly string[]): Promise<void> {
  const lacking = run_ids.length === 0 ? [] : index.withoutCost(run_ids);
  if (lacking.length > 0) await (await work()).priceListed(index, lacking);
}
