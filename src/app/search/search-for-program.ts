/** `tacho search` as a function. */
import { TachoError } from '../../lib/errors.ts';
import { aFunction, checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { FILTER_FIELDS, filterOf, type RunFilter } from '../runs/query.ts';
import { stateLookup } from '../runs/unfinished.ts';
import type { RunState } from './parse-query.ts';
import { checkQuery, type SearchPage, type SearchRequest, searchRuns } from './search.ts';

/** Options of `search`. */
export interface SearchOptions extends RunFilter {
  /** Most relevant or newest first. Default: `relevance`. */
  sort?: 'relevance' | 'time' | undefined;
  /** At most this many runs. Default: 10. */
  limit?: number | undefined;
  /** At most this many hits of each run. Default: 3. */
  hits?: number | undefined;
  /** The `cursor` of the page before this one, which had the same query and options. Default: the first page. */
  cursor?: string | undefined;
  /** The state of an unfinished run, for `is:waiting` and others. Default: no run has a state. */
  stateOf?: ((runId: string) => RunState | null) | undefined;
}

const SEARCH_FIELDS = {
  ...FILTER_FIELDS,
  sort: is.oneOf(['relevance', 'time']),
  limit: is.whole(1),
  hits: is.whole(1),
  cursor: is.text,
  stateOf: aFunction,
} as const satisfies Readonly<Record<keyof SearchOptions, is.Fields[string]>>;

const PAGE_RUNS = 10;
const RUN_HITS = 3;

const NOTHING: SearchPage = {
  ...{ hits: [], total_runs: 0, total_hits: 0, exact: true, cursor: null, complete: true },
  cut_runs: 0,
};

/** `state`: null if there is no store. */
export async function searchForProgram(
  state: StateDir | null,
  query: string,
  options: SearchOptions,
  say: (text: string) => void,
): Promise<SearchPage> {
  checkOptions('search', { query }, { query: is.required(is.anyText) });
  checkOptions('search', options, SEARCH_FIELDS);
  const {
    sort = 'relevance',
    limit = PAGE_RUNS,
    hits = RUN_HITS,
    cursor,
    stateOf,
    ...filter
  } = options;
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw new TachoError('usage', 'search: cursor must be one that search returned', {
      stage: 'request',
    });
  const request: SearchRequest = {
    ...{
      query,
      sort,
      hits,
      runs: limit,
      cursor: cursor ?? null,
      stateOf: stateOf ?? (await stateLookup(state)),
    },
    filter: filterOf('search', filter, state),
  };
  if (state !== null) return searchRuns(state, request, { say });
  checkQuery(request);
  return NOTHING;
}
