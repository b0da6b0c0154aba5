/** Grades transcripts and recorded runs by eval files. */
import type { GradeOptions, GradeResult } from './app/evals/grade.ts';
import { aFunction, checkOptions, having } from './lib/schema/options.ts';
import * as is from './lib/schema/read.ts';

export type { EvalResult } from './app/evals/eval.ts';
export type { EvalReport, EvalRow, EvalTotal, EvalTotals, TestSummary } from './evals/results.ts';
export type { AssertionResult, Evidence, Grade, Repeat, Verdict } from './evals/types.ts';
export { type ErrorCode, TachoError } from './lib/errors.ts';
export type { Transcript, TranscriptCall, TranscriptMessage } from './model/transcript.ts';
export type { GradeOptions, GradeResult };

const GRADE_FIELDS = {
  file: is.text,
  text: is.anyText,
  transcripts: is.listOf(is.map, 'must be a list of transcripts'),
  runs: is.filled(is.texts),
  threshold: is.ratio,
  each: is.flag,
  stateDir: is.anyText,
  trust: is.flag,
  workers: is.whole(1),
  signal: having('an AbortSignal', 'throwIfAborted'),
  onNotice: aFunction,
} as const satisfies Readonly<Record<keyof GradeOptions, is.Fields[string]>>;

/** Grades transcripts or recorded runs. Rejects with a TachoError for mistakes in the options or in the eval file. */
export async function grade(options: GradeOptions): Promise<GradeResult> {
  checkOptions('grade', options, GRADE_FIELDS);
  const { gradeTranscripts } = await import('./app/evals/grade.ts');
  return gradeTranscripts(options);
}
