/**
 * Usage rows of runs → sums by day, agent, model and others (SE-5). Contract: pure, and memory grows with the number of
 * groups only. Unknown figures are counted, never added as 0.
 */
import type { Usage } from '../../model/parts.ts';
import { tokensUsed } from '../../model/run-fold.ts';
import { USAGE_PERIOD_MS, type UsageRow } from '../../model/usage.ts';
import { isPeriod, PERIODS, type Period } from './periods.ts';

/** A part of a run's usage with its cost. */
export interface CostedRow extends UsageRow {
  /** US dollars; null: unknown, or part of another row. */
  cost: number | null;
  /** `elsewhere`: the agent reported one cost for the whole run, which another row has. */
  source: 'agent' | 'computed' | 'unknown' | 'elsewhere';
}

/** A run with its usage. */
export interface UsedRun {
  run_id: string;
  agent: string;
  project: string | null;
  /** The time of usage without a time of its own; null: unknown. */
  started_ms: number | null;
  labels: Readonly<Record<string, string>>;
  success: boolean;
  /** Whether it is finished: an unfinished run is no failure. */
  finished: boolean;
  rows: readonly CostedRow[];
}

/** Sums over a group of runs. */
export interface UsageSums {
  /** Number of runs with usage in this group. */
  runs: number;
  /** Number of these that succeeded. */
  ok: number;
  /** Number of these that are not finished: they count neither as success nor as failure. */
  unfinished: number;
  /** Share of the finished runs that succeeded; null if none is finished. */
  success_rate: number | null;
  /** Tokens by kind, summed over the runs that report the kind. `input` excludes cached tokens. Null if none does. */
  tokens: Usage;
  /** Input, output and cached tokens. Null if no run reports tokens. */
  tokens_total: number | null;
  /** Number of runs without any known tokens. */
  tokens_unknown_runs: number;
  /** US dollars, as far as known. Null if no cost is known. */
  cost: number | null;
  /** The part of `cost` that was computed from prices; the rest was reported by agents. */
  cost_computed: number;
  /** Number of runs with a cost that is not, or only partly, in `cost`. */
  cost_unknown_runs: number;
  /** Number of runs of which the agent reported one cost for the whole run, which is in another group. */
  cost_elsewhere_runs: number;
}

/** A line of the table. */
export interface UsageGroup extends UsageSums {
  /** The value of each key, such as `{"day": "2026-11-18"}`. Null: unknown, or no such label. */
  keys: Record<string, string | null>;
}

/** Usage that has no cost because the model has no price. */
export interface UnpricedModel {
  /** Name of the model; null if the records have none. */
  model: string | null;
  /** Number of runs that used it without a known cost. */
  runs: number;
  /** Tokens that they used; null if unknown. */
  tokens: number | null;
}

/** Tokens, costs and runs by group. */
export interface UsageReport {
  /** The keys of the groups: `day`, `week`, `month`, `agent`, `model`, `project`, `role`, `label:NAME`. */
  by: string[];
  /** From this time on, in milliseconds since 1970, rounded down to a quarter of an hour. Null: from the beginning. */
  since_ms: number | null;
  /** Before this time. Null: without an end. */
  until_ms: number | null;
  /** Days, weeks and months oldest first; others by cost and tokens. */
  groups: UsageGroup[];
  /** The sums over all groups, each run counted once. */
  total: UsageSums;
  /** Models without a price, those with the most tokens first. */
  unpriced: UnpricedModel[];
  /** Number of runs with usage of unknown time, which is not in any group because a time was requested. */
  without_time_runs: number;
}

/** The requested groups and usage. */
export interface UsageRequest {
  by: readonly string[];
  since_ms: number | null;
  until_ms: number | null;
  /** A part of the model's name, case-insensitive. Default: all models. */
  model?: string | undefined;
}

type Keyed = Pick<UsedRun, 'agent' | 'project' | 'labels' | 'started_ms'>;
type Placed = Pick<UsageRow, 'at_ms' | 'model' | 'sub_agent'>;
type KeyOf = (run: Keyed, row: Placed) => string | null;

