/** The jobs of an eval: each test with its transcripts, or with the runs to start. */
import type { EvalFile, EvalTest } from '../../evals/types.ts';
import type { AgentRunOptions } from '../run/options.ts';
import { checkLimitsOf } from '../run/request.ts';
import { hashOf } from './results.ts';
import type { OnProblem, Subject } from './subjects.ts';

/** Existing transcripts, or a run for each test. */
export type Graded =
  | { kind: 'transcripts'; subjects(problem: OnProblem): AsyncIterable<Subject>; each: boolean }
  | { kind: 'runs'; options(test: EvalTest): Promise<AgentRunOptions> };

export interface Job {
  file: EvalFile;
  test: EvalTest;
  target: string | null;
  repeat: number;
  subject: Subject | null;
  run: AgentRunOptions | null;
}

export const nameOf = ({ test, repeat, subject }: Job) =>
  `${test.id}${test.repeat.count > 1 && subject === null ? ` #${repeat}` : ''}`;

/**
 * A line belongs to the test it was made for. With one test, or on request, every test grades it. `left_out`: ids of
 * tests that were not asked for, with their lines.
 */
export async function* jobsOfSubjects(
  { files, left_out }: { files: readonly EvalFile[]; left_out: ReadonlySet<string> },
  graded: Extract<Graded, { kind: 'transcripts' }>,
  onProblem: OnProblem,
): AsyncGenerator<Job> {
  const all = files.flatMap((file) => file.tests.map((test) => ({ file, test })));
  const every = graded.each || all.length === 1;
  const byId = Map.groupBy(all, ({ test }) => test.id);
  for await (const subject of graded.subjects(onProblem)) {
    const { test_id, target } = subject.transcript;
    const own = test_id === null ? undefined : byId.get(test_id);
    const skipped = own === undefined && test_id !== null && left_out.has(test_id);
    if (skipped && !graded.each) continue;
    const tests = graded.each ? all : (own ?? (every ? all : []));
    if (tests.length === 0) {
      const about =
        test_id === null
          ? 'has no test_id, and there are several tests'
          : `is for the test "${test_id}", which is not here`;
      onProblem(`${subject.path}:${subject.line}: ${about}: use --each to grade it by every test`);
    }
    for (const { file, test } of tests) yield { file, test, target, repeat: 1, subject, run: null };
  }
}

export async function* jobsOfRuns(
  files: readonly EvalFile[],
  graded: Extract<Graded, { kind: 'runs' }>,
): AsyncGenerator<Job> {
  const prepared: { file: EvalFile; test: EvalTest; run: AgentRunOptions }[] = [];
  // All of them first: a missing target, or a limit that cannot be kept, is reported before anything runs.
  for (const file of files) {
    for (const test of file.tests) {
      const run = await graded.options(test);
      await checkLimitsOf(run);
      prepared.push({ file, test, run });
    }
  }
  for (const { file, test, run } of prepared) {
    const target = run.target ?? null;
    for (let repeat = 1; repeat <= test.repeat.count; repeat++)
      yield { file, test, target, repeat, subject: null, run };
  }
}

/** The line number is not part of a test's definition. */
const definitions = new WeakMap<EvalTest, string>();

function definitionOf(test: EvalTest): string {
  const known = definitions.get(test);
  if (known !== undefined) return known;
  const { line: _, ...rest } = test;
  const hash = hashOf(rest);
  definitions.set(test, hash);
  return hash;
}

export function keyOfJob({ file, test, target, repeat, subject }: Job): string {
  const run = subject && [subject.path, subject.line, subject.transcript.run_id];
  return JSON.stringify([file.path, definitionOf(test), target, repeat, run]);
}
