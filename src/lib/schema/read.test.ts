import { expect, test } from 'vitest';
import { LIMITS } from '../limits.ts';
import { readJson } from './json.ts';
import { fieldName, Report } from './mistakes.ts';
import * as is from './read.ts';
import { type Read, unknownWord } from './read.ts';

/** The value that a Read makes from JSON text, or the mistakes. */
function reading(read: Read, text: string, options: { loose?: boolean } = {}): unknown {
  const report = new Report('test', options);
  const source = readJson('f', text);
  try {
    const value = read(source.value, report.open(source));
    report.end();
    return value;
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

const STEP = is.mapOf({
  name: is.required(is.text, 'title'),
  max_count: is.whole(1),
  mode: is.oneOf(['fast', 'slow']),
});

test('a map returns its fields by name', () => {
  expect(reading(STEP, '{"title":"a","max_count":2}')).toEqual({ name: 'a', max_count: 2 });
});

test('all mistakes of a map are reported, each with line, column and field', () => {
  const text = '{"max_count":0,\n "mode":"x",\n  "mod":1, "title":"", "name":"b"}';
  expect(reading(STEP, text)).toEqual([
    'f:1:2: max_count must be a whole number of at least 1',
    'f:2:2: mode must be one of fast, slow',
    'f:3:3: mod: unknown field; did you mean mode?',
    'f:3:12: title must not be empty',
    'f:3:24: name is already given under another name',
  ]);
  expect(reading(STEP, '[]')).toEqual(['f:1:1: must be a map']);
  expect(reading(STEP, '{}')).toEqual(['f:1:1: lacks the field name']);
  expect(reading(STEP, 'null')).toEqual(['f:1:1: the file is empty']);
});

test('a misspelt field is not reported as missing as well', () => {
  expect(reading(STEP, '{"nmae":"a"}')).toEqual(['f:1:2: nmae: unknown field; did you mean name?']);
});

test('only loose reading accepts camelCase and null', () => {
  const text = '{"name":"a","maxCount":1,"mode":null}';
  expect(reading(STEP, text, { loose: true })).toEqual({ name: 'a', max_count: 1 });
  expect(reading(STEP, text)).toEqual([
    'f:1:13: maxCount: unknown field; did you mean max_count?',
    'f:1:26: mode must be one of fast, slow',
  ]);
});

test('an open map ignores unknown fields', () => {
  const open = is.mapOf({ a: is.flag }, { open: true });
  expect(reading(open, '{"a":true,"b":[[]],"__proto__":{"c":1}}')).toEqual({ a: true });
});

test('inherited property names are ordinary names', () => {
  const text = '{"__proto__":1,"constructor":2,"toString":3}';
  const found = reading(is.named(is.figure(0)), text) as object;
  expect(Object.entries(found)).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
    ['toString', 3],
  ]);
  expect(reading(STEP, '{"name":"a","__proto__":1,"constructor":2}')).toEqual([
    expect.stringMatching(
      /^f:1:13: __proto__: unknown field; expected one of: name, max_count, mode$/,
    ),
    expect.stringMatching(/^f:1:27: constructor: unknown field; expected one of: /),
  ]);
});