/** Usage without a time belongs to the start of its run. */
const timeOf = ({ started_ms }: Pick<UsedRun, 'started_ms'>, { at_ms }: Pick<Placed, 'at_ms'>) =>
  at_ms ?? started_ms;

const periodOf =
  (name: Period): KeyOf =>
  (run, row) => {
    const at_ms = timeOf(run, row);
    return at_ms === null ? null : PERIODS[name](at_ms);
  };

const KEYS = new Map<string, KeyOf>([
  ['day', periodOf('day')],
  ['week', periodOf('week')],
  ['month', periodOf('month')],
  ['agent', ({ agent }) => agent],
  ['model', (_, { model }) => model],
  ['project', ({ project }) => project],
  // The two roles that an agent has in a run.
  ['role', (_, { sub_agent }) => (sub_agent ? 'sub-agents' : 'main')],
]);

export const USAGE_KEYS = ['day', 'week', 'month', 'agent', 'model', 'project'] as const;
const LABEL = 'label:';

/** Whether it names a key: one of USAGE_KEYS, `role` or `label:NAME`. */
export const isUsageKey = (word: string) =>
  KEYS.has(word) || (word.startsWith(LABEL) && word.length > LABEL.length);

function keyOf(name: string): KeyOf {
  const label = name.slice(LABEL.length);
  return (
    KEYS.get(name) ??
    (({ labels }) => (Object.hasOwn(labels, label) ? (labels[label] ?? null) : null))
  );
}

/** Returns the keys of the group that a row belongs to. */
export function keyReader(by: readonly string[]) {
  const keys = by.map((name) => [name, keyOf(name)] as const);
  return (run: Keyed, row: Placed): UsageGroup['keys'] =>
    Object.fromEntries(keys.map(([name, of]) => [name, of(run, row)]));
}

/** Whether a row is requested. An unknown time or model is not, if one is requested. */
export function isRequested(run: Keyed, row: Placed, request: Omit<UsageRequest, 'by'>): boolean {
  const { since_ms, until_ms, model } = request;
  const named = row.model?.toLowerCase() ?? '';
  if (model !== undefined && !named.includes(model.toLowerCase())) return false;
  const at_ms = timeOf(run, row);
  if (at_ms === null) return since_ms === null && until_ms === null;
  return at_ms >= (since_ms ?? at_ms) && at_ms < (until_ms ?? Number.POSITIVE_INFINITY);
}

/** The request with its beginning at the quarter of an hour that contains it: usage is not counted more precisely. */
export const inQuarters = (request: UsageRequest): UsageRequest => ({
  ...request,
  since_ms:
    request.since_ms === null
      ? null
      : Math.floor(request.since_ms / USAGE_PERIOD_MS) * USAGE_PERIOD_MS,
});

export class UsageReportFold {
  readonly #request: UsageRequest;
  readonly #keysOf: ReturnType<typeof keyReader>;
  readonly #groups = new Map<string, { keys: UsageGroup['keys']; sum: Sum }>();
  readonly #total = new Sum();
  readonly #unpriced = new Map<string | null, UnpricedModel>();
  #without_time_runs = 0;

  constructor(request: UsageRequest) {
    this.#request = inQuarters(request);
    this.#keysOf = keyReader(request.by);
  }

