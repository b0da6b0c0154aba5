/** Every current requirement has a test that cites it, and no test cites an unknown requirement. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REQUIREMENTS } from '../e2e/requirements.ts';

const root = join(import.meta.dirname, '..', '..');
/** The first argument of `verifies`: one id, or a list of them. */
const CITATION = /\bverifies\(\s*('[^']*'|\[[^\]]*\])\s*,/g;
const CALL = /\bverifies\((?!\s*(?:'|\[|id))/;

interface Source {
  path: string;
  text: string;
}

function testSources(): Source[] {
  const folders = ['src', 'test', 'rehearsal'];
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.ts$/.test(name))
      .filter((name) => folder === 'test' || name.endsWith('.test.ts'))
      .filter((name) => !name.endsWith('requirements.test.ts') && !name.endsWith('verifies.ts'))
      .map((name) => ({
        path: join(folder, name),
        text: readFileSync(join(root, folder, name), 'utf8'),
      })),
  );
}

function citedIds({ text }: Source): string[] {
  return [...text.matchAll(CITATION)].flatMap(([, ids = '']) =>
    [...ids.matchAll(/'([^']*)'/g)].map(([, id = '']) => id),
  );
}

const sources = testSources();
const cited = new Set(sources.flatMap(citedIds));

test('every requirement that is not deferred has a test that cites it', () => {
  const missing = REQUIREMENTS.filter(({ id, deferred }) => deferred === null && !cited.has(id));
  expect(missing.map(({ id, text }) => `${id}: ${text}`)).toEqual([]);
});

test('no test cites an unknown requirement', () => {
  const known = new Set(REQUIREMENTS.map(({ id }) => id));
  const unknown = sources.flatMap((source) =>
    citedIds(source)
      .filter((id) => !known.has(id))
      .map((id) => `${source.path}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

test('ids are cited literally, so a search finds them', () => {
  expect(sources.filter(({ text }) => CALL.test(text)).map(({ path }) => path)).toEqual([]);
});

test('ids are unique and numbered without gaps', () => {
  const numbers = new Map<string, number[]>();
  for (const { id } of REQUIREMENTS) {
    const [prefix = '', number = ''] = id.split('-');
    numbers.set(prefix, [...(numbers.get(prefix) ?? []), Number(number)]);
  }
  for (const [prefix, found] of numbers) {
    expect({ prefix, found }).toEqual({ prefix, found: found.map((_, i) => i + 1) });
  }
});
