/**
 * Usage events → what each adds to the rows of its run (SE-7). Contract: pure. The contributions of a run sum up to its
 * rows exactly: the last ones, without an event, are whatever the events do not explain.
 */
import type { EventOf } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Usage } from '../../model/parts.ts';
import { UsageFold } from '../../model/run-fold.ts';
import type { UsageRow } from '../../model/usage.ts';
import { UsageRows } from '../usage-rows.ts';

type UsageEvent = EventOf<'usage_reported'>;

/** Added to a row. Negative figures are taken from it: a total can replace earlier figures. */
export interface Contribution {
  /** Null: from the end of the record, not from an event. */
  event: UsageEvent | null;
  /** The row, with the added figures. */
  row: UsageRow;
}

const KINDS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;
const NONE: Usage = {
  ...{ input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
};

export class ContributionFold {
  readonly #outcome: RunOutcome;
  readonly #rows = new UsageRows();
  readonly #sum = new UsageFold();
  readonly #found: Contribution[] = [];
  #before: readonly UsageRow[] | null = [];

  /** `outcome`: of the run. */
  constructor(outcome: RunOutcome) {
    this.#outcome = outcome;
  }

  push(event: UsageEvent): void {
    if (event.data.mode === 'add') {
      this.#push(event);
      // Only this event's row: comparing all rows for each event would take too long.
      this.#before = null;
      const { usage, cost_usd } = event.data;
      const one = new UsageRows();
      one.push(event);
      for (const row of this.#rowsOf(one, usage, cost_usd)) this.#add(event, row);
      return;
    }
    const before = this.#before ?? this.#now();
    this.#push(event);
    const after = this.#now();
    this.#before = after;
    for (const row of differences(before, after)) this.#add(event, row);
  }

  /** `rows`: those of the store. */
  finish(rows: readonly UsageRow[]): Contribution[] {
    const explained = sumsOf(this.#found.map(({ row }) => row));
    for (const row of differences(explained, rows)) this.#add(null, row);
    return this.#found;
  }

  #push(event: UsageEvent): void {
    this.#rows.push(event);
    this.#sum.push(event.data);
  }

  #add(event: UsageEvent | null, row: UsageRow): void {
    if (!isEmpty(row)) this.#found.push({ event, row });
  }

  #now(): UsageRow[] {
    return this.#rowsOf(this.#rows, this.#sum.tokens ?? NONE, this.#sum.cost_usd);
  }

  /** The rows before the end of the record changes them: with a total that is their sum. */
  #rowsOf(rows: UsageRows, tokens: Usage, cost: number | null): UsageRow[] {
    const { metrics } = this.#outcome;
    const cost_source = 'agent' as const;
    return rows.rowsOf({ ...this.#outcome, metrics: { ...metrics, tokens, cost, cost_source } });
  }
}

const keyOf = ({ at_ms, model, sub_agent }: UsageRow) => JSON.stringify([at_ms, model, sub_agent]);
const isEmpty = ({ tokens, cost_usd }: UsageRow) =>
  !cost_usd && KINDS.every((name) => tokens[name] === null);

/** One row per place. */
function sumsOf(rows: readonly UsageRow[]): UsageRow[] {
  const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);
  const sums = new Map<string, UsageRow>();
  for (const row of rows) {
    const sum = sums.get(keyOf(row)) ?? { ...row, tokens: { ...NONE }, cost_usd: null };
    for (const name of KINDS) sum.tokens[name] = plus(sum.tokens[name], row.tokens[name]);
    sum.cost_usd = plus(sum.cost_usd, row.cost_usd);
    sums.set(keyOf(row), sum);
  }
  return [...sums.values()];
}

/** The rows that change one list into another. Figures that do not change are null. */
function differences(before: readonly UsageRow[], after: readonly UsageRow[]): UsageRow[] {
  const earlier = new Map(before.map((row) => [keyOf(row), row]));
  const later = new Map(after.map((row) => [keyOf(row), row]));
  return [...new Set([...earlier.keys(), ...later.keys()])].map((key) => {
    const [a, b] = [earlier.get(key), later.get(key)];
    const row = (b ?? a) as UsageRow;
    const tokens = { ...NONE };
    for (const name of KINDS) tokens[name] = change(a?.tokens[name], b?.tokens[name]);
    return { ...row, tokens, cost_usd: change(a?.cost_usd, b?.cost_usd) };
  });
}

function change(before: number | null = null, after: number | null = null): number | null {
  // A reported 0 is a figure too.
  if (before === null) return after;
  const rest = (after ?? 0) - before;
  return Math.abs(rest) < 1e-9 ? null : rest;
}
