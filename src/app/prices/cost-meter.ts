/**
 * The computed cost of a run in progress, for `--max-cost` with an agent that does not report its cost in time. Contract:
 * an unknown price stops no run.
 */
import type { RunState } from '../../capture/run-state.ts';
import type { Agent, Pricing } from '../../model/agent.ts';
import type { RunLimits } from '../../model/parts.ts';
import { UsageRows } from '../../projections/usage-rows.ts';
import type { View } from '../run/recorder.ts';
import { pricedRows } from './costs.ts';
import type { Prices } from './price-list.ts';

/** Null: there is nothing to compute. */
export function costMeter(agent: Agent, limits: RunLimits | undefined): CostMeter | null {
  const limited = (limits?.cost_usd ?? null) !== null;
  return limited && agent.pricing !== undefined ? new CostMeter(agent.pricing) : null;
}

export class CostMeter {
  readonly #pricing: Pricing;
  readonly #rows = new UsageRows();
  #prices: Prices | null = null;
  readonly view: View = {
    name: 'the computed cost',
    take: (events) => {
      for (const event of events) if (event.kind === 'usage_reported') this.#rows.push(event);
    },
  };

  constructor(pricing: Pricing) {
    this.#pricing = pricing;
  }

  /** Loads the prices, while the agent starts. */
  async load(): Promise<void> {
    const { pricesOrNone } = await import('./price-runs.ts');
    this.#prices = await pricesOrNone();
  }

  /** Writes the computed cost into the state of the run: null while it is unknown. */
  update(state: RunState): void {
    const { tokens, cost_usd } = state.usage;
    if (this.#prices === null || tokens === null || cost_usd !== null) return;
    const unknown = { cost: null, cost_source: 'unknown', start_time_ms: null } as const;
    const now = { tokens, end_time_ms: state.at_ms, model_name: state.names.model };
    const means = { pricing: this.#pricing, prices: this.#prices };
    const { rows, cost } = pricedRows(
      this.#rows.rowsOf({ metrics: { ...unknown, ...now } }),
      tokens,
      means,
    );
    state.computed_usd = cost;
    state.unpriced = rows.find(({ computed_usd }) => computed_usd === null)?.model ?? null;
  }
}
