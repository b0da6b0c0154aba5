/** A parsed query → the expression for the index of words, and the conditions on runs. */
import type { SQLInputValue } from 'node:sqlite';
import { TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import { readTime } from '../../lib/read-time.ts';
import { conditionsOf, type RunQuery } from '../../store/index/run-query.ts';
import { composed, splitText, toolMark } from '../../store/search/index-text.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { findProject } from '../runs/projects.ts';
import { checkNames } from '../runs/query.ts';
import {
  costOf,
  type Query,
  type QueryField,
  type QueryTerm,
  RUN_STATES,
  type RunState,
} from './parse-query.ts';
import { QueryError } from './query-error.ts';

interface Condition {
  sql: string;
  values: SQLInputValue[];
}

export interface Plan {
  match: string | null;
  where: Condition[];
  since_ms: number | null;
  /** Null: any. */
  states: { wanted: Set<RunState>; unwanted: Set<RunState> } | null;
  /** The words and phrases to mark in texts. */
  terms: QueryTerm[];
}

const isState = (word: string): word is RunState =>
  (RUN_STATES as readonly string[]).includes(word);

/** `filter`: the flags of the command. Throws a QueryError for an agent or a project that does not exist. */
export function planQuery(
  query: Query,
  filter: RunQuery,
  state: StateDir | null,
  now_ms: number,
): Plan {
  const { terms } = query;
  const flags = conditionIn(filter);
  const where = flags === null ? [] : [flags];
  let since_ms = filter.since_ms ?? null;
  const alternatives = new Map<QueryField, Condition[]>();
  const states = { wanted: new Set<RunState>(), unwanted: new Set<RunState>() };
  for (const term of terms) {
    const { field, text, not } = term;
    if (field === null || field === 'tool' || field === 'file') continue;
    if (field === 'is' && isState(text)) {
      states[not ? 'unwanted' : 'wanted'].add(text);
      continue;
    }
    const condition = runCondition(query, term, state, now_ms);
    if (not) where.push({ ...condition, sql: `NOT ifnull((${condition.sql}), 0)` });
    else if (ALL_OF.has(field)) where.push(condition);
    else alternatives.set(field, [...(alternatives.get(field) ?? []), condition]);
    if (field === 'since' && !not)
      since_ms = Math.max(since_ms ?? 0, readTime(text, now_ms)?.from_ms ?? 0);
  }
  for (const some of alternatives.values()) where.push(anyOf(some));
  const any_state = states.wanted.size + states.unwanted.size > 0;
  return {
    match: expressionOf(query),
    ...{ where, since_ms, states: any_state ? states : null },
    terms: terms.filter(({ field, not }) => !not && (field === null || field === 'file')),
  };
}

/** If one of the others is repeated, a run needs to match only one of the values. */
const ALL_OF = new Set<QueryField>(['label', 'since', 'until', 'cost', 'has']);

const anyOf = (some: readonly Condition[]): Condition => ({
  sql: some.map(({ sql }) => `(${sql})`).join(' OR '),
  values: some.flatMap(({ values }) => values),
});

/** Null for a query without conditions. */
function conditionIn(query: RunQuery): Condition | null {
  const { where, values } = conditionsOf(query);
  return where === '' ? null : { sql: where.replace(/^WHERE /, ''), values };
}

type ToQuery = (value: string, state: StateDir | null, now_ms: number) => RunQuery;

/** Fields that are filters of every list of runs. */
const FILTERS: Readonly<Record<string, ToQuery>> = {
  agent: (agent) => {
    checkNames({ agent });
    return { agent };
  },
  model: (model) => ({ model }),
  project: (project, state) => ({ project: findProject(state, project) }),
  status: (status) => ({ status }),
  is: (status) => ({ status }),
  label: (value) => {
    const [, name = '', text] = /^([^=]+)(?:=(.*))?$/s.exec(value) ?? [];
    return { labels: [{ name, value: text ?? null }] };
  },
  since: (value, _, now_ms) => ({ since_ms: readTime(value, now_ms)?.from_ms ?? 0 }),
  until: (value, _, now_ms) => ({ until_ms: readTime(value, now_ms)?.to_ms ?? 0 }),
};

function runCondition(
  query: Query,
  term: QueryTerm,
  state: StateDir | null,
  now_ms: number,
): Condition {
  const { field, text, offset, length } = term;
  if (field === 'has') return { sql: 'problems > 0', values: [] };
  if (field === 'cost') {
    const { operator, usd } = costOf(text);
    return { sql: `cost ${operator} ?`, values: [usd] };
  }
  try {
    const filter = own(FILTERS, field ?? '')?.(text, state, now_ms) ?? {};
    return conditionIn(filter) ?? { sql: '1', values: [] };
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    throw new QueryError(error.message, query.text, { offset, length });
  }
}

/** Null if the query has neither words nor fields of events. */
function expressionOf({ text, terms }: Query): string | null {
  const inWords = terms.filter(
    ({ field }) => field === null || field === 'tool' || field === 'file',
  );
  const wanted = inWords.filter(({ not }) => !not);
  const [unwanted] = inWords.filter(({ not }) => not);
  if (wanted.length === 0 && unwanted !== undefined) {
    const message = 'an excluded word needs a word, or tool: or file:, to search for';
    throw new QueryError(message, text, unwanted);
  }
  if (wanted.length === 0) return null;
  const groups = Map.groupBy(wanted, ({ field }) => field);
  const parts = [...groups].flatMap(([field, some]) =>
    field === null ? some.map(wordOf) : [`(${some.map(wordOf).join(' OR ')})`],
  );
  const excluded = inWords.filter(({ not }) => not).map(wordOf);
  const all = parts.join(' AND ');
  return excluded.length === 0 ? all : `(${all}) NOT (${excluded.join(' OR ')})`;
}

const quoted = (text: string, prefix: boolean) =>
  `"${text.replaceAll('"', '""').toWellFormed()}"${prefix ? ' *' : ''}`;

/** A word of several parts, such as getUserName, is a phrase, or the same word in another spelling. */
function wordOf({ field, text, prefix }: QueryTerm): string {
  if (field === 'tool') return `{marks} : ${quoted(toolMark(text), prefix)}`;
  const split = splitText(composed(text));
  const phrase = quoted(split.text, prefix);
  if (field === 'file') return `{paths} : ${phrase}`;
  const [whole] = split.whole;
  const is_identifier = /^\w+$/.test(text) && whole !== undefined;
  return is_identifier ? `(${phrase} OR ${quoted(whole, prefix)})` : phrase;
}
