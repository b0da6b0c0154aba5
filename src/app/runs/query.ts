/** Filters of the list of runs, as programs give them. */
import { AGENT_IDS } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import { readTime, TIME_LIKE, type TimeSpan } from '../../lib/read-time.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { EXIT_REASONS } from '../../model/words.ts';
import type { RunQuery } from '../../store/index/runs-table.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { findProject } from './projects.ts';

/** A time: a Date, milliseconds since 1970, or a text such as `2026-11-01`, `2026-11-01T12:00`, `12h`, `2d` or `yesterday`. */
export type TimeOption = Date | number | string;

/** Chooses runs. A run must meet every condition. Default: all runs. */
export interface RunFilter {
  /** Id of the agent. */
  agent?: string | undefined;
  /** `ok`, `failed`, or an exit reason. */
  status?: string | undefined;
  /** Started at this time or later. */
  since?: TimeOption | undefined;
  /** Started before this time; a day counts to its end. */
  until?: TimeOption | undefined;
  /** A folder: runs of the project that it belongs to. Or the name of a project, as lists show it. */
  project?: string | undefined;
  /** Labels that the runs have; null accepts every value. */
  labels?: Readonly<Record<string, string | null>> | undefined;
  /** Part of the name of the model. */
  model?: string | undefined;
}

/** Options of `list`. */
export interface ListOptions extends RunFilter {
  /** At most this many runs, the newest. Default: all. */
  limit?: number | undefined;
}

const isDate = (value: unknown) => value instanceof Date || typeof value === 'number';
export const aTime = is.when(isDate, is.anything, is.text);

export const FILTER_FIELDS = {
  agent: is.text,
  status: is.text,
  since: aTime,
  until: aTime,
  project: is.text,
  labels: is.named(is.orNull(is.anyText)),
  model: is.text,
} as const satisfies Readonly<Record<keyof RunFilter, is.Fields[string]>>;

const LIST_FIELDS = {
  ...FILTER_FIELDS,
  limit: is.whole(0),
} as const satisfies Readonly<Record<keyof ListOptions, is.Fields[string]>>;

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

/**
 * Throws for an unknown agent or status or an invalid time, whatever the store contains. `state`: null if there is no
 * store.
 */
export function queryOf(options: ListOptions, state: StateDir | null): RunQuery {
  checkOptions('list', options, LIST_FIELDS);
  const { limit, ...filter } = options;
  return { ...filterOf('list', filter, state), ...(limit !== undefined && { limit }) };
}

/** `name`: the name of the method, for messages. The fields are checked already. */
export function filterOf(name: string, filter: RunFilter, state: StateDir | null): RunQuery {
  const { agent, status, since, until, project, labels, model } = filter;
  checkNames({ agent, status });
  return {
    ...(agent !== undefined && { agent }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { since_ms: timeOf(`${name}: since`, since).from_ms }),
    ...(until !== undefined && { until_ms: timeOf(`${name}: until`, until).to_ms }),
    ...(project !== undefined && { project: findProject(state, project) }),
    ...(model !== undefined && { model }),
    ...(labels && { labels: Object.entries(labels).map(([name, value]) => ({ name, value })) }),
  };
}

/** `name`: the name of the option, for messages. */
export function timeOf(name: string, given: TimeOption): TimeSpan {
  const at_ms = Number(given);
  if (typeof given !== 'string' && !Number.isNaN(at_ms)) return { from_ms: at_ms, to_ms: at_ms };
  const span = typeof given === 'string' ? readTime(given, Date.now()) : null;
  if (span === null) throw usage(`${name} must be a Date, milliseconds or ${TIME_LIKE}`);
  return span;
}

/** Throws for an unknown agent or status. */
export function checkNames(given: { agent?: string | undefined; status?: string | undefined }) {
  const known = { agent: AGENT_IDS, status: [...new Set(['ok', 'failed', ...EXIT_REASONS])] };
  for (const name of ['agent', 'status'] as const) {
    const word = given[name];
    if (word === undefined || known[name].includes(word)) continue;
    throw usage(is.unknownWord(name, word, known[name]));
  }
}
