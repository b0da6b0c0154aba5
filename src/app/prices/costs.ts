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
  const whole = pricing.needs.every((name) => metrics.tokens[name] !== null);
  const usage = run.usage.map((row) => ({
    ...row,
    computed_usd: whole ? costOfRow(row, pricing, prices) : null,
  }));
  const costs = usage.map(({ computed_usd }) => computed_usd);
  const known = costs.length > 0 && costs.every((cost) => cost !== null);
  const cost = known ? costs.reduce<number>((sum, one) => sum + (one ?? 0), 0) : null;
  const cost_source = known ? 'computed' : 'unknown';
  return { outcome: { ...run.outcome, metrics: { ...metrics, cost, cost_source } }, usage };
}

/** What the agent reported, without a computed cost: for records that contain nothing else. */
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

function costOfRow(row: UsageRow, pricing: Pricing, prices: Prices): number | null {
  const { tokens, model, at_ms } = row;
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
