/**
 * The cost of runs of which the agent reports none, from their tokens and prices. Contract: pure. The cost of a run is
 * unknown if any of its rows has no price, or if a figure is missing that the agent usually reports.
 */
import type { Pricing } from '../../model/agent.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Usage } from '../../model/parts.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import type { Price } from '../config/prices.ts';
import type { Prices } from './price-list.ts';

/** Whether the agent left the cost of this run to us. */
export const lacksCost = ({ outcome: { metrics } }: MeasuredRun): boolean =>
  metrics.cost_source !== 'agent' && metrics.tokens_used !== null;

/** The same run with its computed cost, or without one. */
export function withCost(run: MeasuredRun, pricing: Pricing, prices: Prices): MeasuredRun {
  if (!lacksCost(run)) return run;
  const { metrics } = run.outcome;
  const { rows, cost } = pricedRows(run.usage, metrics.tokens, { pricing, prices });
  const cost_source = cost === null ? 'unknown' : 'computed';
  const outcome = { ...run.outcome, metrics: { ...metrics, cost, cost_source } as const };
  return { outcome, usage: rows };
}

interface Means {
  pricing: Pricing;
  prices: Prices;
}

/** Rows with their costs, and the sum. `tokens`: the sum of the rows. */
export function pricedRows(usage: readonly UsageRow[], tokens: Usage, means: Means) {
  const whole = means.pricing.needs.every((name) => tokens[name] !== null);
  const rows = usage.map((row) => ({ ...row, computed_usd: whole ? costOfRow(row, means) : null }));
  const costs = rows.map(({ computed_usd }) => computed_usd);
  const known = costs.length > 0 && costs.every((cost) => cost !== null);
  return { rows, cost: known ? costs.reduce<number>((sum, one) => sum + (one ?? 0), 0) : null };
}

/** The same outcome without a computed cost, for records that contain only figures of the agent. */
export function asReported(outcome: RunOutcome): RunOutcome {
  const { metrics } = outcome;
  if (metrics.cost_source !== 'computed') return outcome;
  return { ...outcome, metrics: { ...metrics, cost: null, cost_source: 'unknown' } };
}

/** A record of the journal, with the cost of the run's stored outcome. */
export function withStoredCost(outcome: RunOutcome, stored: RunOutcome | null): RunOutcome {
  if (stored?.metrics.cost_source !== 'computed') return outcome;
  const { cost, cost_source } = stored.metrics;
  return { ...outcome, metrics: { ...outcome.metrics, cost, cost_source } };
}

/** The same for a transcript. */
export function withCostOf(transcript: Transcript, { metrics }: RunOutcome): Transcript {
  if (metrics.cost_source !== 'computed') return transcript;
  return { ...transcript, cost_usd: metrics.cost, cost_source: metrics.cost_source };
}

function costOfRow({ tokens, model, at_ms }: UsageRow, { pricing, prices }: Means) {
  if (Object.values(tokens).every((figure) => !figure)) return 0;
  const price = model === null ? null : prices.of(model, pricing.provider, at_ms);
  return price === null ? null : costOf(tokens, price, pricing.reasoning);
}

const MILLION = 1_000_000;

function costOf(tokens: Usage, price: Price, reasoning: Pricing['reasoning']): number {
  const thoughts = reasoning === 'beside' ? (tokens.reasoning ?? 0) : 0;
  const dollars =
    (tokens.input ?? 0) * price.input +
    ((tokens.output ?? 0) + thoughts) * price.output +
    (tokens.cache_read ?? 0) * price.cache_read +
    (tokens.cache_write ?? 0) * price.cache_write;
  return dollars / MILLION;
}
