/** The words of `language.ts` are used nowhere: not in help texts, messages, documentation, comments or names. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findingsIn } from './language.ts';

const root = join(import.meta.dirname, '../..');

/** Folders and files that are not rewritten yet. Nothing may be added. */
const PENDING: readonly string[] = [
  'test/chaos-proxy.ts',
  'test/contract/',
  'test/crash/',
  'test/e2e/',
  'test/fixtures/',
  'test/live-client.ts',
  'test/live-stream.ts',
  'test/live-writers.ts',
  'test/serve-process.ts',
  'test/test-agent.ts',
  'test/test-shapes.ts',
  'test/torture/',
  'test/toy-collector.ts',
  'test/truth.ts',
];

const isPending = (path: string) => PENDING.some((start) => path.startsWith(start));

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
  const left = findings.filter(({ path }) => !isPending(path));
  expect(
    left.map(
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
  ] as const)
    test(text, () => expect(words(text)).toContain(word));

  test('plain sentences pass', () => {
    for (const text of [
      'Mistakes are reported with their line.',
      'What does it cost?',
      'One JSON object per line, at most 100 a second.',
      'A run of a session; a stand-in prints one of its lines.',
    ])
      expect(words(text)).toEqual([]);
  });
});
