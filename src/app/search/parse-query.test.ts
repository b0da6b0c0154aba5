import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { parseQuery } from './parse-query.ts';
import { QueryError } from './query-error.ts';

/** The terms in short: `-field:text*`, quoted in brackets. */
const terms = (text: string) =>
  parseQuery(text).terms.map(({ field, text: value, quoted, prefix, not }) => {
    const shown = quoted ? `[${value}]` : value;
    return `${not ? '-' : ''}${field === null ? '' : `${field}:`}${shown}${prefix ? '*' : ''}`;
  });

function mistake(text: string): { at: string; message: string } {
  try {
    parseQuery(text);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const { offset, length } = error;
    return { at: text.slice(offset, offset + length), message: error.message };
  }
  throw new Error(`no mistake in ${text}`);
}

verifies('SE-1', 'a query has words, phrases, prefixes, excluded words and fields', () => {
  expect(terms('rate limit')).toEqual(['rate', 'limit']);
  expect(terms('  "rate limit" conf* "get us"* -test -"dry run" ')).toEqual([
    '[rate limit]',
    'conf*',
    '[get us]*',
    '-test',
    '-[dry run]',
  ]);
  expect(terms('agent:claude -tool:Bash file:src/*.ts cost:>1 is:failed has:problem')).toEqual([
    'agent:claude',
    '-tool:Bash',
    'file:src/*.ts',
    'cost:>1',
    'is:failed',
    'has:problem',
  ]);
  expect(terms('project:"my shop" label:build=7 since:"2026-11-01 12:00" until:2d')).toEqual([
    'project:[my shop]',
    'label:build=7',
    'since:[2026-11-01 12:00]',
    'until:2d',
  ]);
  expect(terms('AGENT:pi http://x.test C:\\temp std::vector 検索')).toEqual([
    'agent:pi',
    'http://x.test',
    'C:\\temp',
    'std::vector',
    '検索',
  ]);
});

test('each term has its position', () => {
  expect(
    parseQuery('a -agent:pi "b c"').terms.map(({ offset, length }) => [offset, length]),
  ).toEqual([
    [0, 1],
    [2, 9],
    [12, 5],
  ]);
});

verifies('SE-1', 'a mistake is reported with its position', () => {
  const cases: Record<string, [at: string, part: string]> = {
    '   ': [' ', 'empty'],
    'a "b c': ['"', 'not closed'],
    'a "b"c': ['c', 'space'],
    'a b"c"': ['"', 'begin a word'],
    'x -': ['-', 'minus'],
    'x ""': ['""', 'empty'],
    'x colour:red': ['colour:', 'unknown field "colour"'],
    'x agnet:pi': ['agnet:', 'agent'],
    'x is:broken': ['is:broken', 'expected one of: ok, failed'],
    'x status:never': ['status:never', 'unknown status'],
    'x has:luck': ['has:luck', 'problem'],
    'x since:soon': ['since:soon', 'give a time'],
    'x until:2026-02-31': ['until:2026-02-31', 'give a time'],
    'x cost:much': ['cost:much', 'US dollars'],
    'x agent:': ['agent:', 'needs a value'],
    'x agent:cl*': ['agent:cl*', 'prefix'],
    'x label:=7': ['label:=7', 'name=value'],
    'x ---': ['---', 'no letter or digit'],
    'x ...': ['...', 'no letter or digit'],
    'x a*': ['a*', 'at least 2'],
  };
  for (const [text, [at, part]] of Object.entries(cases)) {
    const found = mistake(text);
    expect(found.at, text).toBe(at);
    expect(found.message, text).toContain(part);
  }
});

test('names of inherited properties are words or unknown fields', () => {
  expect(mistake('constructor:x').at).toBe('constructor:');
  expect(terms('constructor toString')).toEqual(['constructor', 'toString']);
});