  add(run: UsedRun): void {
    const rows = run.rows.filter((row) => isRequested(run, row, this.#request));
    if (rows.length < run.rows.length && run.rows.some((row) => timeOf(run, row) === null))
      this.#without_time_runs += 1;
    if (rows.length === 0) return;
    const byGroup = Map.groupBy(rows, (row) => JSON.stringify(this.#keysOf(run, row)));
    for (const [id, some] of byGroup) this.#group(id).add(run, some);
    this.#total.add(run, rows);
    this.#addUnpriced(rows);
  }

  report(): UsageReport {
    const groups = [...this.#groups.values()].map(({ keys, sum }) => ({ keys, ...sum.sums() }));
    const { by, since_ms, until_ms } = this.#request;
    return {
      ...{ by: [...by], since_ms, until_ms },
      groups: inOrder(groups, by),
      total: this.#total.sums(),
      unpriced: [...this.#unpriced.values()].sort((a, b) => (b.tokens ?? 0) - (a.tokens ?? 0)),
      without_time_runs: this.#without_time_runs,
    };
  }

  #group(id: string): Sum {
    const { sum } = this.#groups.get(id) ?? { sum: new Sum() };
    if (!this.#groups.has(id)) this.#groups.set(id, { keys: JSON.parse(id), sum });
    return sum;
  }

  #addUnpriced(rows: readonly CostedRow[]): void {
    const unpriced = rows.filter(({ source }) => source === 'unknown');
    for (const [model, some] of Map.groupBy(unpriced, (row) => row.model)) {
      const before = this.#unpriced.get(model) ?? { model, runs: 0, tokens: null };
      const tokens = some.map((row) => tokensUsed(row.tokens)).reduce(plus, before.tokens);
      this.#unpriced.set(model, { model, runs: before.runs + 1, tokens });
    }
  }
}

const FIGURES = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;
const NO_TOKENS: Usage = {
  ...{ input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
};

const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

/** Without the rounding errors of sums: $0.30000000000000004. */
const dollars = (usd: number) => Math.round(usd * 1e10) / 1e10;

class Sum {
  readonly #tokens: Usage = { ...NO_TOKENS };
  #cost: number | null = null;
  #counts = {
    ...{ runs: 0, ok: 0, unfinished: 0 },
    ...{ tokens_unknown_runs: 0, cost_unknown_runs: 0, cost_elsewhere_runs: 0 },
  };
  #computed = 0;

  add({ success, finished }: UsedRun, rows: readonly CostedRow[]): void {
    const counts = this.#counts;
    counts.runs += 1;
    if (!finished) counts.unfinished += 1;
    else if (success) counts.ok += 1;
    if (rows.every(({ tokens }) => tokensUsed(tokens) === null)) counts.tokens_unknown_runs += 1;
    if (rows.some(({ source }) => source === 'unknown')) counts.cost_unknown_runs += 1;
    if (rows.every(({ source }) => source === 'elsewhere')) counts.cost_elsewhere_runs += 1;
    for (const { tokens, cost, source } of rows) {
      for (const name of FIGURES) this.#tokens[name] = plus(this.#tokens[name], tokens[name]);
      this.#cost = plus(this.#cost, cost);
      if (source === 'computed') this.#computed += cost ?? 0;
    }
  }

  sums(): UsageSums {
    const { runs, ok, unfinished, tokens_unknown_runs, ...costs } = this.#counts;
    const finished = runs - unfinished;
    return {
      ...{ runs, ok, unfinished },
      success_rate: finished === 0 ? null : ok / finished,
      tokens: this.#tokens,
      tokens_total: tokensUsed(this.#tokens),
      tokens_unknown_runs,
      cost: this.#cost === null ? null : dollars(this.#cost),
      cost_computed: dollars(this.#computed),
      ...costs,
    };
  }
}

/** Periods in their order, unknown ones last; others by cost, then tokens. Groups with the same first key stay together. */
function inOrder(groups: UsageGroup[], by: readonly string[]): UsageGroup[] {
  const weights = new Map(by.map((name) => [name, weightsOf(groups, name)]));
  return groups.sort((a, b) => {
    for (const name of by) {
      const [one = null, other = null] = [a.keys[name], b.keys[name]];
      if (one === other) continue;
      if (one === null || other === null) return one === null ? 1 : -1;
      const [x, y] = [weights.get(name)?.get(one), weights.get(name)?.get(other)];
      const heavier = isPeriod(name)
        ? 0
        : (y?.cost ?? 0) - (x?.cost ?? 0) || (y?.tokens ?? 0) - (x?.tokens ?? 0);
      return heavier || (one < other ? -1 : 1);
    }
    return 0;
  });
}

function weightsOf(groups: readonly UsageGroup[], name: string) {
  const weights = new Map<string, { cost: number; tokens: number }>();
  for (const { keys, cost, tokens_total } of groups) {
    const value = keys[name] ?? null;
    if (value === null) continue;
    const before = weights.get(value) ?? { cost: 0, tokens: 0 };
    weights.set(value, {
      cost: before.cost + (cost ?? 0),
      tokens: before.tokens + (tokens_total ?? 0),
    });
  }
  return weights;
}
