/** Searches all runs of a store: prompts, answers, thinking, inputs and outputs of tools, file paths, errors. */
import { bytesText } from '../../lib/figures.ts';
import { isMap } from '../../lib/own.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunQuery } from '../../store/index/run-query.ts';
import { type CatchUpOptions, type CaughtUp, catchUpSearch } from '../../store/search/catch-up.ts';
import { eventText, type Place } from '../../store/search/event-text.ts';
import { type FindRequest, type Found, type FoundRun, findRuns } from '../../store/search/find.ts';
import { readHits } from '../../store/search/read-hits.ts';
import { openSearch, type SearchDb } from '../../store/search/search-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import type { Say } from '../runs/catch-up.ts';
import type { QueryTerm, RunState } from './parse-query.ts';
import { parseQuery } from './parse-query.ts';
import { type Plan, planQuery } from './plan.ts';
import { type Snippet, snippetOf } from './snippet.ts';

/** An event that matches a query. */
export interface SearchHit {
  /** Id of the run. */
  run_id: string;
  /** Id of its agent. */
  agent: string;
  /** The run's model; null: unknown. */
  model: string | null;
  /** Path of the run's project; null: unknown. */
  project: string | null;
  /** Start of the run, in milliseconds since 1970; null: unknown. */
  started_ms: number | null;
  /** How the run ended; null if it has no end. */
  exit_reason: string | null;
  /** Number of the event in its run: `tacho show RUN --at seq:N` begins there. */
  seq: number;
  /** Kind of the event. */
  kind: string;
  /** Where the match is: prompt, answer, path, input, error, output, thinking or other. */
  place: Place;
  /** Canonical name of the tool, for events of a call. */
  tool: string | null;
  /** Time of the event, in milliseconds since 1970; null: unknown. */
  at_ms: number | null;
  /** A part of the text with the matches in it. */
  snippet: Snippet;
  /** Number of hits in this run that were counted. */
  run_hits: number;
}

/** A page of results. */
export interface SearchPage {
  /** The hits of a run follow each other. */
  hits: SearchHit[];
  /** Number of runs with hits, of all pages. */
  total_runs: number;
  /** Number of hits, of all pages. */
  total_hits: number;
  /** Whether the totals are exact. Otherwise there are at least as many. */
  exact: boolean;
  /** The `cursor` of the next page; null on the last one. */
  cursor: string | null;
  /** Whether all events of the journal were searched. False while another process updates the search index. */
  complete: boolean;
  /** Runs with texts that are searched only in part: very long ones, encoded data, logs with many ids. */
  cut_runs: number;
}

export interface SearchRequest {
  query: string;
  filter: RunQuery;
  sort: 'relevance' | 'time';
  runs: number;
  hits: number;
  cursor: string | null;
  /** The state of an unfinished run; null: none. */
  stateOf: ((run_id: string) => RunState | null) | null;
}

export interface SearchProgress extends CatchUpOptions {
  say: Say;
}

/** The index of runs has every finished run. Throws a QueryError for a query with a mistake. */
export async function searchRuns(
  state: StateDir,
  request: SearchRequest,
  options: SearchProgress,
): Promise<SearchPage> {
  const query = parseQuery(request.query);
  const plan = planQuery(query, request.filter, state, Date.now());
  using index = openIndex(state);
  return await withSearch(state, options.say, async (db) => {
    const { complete } = await update(state, index, db, options);
    const asked = findRequest(plan, request);
    const found = findRuns(db, asked);
    const hits: SearchHit[] = [];
    for (const run of found.runs)
      hits.push(...(await hitsOf(state, index, db, { run, terms: plan.terms })));
    const cut_runs = Number(db.read((prepared) => prepared.get(CUT_RUNS))?.runs ?? 0);
    const { total_runs, total_hits, exact } = found;
    const cursor = cursorOf(found, asked);
    return { hits, total_runs, total_hits, exact, cursor, complete, cut_runs };
  });
}

