/**
 * Costs of runs, wherever runs are saved or printed. The journal has only what agents reported; a computed cost is
 * derived from it, so it follows the list of prices. Loads prices only if they are needed.
 */
import type { Event } from '../../model/event.ts';
import { RunFold } from '../../model/run-fold.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { UsageRows } from '../../projections/usage-rows.ts';
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

/** The computed cost of a run, from its events: for texts that show them. */
export class RunCost {
  readonly #run = new RunFold();
  readonly #rows = new UsageRows();

  push(event: Event): void {
    this.#run.push(event);
    if (event.kind === 'usage_reported') this.#rows.push(event);
  }

  /** At the end of the run. Null: the agent reported its cost, or it is unknown. */
  async value(): Promise<number | null> {
    const end = this.#run.finished;
    const { started, names } = this.#run;
    if (end === null || end.data.usage === null || end.data.cost_usd !== null) return null;
    const tokens = end.data.usage;
    const unknown = { cost: null, cost_source: 'unknown', start_time_ms: null } as const;
    const metrics = { ...unknown, tokens, end_time_ms: end.at_ms, model_name: names.model };
    return (await work()).costOfRows(
      started?.data.agent ?? '',
      this.#rows.rowsOf({ metrics }),
      tokens,
    );
  }
}
