/**
 * Events → usage rows. Contract: the sum of the rows is the usage of the outcome, whatever the agent reports. A total
 * keeps the rows that explain a part of it; the rest belongs to the time and model of the total.
 */
import type { EventOf } from '../model/event.ts';
import type { RunOutcome } from '../model/outcome.ts';
import type { Usage } from '../model/parts.ts';
import { USAGE_PERIOD_MS, type UsageRow } from '../model/usage.ts';
import { PROJECTION_LIMITS } from './limits.ts';

const KINDS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const;

/** A difference of sums of dollars that are equal. */
const NO_COST = 1e-9;

type Figures = Usage & { cost: number | null };
type Reported = Pick<
  RunOutcome['metrics'],
  'tokens' | 'cost' | 'cost_source' | 'start_time_ms' | 'end_time_ms' | 'model_name'
>;
type Place = Pick<UsageRow, 'at_ms' | 'model' | 'sub_agent'>;
type Row = Place & { figures: Figures };

const NAMES = [...KINDS, 'cost'] as const;
const UNKNOWN: Figures = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
  cost: null,
};

const plus = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

export class UsageRows {
  readonly #rows = new Map<string, Row>();

  push({ at_ms, data }: EventOf<'usage_reported'>): void {
    const sub_agent = (data.parent_call_id ?? null) !== null;
    const place = { ...placeOf(at_ms, data.model), sub_agent };
    const figures = { ...data.usage, cost: data.cost_usd };
    if (data.mode === 'total') this.#total(place, figures);
    else this.#add(place, figures);
  }

  /** Of the whole run. Figures of the root agent without a model are the run's model's. */
  rowsOf({ metrics }: { metrics: Reported }): UsageRow[] {
    const { tokens, start_time_ms, end_time_ms, model_name } = metrics;
    const cost = metrics.cost_source === 'agent' ? metrics.cost : null;
    const own = new UsageRows();
    for (const { at_ms, sub_agent, figures, ...row } of this.#rows.values())
      own.#add({ at_ms, sub_agent, model: row.model ?? (sub_agent ? null : model_name) }, figures);
    // Usually this changes nothing.
    own.#total(placeOf(end_time_ms, model_name), { ...tokens, cost });
    if (own.#rows.size === 0) own.#rowAt(placeOf(start_time_ms, model_name));
    return [...own.#rows.values()].map(({ figures: { cost, ...tokens }, ...place }) => ({
      ...place,
      tokens,
      cost_usd: cost,
      computed_usd: null,
    }));
  }

  /** A copy that continues separately. */
  fork(): UsageRows {
    const copy = new UsageRows();
    for (const [key, { figures, ...place }] of this.#rows)
      copy.#rows.set(key, { ...place, figures: { ...figures } });
    return copy;
  }

  #total(place: Place, total: Figures): void {
    const before = this.#sum();
    const explains = (name: keyof Figures) =>
      total[name] === null || (before[name] ?? 0) <= total[name] + NO_COST;
    if (!NAMES.every(explains)) this.#rows.clear();
    for (const { figures } of this.#rows.values())
      for (const name of NAMES) if (total[name] === null) figures[name] = null;
    const known = this.#sum();
    const rest = { ...UNKNOWN };
    for (const name of NAMES) rest[name] = restOf(total[name], known[name]);
    if (NAMES.some((name) => rest[name] !== null)) this.#add(place, rest);
  }

  #add(place: Place, figures: Figures): void {
    const sum = this.#rowAt(place).figures;
    for (const name of NAMES) sum[name] = plus(sum[name], figures[name]);
  }

  #rowAt(place: Place): Row {
    const key = keyOf(place);
    const full = this.#rows.size >= PROJECTION_LIMITS.usage_rows_max;
    const row = this.#rows.get(key);
    if (row !== undefined) return row;
    if (full && key !== OTHERS) return this.#rowAt({ at_ms: null, model: null, sub_agent: false });
    const made = { ...place, figures: { ...UNKNOWN } };
    this.#rows.set(key, made);
    return made;
  }

  #sum(): Figures {
    const sum = { ...UNKNOWN };
    for (const { figures } of this.#rows.values())
      for (const name of NAMES) sum[name] = plus(sum[name], figures[name]);
    return sum;
  }
}

const keyOf = ({ at_ms, model, sub_agent }: Place) => JSON.stringify([at_ms, model, sub_agent]);
const OTHERS = keyOf({ at_ms: null, model: null, sub_agent: false });

/** Of the root agent. */
function placeOf(at_ms: number | null, model: string | null): Place {
  const known = at_ms !== null && at_ms > 0;
  return {
    at_ms: known ? at_ms - (at_ms % USAGE_PERIOD_MS) : null,
    model: model?.slice(0, PROJECTION_LIMITS.usage_model_chars) || null,
    sub_agent: false,
  };
}

/** Null: nothing is left, or the total is unknown. */
function restOf(total: number | null, known: number | null): number | null {
  if (total === null || known === null) return total;
  return total - known > NO_COST ? total - known : null;
}
