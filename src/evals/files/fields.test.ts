/** docs/reference/eval-files.md lists every field of an eval file and no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { transcript } from '../../../test/build-transcript.ts';
import { grade } from '../../../test/grade.ts';
import type { Fields } from '../../lib/schema/read.ts';
import { FIELD_TABLES } from './fields.ts';

const page = readFileSync(
  join(import.meta.dirname, '../../../docs/reference/eval-files.md'),
  'utf8',
);

/** Names in the first column of the first table. */
function namesIn(text: string): string[] {
  const rows =
    text
      .match(/^(?:\|.*\n)+/m)?.[0]
      .split('\n')
      .slice(2) ?? [];
  const cells = rows.map((row) => row.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
}

/** Table → names on the page. */
const documented = new Map(
  [...page.matchAll(/<!-- fields: (.+?) -->\n([\s\S]*?)(?=<!-- |^#|$(?![\s\S]))/gm)].flatMap(
    ([, tables = '', text = '']) =>
      tables.split(', ').map((table) => [table, namesIn(text).sort()] as const),
  ),
);

const spellings = (fields: Fields) =>
  Object.entries(fields)
    .flatMap(([name, field]) => [name, ...(typeof field === 'function' ? [] : (field.also ?? []))])
    .sort();

test('every table of fields is on the page', () => {
  expect([...documented.keys()].sort()).toEqual(Object.keys(FIELD_TABLES).sort());
});

test.each(Object.keys(FIELD_TABLES))('the fields of: %s', (table) => {
  expect(documented.get(table)).toEqual(spellings(FIELD_TABLES[table] as Fields));
});

test('every field of the input of a code grader is on the page', async () => {
  let input: object = {};
  const run = async (request: { input: string }) => {
    input = JSON.parse(request.input);
    return { failure: null, code: 0, stdout: '{"score": 1}', stderr: '', dropped: 0 };
  };
  await grade({ type: 'code-grader', command: 'x' }, transcript(), { run });
  const [, text = ''] = page.split('<!-- input of a code grader -->\n');
  expect(namesIn(text)).toEqual(Object.keys(input));
});