const WRONG: [string, Read, string[], string[], string][] = [
  ['flag', is.flag, ['true', 'false'], ['"true"', '1', 'null'], 'must be true or false'],
  ['text', is.text, ['"a"'], ['1', 'null', '[]'], 'must be a string'],
  ['text', is.text, [], ['""'], 'must not be empty'],
  ['anyText', is.anyText, ['""', '"a"'], ['1'], 'must be a string'],
  ['written', is.written(is.anyText), ['"a"', '1', 'true'], ['null', '{}'], 'must be a string'],
  ['figure', is.figure(0), ['0', '1.5'], ['-1', '1e999', '"1"'], 'must be a number of at least 0'],
  ['ratio', is.ratio, ['0', '1'], ['1.1', '-0.1'], 'must be a number from 0 to 1'],
  ['whole', is.whole(2), ['2'], ['1', '2.5', '1e300'], 'must be a whole number of at least 2'],
  ['whole', is.whole(1, 9), ['9'], ['0', '10'], 'must be a whole number from 1 to 9'],
  ['over0', is.over0(), ['0.1'], ['0', '-1'], 'must be a number greater than 0'],
  ['over0', is.over0('a weight'), ['1'], ['0', '1e999'], 'must be a weight greater than 0'],
  ['oneOf', is.oneOf([1]), ['1'], ['"1"', '2'], 'must be 1'],
  ['orNull', is.orNull(is.flag), ['null', 'true'], ['0'], 'must be true or false'],
  ['map', is.map, ['{}'], ['[]', 'null', '"a"'], 'must be a map'],
  ['listOf', is.texts, ['[]', '["a",""]'], ['{}', '"a"'], 'must be a list of strings'],
  ['filled', is.filled(is.texts), ['["a"]'], ['[]'], 'must not be empty'],
  ['named', is.named(is.flag), ['{}', '{"a":true}'], ['[]'], 'must be a map'],
];
test.each(WRONG)('%s', (_, read, good, bad, why) => {
  for (const text of good)
    expect(reading(read, text), text).not.toEqual([expect.stringMatching(/^f:/)]);
  for (const text of bad) expect(reading(read, text), text).toEqual([`f:1:1: ${why}`]);
});

test('a number or a boolean is read as written', () => {
  expect(reading(is.named(is.written(is.text)), '{"a":1,"b":true,"c":"x"}')).toEqual({
    a: '1',
    b: 'true',
    c: 'x',
  });
});

test('mistakes inside lists and alternatives name their own places', () => {
  const read = is.listOf(is.when(Array.isArray, is.listOf(is.flag), is.text));
  expect(reading(read, '["a", 1, [true, 2]]')).toEqual([
    'f:1:7: [1] must be a string',
    'f:1:17: [2][1] must be true or false',
  ]);
});

test('mistakes over the limit are counted, not listed', () => {
  const listed = reading(is.listOf(is.flag), JSON.stringify(Array(50).fill(1))) as string[];
  expect(listed).toHaveLength(LIMITS.mistakes_max + 1);
  expect(listed.at(-1)).toBe('and 30 more');
});

test('notes are kept apart from mistakes', () => {
  const report = new Report('test');
  const source = readJson('f', '{"a":1}');
  is.mapOf({ a: is.unused('has no effect') })(source.value, report.open(source));
  report.end();
  expect(report.notes.all()).toEqual(['f:1:2: a has no effect']);
});

test('a field is named with its place, and a foreign name is quoted, cut and escaped', () => {
  expect(fieldName(['a', 0, 'b-c', 1])).toBe('a[0].b-c[1]');
  expect(fieldName(['täg', 'x y'])).toBe('täg["x y"]');
  expect(fieldName(['x'.repeat(65)])).toBe(`["${'x'.repeat(64)}…"]`);
  const text = JSON.stringify({ 'a\u001b[31m\nerror: b\u202e': 1 });
  expect(reading(is.mapOf({}), text)).toEqual([
    'f:1:2: ["a\\u001b[31m\\nerror: b\\u{202e}"]: unknown field; expected one of: ',
  ]);
});

test('a file name cannot start a new line', () => {
  const source = readJson('a\n::error::b', '[');
  expect(() => new Report('test').open(source)).toThrow(/^a\\n::error::b:1:1: no JSON/);
});

test('a word that is close to a known one gets a suggestion', () => {
  expect(unknownWord('agent', 'demmo', ['demo', 'other'])).toBe(
    'unknown agent "demmo"; did you mean demo?',
  );
  expect(unknownWord('agent', 'x'.repeat(100_000), ['demo'])).toBe(
    `unknown agent "${'x'.repeat(64)}…"; expected one of: demo`,
  );
});