/** Checks a query without a store. */
export function checkQuery(request: SearchRequest): void {
  planQuery(parseQuery(request.query), request.filter, null, Date.now());
}

/**
 * Makes events that were journalled since the last call searchable, for a process that follows the store. Every search
 * does the same first.
 */
export async function updateSearch(
  state: StateDir,
  options: CatchUpOptions = {},
): Promise<CaughtUp> {
  using index = openIndex(state);
  return await withSearch(
    state,
    () => {},
    (db) => catchUpSearch(state, index, db, options),
  );
}

const CUT_RUNS = 'SELECT count(*) AS runs FROM main.runs WHERE cut > 0';

/** Damage may show only when the index is read. It is then rebuilt, once. */
async function withSearch<T>(
  state: StateDir,
  say: Say,
  body: (db: SearchDb) => Promise<T>,
): Promise<T> {
  for (let again = false; ; again = true) {
    using db = openSearch(state);
    const before = db.moved_to;
    if (before !== null) sayMoved(say, before);
    try {
      return await body(db);
    } catch (error) {
      if (again || db.moved_to === before) throw error;
      sayMoved(say, db.moved_to as string);
    }
  }
}

const sayMoved = (say: Say, path: string) =>
  say(`warning: the search index was damaged and is now ${forTerminal(path)}; it is rebuilt`);

async function update(
  state: StateDir,
  index: Index,
  db: SearchDb,
  { say, progress, budget_ms }: SearchProgress,
): Promise<CaughtUp> {
  let said = false;
  const report = (done: number, all: number) => {
    if (!said && all > APP_LIMITS.catch_up_quiet_bytes)
      say(`note: the search index lacks ${bytesText(all)} of the journal; reading it`);
    said = true;
    progress?.(done, all);
  };
  const done = await catchUpSearch(state, index, db, { budget_ms, progress: report });
  if (!done.complete && budget_ms === undefined)
    say('note: another process is updating the search index; the newest events may be missing');
  return done;
}

function findRequest(
  plan: Plan,
  { sort, runs, hits, cursor, stateOf }: SearchRequest,
): FindRequest {
  const { match, where, since_ms, states } = plan;
  const accepts =
    states === null
      ? null
      : (run_id: string) => {
          const found = stateOf?.(run_id) ?? null;
          if (found === null) return states.wanted.size === 0;
          return (
            (states.wanted.size === 0 || states.wanted.has(found)) && !states.unwanted.has(found)
          );
        };
  // Without words there is nothing to rank.
  const order = match === null ? 'time' : sort;
  const after = cursor === null ? null : Number(cursor);
  return { match, where, since_ms, sort: order, runs, hits, after, accepts };
}

/** Contract: a cursor is a whole number, and it belongs to the query and order that it was returned for. */
function cursorOf(found: Found, { sort, after, runs }: FindRequest): string | null {
  const last = found.runs.at(-1);
  if (!found.more || last === undefined) return null;
  return String(sort === 'time' ? last.key : (after ?? 0) + runs);
}

interface HitSource {
  run: FoundRun;
  terms: readonly QueryTerm[];
}

async function hitsOf(
  state: StateDir,
  index: Index,
  db: SearchDb,
  { run, terms }: HitSource,
): Promise<SearchHit[]> {
  const events = await readHits(state, index, db, run);
  const { run_id, agent, model, project, started_ms, exit_reason, count } = run;
  return run.hits.map(({ seq, place }) => {
    const event = events.get(seq);
    const { kind, at_ms, data } = isMap(event) ? event : {};
    const text = typeof kind === 'string' ? eventText(kind, data) : null;
    return {
      ...{ run_id, agent, model, project, started_ms, exit_reason, seq },
      kind: typeof kind === 'string' ? kind : 'unknown',
      place,
      tool: text?.tool ?? null,
      at_ms: typeof at_ms === 'number' ? at_ms : null,
      snippet: snippetOf([...(text?.texts ?? []), ...(text?.paths ?? [])], terms),
      run_hits: count,
    };
  });
}
