/** The words of `language.ts` are used nowhere: not in help texts, messages, documentation, comments or names. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findingsIn } from './language.ts';

const root = join(import.meta.dirname, '../..');

const pages = globSync(
  [
    '{src,test,docs,scripts,bench,rehearsal,bin,.github}/**/*.{ts,mjs,cjs,md,c,sh,yml,yaml}',
    '*.{md,yml}',
  ],
  { cwd: root },
)
  .filter((path) => !/\/(?:testdata|generated|data|node_modules)\/|contract\/language\./.test(path))
  .sort();

const findings = pages.flatMap((path) =>
  findingsIn(readFileSync(join(root, path), 'utf8')).map((found) => ({ path, ...found })),
);

test('no file uses a word of the list', () => {
  expect(
    findings.map(
      ({ path, line, word, instead, text }) => `${path}:${line}: "${word}" (${instead}): ${text}`,
    ),
  ).toEqual([]);
});

describe('the list finds what it is for', () => {
  const words = (text: string) => findingsIn(text).map(({ word }) => word);
  for (const [text, word] of [
    ['A mistake is told with its line.', 'told'],
    ['Policies stand in tacho.yaml.', 'stand'],
    ['An eval that broke off is gone on with.', 'gone on'],
    ['run each test so many times', 'so many'],
    ['A UUID of chance.', 'chance'],
    ['  /** What the index cannot say. */', '* What'],
    ['one JSON object a line', 'one JSON object a line'],
    ['The run whose agent is known.', 'whose'],
    ['A reader that goes away loses nothing.', 'goes away'],
    ['A database that is none is reported.', 'that is none'],
    ['Text that is no JSON is refused.', 'that is no J'],
  ] as const)
    test(text, () => expect(words(text)).toContain(word));

  test('plain sentences pass', () => {
    for (const text of [
      'Mistakes are reported with their line.',
      'What does it cost?',
      'One JSON object per line, at most 100 a second.',
      'A run of a session; a stand-in prints one of its lines.',
      'A file that is no longer needed; there is none.',
    ])
      expect(words(text)).toEqual([]);
  });
});
