/** Usage of a run by time and model: the rows that sums over days and models are made of. */
import type { RunOutcome } from './outcome.ts';
import type { Usage } from './parts.ts';

/** Length of the periods that usage is counted in: the offset of every time zone is a multiple of it. */
export const USAGE_PERIOD_MS = 15 * 60 * 1000;

/** Usage of one model by a run in a quarter of an hour. The rows of a run sum up to the figures of its outcome. */
export interface UsageRow {
  /** Start of the quarter of an hour, UTC. Null: the events have no time. */
  at_ms: number | null;
  /** Null: unknown. */
  model: string | null;
  /** Whether sub-agents used it. False if the agent only reports their usage in a total. */
  sub_agent: boolean;
  tokens: Usage;
  /** US dollars as the agent reported them. Null: not reported for this row. */
  cost_usd: number | null;
  /** By the list of prices, if the agent reports no cost for the run. Null: reported, or without a known price. */
  computed_usd: number | null;
}

/** A run as the index saves it. */
export interface MeasuredRun {
  outcome: RunOutcome;
  /** At least one row. None: not known yet. */
  usage: readonly UsageRow[];
}
