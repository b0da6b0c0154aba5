/** Grades with assertions written as in an eval file. */
import { parseEvalFile } from '../src/evals/files/eval-file.ts';
import type { Files } from '../src/evals/files/suite.ts';
import { gradeTest, type TestGrade } from '../src/evals/score.ts';
import type { AssertionResult, EvalFile, RunPlace, Tools } from '../src/evals/types.ts';
import type { Transcript } from '../src/model/transcript.ts';

export const NO_FILES: Files = { open: () => null, folder: (_, name) => name ?? '/evals' };

const NO_TOOLS: Tools = {
  safe: (value) => value,
  matches: async (pattern, flags, texts) => ({
    matched: texts.map((text) => new RegExp(pattern, flags).test(text)),
    failure: null,
  }),
  run: () => Promise.reject(new Error('no commands here')),
  ask: () => Promise.reject(new Error('no model here')),
};

export const parse = (text: string): Promise<EvalFile> =>
  parseEvalFile('evals/a.yaml', text, NO_FILES, {});

/** Many transcripts are graded by the same file. */
const parsed = new Map<string, Promise<EvalFile>>();

export async function gradeAll(
  assertions: readonly unknown[],
  transcript: Transcript,
  more: { tools?: Partial<Tools>; test?: object; place?: RunPlace | undefined } = {},
): Promise<TestGrade> {
  const file = { tests: [{ id: 't', input: 'do it', assertions, ...more.test }] };
  const text = JSON.stringify(file);
  if (!parsed.has(text)) parsed.set(text, parse(text));
  const { tests } = (await parsed.get(text)) as EvalFile;
  return gradeTest(tests[0]!, transcript, { ...NO_TOOLS, ...more.tools }, more.place);
}

export async function grade(
  assertion: unknown,
  transcript: Transcript,
  tools: Partial<Tools> = {},
  place?: RunPlace,
): Promise<AssertionResult> {
  return (await gradeAll([assertion], transcript, { tools, place })).assertions[0]!;
}
