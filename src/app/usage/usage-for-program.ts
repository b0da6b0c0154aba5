/** `tacho usage` as a function. */
import { TachoError } from '../../lib/errors.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { isPeriod, shownFrom } from '../../projections/usage/periods.ts';
import {
  isUsageKey,
  USAGE_KEYS,
  type UsageReport,
  UsageReportFold,
} from '../../projections/usage/usage-report.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { FILTER_FIELDS, filterOf, type RunFilter } from '../runs/query.ts';
import type { ExplainedUsage } from './explained.ts';
import { type UsageQuery, usageOf } from './usage.ts';

/**
 * Options of `usage`. `since` and `until` choose the time of the usage, not of the start of its run. Default: the last 30
 * days, 12 weeks or 12 months, today included.
 */
export interface UsageOptions extends RunFilter {
  /** Keys to group by: `day`, `week`, `month`, `agent`, `model`, `project`, `label:NAME`. Default: `day`. */
  by?: readonly string[] | undefined;
  /** List the usage of sub-agents separately: a last key `role`, `main` or `sub-agents`. Default: false. */
  subAgents?: boolean | undefined;
}

/** Options of `explainUsage`. */
export interface ExplainUsageOptions extends UsageOptions {
  /** Only this group: the value of the first key, or the values of all keys with commas between. Default: all groups. */
  group?: string | undefined;
}

const FIELDS = {
  ...FILTER_FIELDS,
  by: is.filled(is.texts),
  subAgents: is.flag,
} as const satisfies Readonly<Record<keyof UsageOptions, is.Fields[string]>>;

const EXPLAIN_FIELDS = { ...FIELDS, group: is.text };

const unknownKey = (word: string) =>
  new TachoError('usage', is.unknownWord('key', word, [...USAGE_KEYS, 'label:NAME']), {
    stage: 'request',
  });

/** The groups of a request. Throws for an unknown key. */
export function groupsOf(by: readonly string[], sub_agents: boolean): string[] {
  for (const word of by) if (!isUsageKey(word) || word === 'role') throw unknownKey(word);
  return sub_agents ? [...new Set(by), 'role'] : [...new Set(by)];
}

interface Times {
  since_ms?: number | undefined;
  until_ms?: number | undefined;
}

/** The requested beginning, or the default one. Null: none, also for a named group, which may be of any time. */
export function beginOf(
  by: readonly string[],
  { since_ms, until_ms }: Times,
  group: string | null,
): number | null {
  if (since_ms !== undefined || until_ms !== undefined) return since_ms ?? null;
  const period = by.find(isPeriod);
  return group !== null && period !== undefined ? null : shownFrom(period ?? 'day', Date.now());
}

function queryOf(name: string, options: ExplainUsageOptions, state: StateDir | null): UsageQuery {
  const { by = ['day'], subAgents = false, group = null, ...filter } = options;
  const { since_ms, until_ms, model, ...query } = filterOf(name, filter, state);
  return {
    by: groupsOf(by, subAgents),
    since_ms: beginOf(by, { since_ms, until_ms }, group),
    until_ms: until_ms ?? null,
    model,
    query,
  };
}

/** `state`: null if there is no store. */
export async function usageForProgram(
  state: StateDir | null,
  options: UsageOptions,
): Promise<UsageReport> {
  checkOptions('usage', options, FIELDS);
  const query = queryOf('usage', options, state);
  return state === null ? new UsageReportFold(query).report() : usageOf(state, query);
}

export async function explainForProgram(
  state: StateDir | null,
  options: ExplainUsageOptions,
): Promise<ExplainedUsage> {
  checkOptions('explainUsage', options, EXPLAIN_FIELDS);
  const query = queryOf('explainUsage', options, state);
  const { explainUsage } = await import('./explain.ts');
  if (state === null) {
    const { listOfPrices } = await import('./explain-costs.ts');
    return { report: new UsageReportFold(query).report(), runs: [], prices: await listOfPrices() };
  }
  return explainUsage(state, query, options.group ?? null);
}
