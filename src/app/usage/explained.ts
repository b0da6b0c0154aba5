/** The records behind a usage report. */
import type { Raw } from '../../model/event.ts';
import type { Usage } from '../../model/parts.ts';
import type { UsageReport } from '../../projections/usage/usage-report.ts';

/** Figures of a raw line of an agent, or of a part of it. */
interface ExplainedFigures {
  /** Tokens by kind; null: not reported, or unchanged. */
  tokens: Usage;
  /** US dollars; null: not reported, or unchanged. */
  cost_usd: number | null;
}

/** A line of an agent's output or session file, and what it adds to a figure. */
export interface ExplainedLine {
  /** Channel, number from 1, byte offset, and the file if there are several. Null: the figures are from the end of the record. */
  raw: Raw | null;
  /** Number of the event in the run: `tacho show RUN --at seq:N`. Null: no event explains these figures. */
  seq: number | null;
  /** Milliseconds since 1970; null: unknown. */
  at_ms: number | null;
  /** Name of the model; null: unknown. */
  model: string | null;
  /** Whether a sub-agent used it. */
  sub_agent: boolean;
  /** `add`: its figures are added. `total`: its figures are the sum so far, so that only the difference is added. */
  mode: 'add' | 'total' | null;
  /** The figures of the line. Null without an event. */
  reported: ExplainedFigures | null;
  /** The figures that this line adds. Negative: a total replaces earlier figures. */
  added: ExplainedFigures;
}

/** A product in the cost of a model. */
interface ExplainedTerm {
  /** Kind of the tokens. `reasoning`: priced as output by agents that do not include it there. */
  kind: keyof Usage;
  /** Number of tokens. */
  tokens: number;
  /** Price in US dollars per million tokens. */
  usd_per_million: number;
  /** Their product in US dollars. */
  usd: number;
}

/** The cost of one model in a run, at one price. */
export interface ExplainedCost {
  /** Name of the model; null: unknown. */
  model: string | null;
  /** Its tokens by kind; null: unknown. */
  tokens: Usage;
  /** US dollars; null: unknown. */
  cost: number | null;
  /**
   * Whether the agent reported the cost, or tacho computed it from prices. `elsewhere`: the agent reported one cost for
   * the whole run, which belongs to another time, model or role.
   */
  source: 'agent' | 'computed' | 'unknown' | 'elsewhere';
  /** The products that a computed cost is the sum of. Empty for others. */
  terms: ExplainedTerm[];
}

/** A run in an explained group. */
export interface ExplainedRun {
  /** Id of the run. */
  run_id: string;
  /** Id of the agent. */
  agent: string;
  /** Id of the agent's session; null if unknown. */
  session_id: string | null;
  /** Absolute path of the project; null if unknown. */
  project: string | null;
  /** Name of the session file that was imported. Null: tacho recorded the run. */
  file: string | null;
  /** Path of this file, if the agent still has it. */
  path: string | null;
  /** Whether the run succeeded. */
  success: boolean;
  /** Whether the run has an end. */
  finished: boolean;
  /** They sum up to the tokens and reported costs of the run in this group. */
  lines: ExplainedLine[];
  /** They sum up to the cost of the run in this group. */
  costs: ExplainedCost[];
}

/** A usage report with the records behind it. */
export interface ExplainedUsage {
  /** Only the explained groups, and their total. */
  report: UsageReport;
  /** The runs of these groups. */
  runs: ExplainedRun[];
  /** The bundled list of prices, and how many prices tacho.yaml has, which come first. */
  prices: { name: string; version: string; date: string; own: number };
}
