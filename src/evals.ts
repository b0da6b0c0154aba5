/** Runs tests with an agent, and grades transcripts and recorded runs, by eval files. */
import type { CompareOptions } from './app/evals/compare-for-program.ts';
import type { EvalResult } from './app/evals/eval.ts';
import type { RunEvalOptions } from './app/evals/eval-for-program.ts';
import type { GradeOptions, GradeResult } from './app/evals/grade.ts';
import { COMPARE_FIELDS, GRADE_FIELDS, RUN_EVAL_FIELDS } from './app/evals/option-fields.ts';
import type { Comparison } from './evals/compare.ts';
import { checkOptions } from './lib/schema/options.ts';

export type { StreamLog } from './app/config/log.ts';
export type { LiveRunOptions } from './app/live/destination.ts';
export type { LimitOptions, RunOptions } from './app/run/options.ts';
export type { Change as EvalChange, Compared, Figures as EvalFigures } from './evals/compare.ts';
export type {
  EvalReport,
  EvalRow,
  EvalTotal,
  EvalTotals,
  RepeatReport,
  TestSummary,
} from './evals/results.ts';
export type { AssertionResult, Evidence, Grade, Repeat, Verdict } from './evals/types.ts';
export type { Clock } from './lib/clock.ts';
export { type ErrorCode, TachoError } from './lib/errors.ts';
export type { RandomSource } from './lib/ids.ts';
export type { Spread } from './model/comparison.ts';
export type { LiveData, LiveDataOf, LiveMessage } from './model/live.ts';
export type { LiveType } from './model/live-words.ts';
export type { Transcript, TranscriptCall, TranscriptMessage } from './model/transcript.ts';
export type { ApproveMode, FailOn } from './model/words.ts';
export type { CompareOptions, Comparison, EvalResult, GradeOptions, GradeResult, RunEvalOptions };

/** Grades transcripts or recorded runs. Rejects with a TachoError for mistakes in the options or in the eval file. */
export async function grade(options: GradeOptions): Promise<GradeResult> {
  checkOptions('grade', options, GRADE_FIELDS);
  const { gradeTranscripts } = await import('./app/evals/grade.ts');
  return gradeTranscripts(options);
}

/**
 * Runs an agent for every test of an eval, records the runs and grades them. Rejects with a TachoError for mistakes in
 * the options or in the eval files; a test that fails, or an agent that fails, is a result.
 */
export async function runEval(options: RunEvalOptions): Promise<EvalResult> {
  checkOptions('runEval', options, RUN_EVAL_FIELDS);
  const { evalForProgram } = await import('./app/evals/eval-for-program.ts');
  return evalForProgram(options);
}

/** Compares the results of two evals of the same tests: better, worse, more expensive, slower. */
export async function compareEvals(options: CompareOptions): Promise<Comparison> {
  checkOptions('compareEvals', options, COMPARE_FIELDS);
  const { compareForProgram } = await import('./app/evals/compare-for-program.ts');
  return compareForProgram(options);
}
