/** Chooses tests of eval files by their ids. */
import type { EvalFile } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { globPattern } from '../../lib/glob.ts';
import { unknownWord } from '../../lib/schema/read.ts';

/** Whether a test was asked for, by its id. */
export type OnlyTests = (id: string) => boolean;

/** `patterns`: ids, with `*` for any text. Throws for one that names no test. */
export function onlyTests(files: readonly EvalFile[], patterns?: readonly string[]): OnlyTests {
  if (patterns === undefined) return () => true;
  const ids = files.flatMap(({ tests }) => tests.map(({ id }) => id));
  const all = patterns.map((text) => new RegExp(globPattern(text, '[\\s\\S]')));
  const idle = all.findIndex((pattern) => !ids.some((id) => pattern.test(id)));
  if (idle >= 0) {
    const text = `--test: ${unknownWord('test', patterns[idle] as string, ids)}`;
    throw new TachoError('usage', text, { stage: 'eval' });
  }
  return (id) => all.some((pattern) => pattern.test(id));
}

/** The files with the tests that were asked for. */
export const selectedOf = (files: readonly EvalFile[], only: OnlyTests): EvalFile[] =>
  files.map((file) => ({ ...file, tests: file.tests.filter(({ id }) => only(id)) }));
