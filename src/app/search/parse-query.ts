/**
 * The query language of `tacho search`: words, "phrases", prefix*, -excluded, and fields such as tool:Bash. Pure: it
 * knows the names of fields and the words that they accept, but no store and no agents.
 */
import { own } from '../../lib/own.ts';
import { readTime, TIME_LIKE } from '../../lib/read-time.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import { EXIT_REASONS } from '../../model/words.ts';
import { SEARCH_LIMITS } from '../../store/search/limits.ts';
import { QueryError } from './query-error.ts';

/** States of an unfinished run, for `is:`. */
export const RUN_STATES = ['working', 'waiting', 'stuck', 'gone', 'unknown'] as const;
/** The state of an unfinished run. */
export type RunState = (typeof RUN_STATES)[number];

const STATUSES = [...new Set(['ok', 'failed', ...EXIT_REASONS])];
const COST = /^(>=|<=|>|<|=)?(\d+(?:\.\d+)?)$/;

/** The fields, and the words that each accepts; null: any text. */
const QUERY_FIELDS = {
  agent: null,
  model: null,
  project: null,
  tool: null,
  file: null,
  status: STATUSES,
  label: null,
  since: null,
  until: null,
  cost: null,
  is: ['ok', 'failed', ...RUN_STATES],
  has: ['problem'],
} as const satisfies Readonly<Record<string, readonly string[] | null>>;
/** The name of a field. */
export type QueryField = keyof typeof QUERY_FIELDS;

/** A part of a query. */
export interface QueryTerm {
  /** Null for words and phrases. */
  field: QueryField | null;
  /** The word or phrase, or the value of the field, without quotes and the star of a prefix. */
  text: string;
  /** Whether it was quoted. */
  quoted: boolean;
  /** Whether it is a prefix. */
  prefix: boolean;
  /** Whether it is excluded. */
  not: boolean;
  /** Position in the query, counted from 0. */
  offset: number;
  /** Length in the query. */
  length: number;
}

/** A parsed query. */
export interface Query {
  /** The query as given. */
  text: string;
  /** Its parts, in order. */
  terms: QueryTerm[];
}

/** Throws a QueryError with the position of the first mistake. */
export function parseQuery(text: string): Query {
  const terms: QueryTerm[] = [];
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const term = readTerm(text, at);
    checkTerm(text, term);
    terms.push(term);
    at += term.length;
  }
  if (terms.length === 0)
    throw new QueryError('the query is empty', text, { offset: 0, length: 1 });
  return { text, terms };
}

const SPACE = /\s/;

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.test(text[at] as string)) at += 1;
  return at;
}

const FIELD = /[a-z_]+:/iy;

function readTerm(text: string, offset: number): QueryTerm {
  let at = offset;
  const not = text[at] === '-';
  if (not) at += 1;
  FIELD.lastIndex = at;
  const name = FIELD.exec(text)?.[0];
  const field = name === undefined ? null : fieldAt(text, at, name);
  if (field !== null) at += (name as string).length;
  const value = readValue(text, at);
  return { field, not, offset, ...value, length: value.end - offset } as QueryTerm;
}

/** `http://…` and `C:\…` are words. Any other word before a colon must be a field. */
function fieldAt(text: string, offset: number, name: string): QueryField | null {
  const word = name.slice(0, -1).toLowerCase();
  if (Object.hasOwn(QUERY_FIELDS, word)) return word as QueryField;
  const next = text[offset + name.length] ?? ' ';
  if (SPACE.test(next) || /[/\\:]/.test(next)) return null;
  const fields = Object.keys(QUERY_FIELDS);
  const message = `${unknownWord('field', word, fields)}; quote a text that contains a colon`;
  throw new QueryError(message, text, { offset, length: name.length });
}

interface Value {
  text: string;
  quoted: boolean;
  prefix: boolean;
  end: number;
}

function readValue(text: string, from: number): Value {
  if (text[from] !== '"') return readWord(text, from);
  const close = text.indexOf('"', from + 1);
  if (close < 0) throw new QueryError('the quote is not closed', text, { offset: from, length: 1 });
  const prefix = text[close + 1] === '*';
  const end = close + (prefix ? 2 : 1);
  const next = text[end];
  if (next !== undefined && !SPACE.test(next)) {
    const message = 'a space must follow the closing quote';
    throw new QueryError(message, text, { offset: end, length: 1 });
  }
  return { text: text.slice(from + 1, close), quoted: true, prefix, end };
}

function readWord(text: string, from: number): Value {
  let end = from;
  while (end < text.length && !SPACE.test(text[end] as string)) end += 1;
  const word = text.slice(from, end);
  const quote = word.indexOf('"');
  if (quote > 0) {
    const message = 'a quote must begin a word';
    throw new QueryError(message, text, { offset: from + quote, length: 1 });
  }
  const prefix = word.length > 1 && word.endsWith('*');
  return { text: prefix ? word.slice(0, -1) : word, quoted: false, prefix, end };
}

let searchable: RegExp | null = null;
/** Whether a text has a letter or a digit. */
function hasWord(text: string): boolean {
  searchable ??= /[\p{L}\p{N}]/u;
  return searchable.test(text);
}

/** The check of a field's value: the mistake, or null. */
const CHECKS: Readonly<Record<string, (value: string) => string | null>> = {
  since: (value) => (readTime(value, 0) === null ? `give ${TIME_LIKE}` : null),
  until: (value) => (readTime(value, 0) === null ? `give ${TIME_LIKE}` : null),
  cost: (value) =>
    COST.test(value) ? null : 'give a number of US dollars such as >1, <=0.5 or =2',
  label: (value) => (/^[^=]/.test(value) ? null : 'give name or name=value'),
};

/** Fields that are looked up in the index of words, where a prefix is possible. */
const IN_WORDS = new Set<QueryField | null>([null, 'tool', 'file']);

function checkTerm(query: string, term: QueryTerm): void {
  const { field, text, not, offset, length, prefix, quoted } = term;
  const fail = (message: string) => {
    throw new QueryError(message, query, { offset, length });
  };
  if (text === '' && !quoted && field === null) fail('a word must follow the minus sign');
  if (text === '') fail(field === null ? 'the phrase is empty' : `${field}: needs a value`);
  if (!IN_WORDS.has(field)) {
    if (prefix) fail(`${field}: does not accept a prefix`);
    const words: readonly string[] | null = field === null ? null : QUERY_FIELDS[field];
    if (words !== null && !words.includes(text)) fail(unknownWord(`${field}:`, text, words));
    const mistake = own(CHECKS, field ?? '')?.(text) ?? null;
    if (mistake !== null) fail(`${field}: ${mistake}`);
    return;
  }
  if (!hasWord(text))
    fail(`${not ? 'the excluded text' : 'the text'} has no letter or digit to search for`);
  if (prefix && [...text].length < SEARCH_LIMITS.prefix_chars_min)
    fail(`a prefix needs at least ${SEARCH_LIMITS.prefix_chars_min} characters`);
}

/** The comparison of `cost:`, which has been checked. */
export function costOf(value: string): { operator: string; usd: number } {
  const [, operator = '>=', usd] = COST.exec(value) ?? [];
  return { operator, usd: Number(usd) };
}
