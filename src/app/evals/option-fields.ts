/** Options of the library's functions for evals, by name and type. */
import { aFunction, aSignal } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import { APP_LIMITS } from '../limits.ts';
import { RUN_FIELDS } from '../run/option-fields.ts';
import type { CompareOptions } from './compare-for-program.ts';
import type { RunEvalOptions } from './eval-for-program.ts';
import type { GradeOptions } from './grade.ts';

type Table<O> = Readonly<Record<keyof O, is.Fields[string]>>;

const GRADING_FIELDS = {
  text: is.anyText,
  threshold: is.ratio,
  stateDir: is.anyText,
  trust: is.flag,
  workers: is.whole(1, APP_LIMITS.eval_workers_max),
  signal: aSignal,
  onNotice: aFunction,
} as const;

export const GRADE_FIELDS = {
  ...GRADING_FIELDS,
  file: is.text,
  transcripts: is.listOf(is.map, 'must be a list of transcripts'),
  runs: is.filled(is.texts),
  each: is.flag,
} as const satisfies Table<GradeOptions>;

const { agent, target, model, approve, args, env, command, labels, live, acceptInput } = RUN_FIELDS;
const { maxCostUsd, maxTokens, maxToolCalls, maxSteps, loopGuard, bestEffortLimits } = RUN_FIELDS;
const { timeoutMs, retries, retryWaitMs } = RUN_FIELDS;

export const RUN_EVAL_FIELDS = {
  ...GRADING_FIELDS,
  ...{ agent, target, model, approve, args, env, command, labels, live, acceptInput },
  ...{ maxCostUsd, maxTokens, maxToolCalls, maxSteps, loopGuard, bestEffortLimits },
  ...{ timeoutMs, retries, retryWaitMs },
  files: is.filled(is.texts),
  tests: is.filled(is.texts),
  repeat: is.whole(1),
  failFast: is.flag,
  results: is.text,
  resume: is.text,
  onResult: aFunction,
} as const satisfies Table<RunEvalOptions>;

const isText = (value: unknown) => typeof value === 'string';
const evalRows = is.required(
  is.when(isText, is.text, is.listOf(is.map, 'must be a path or a list of rows')),
);

export const COMPARE_FIELDS = {
  before: evalRows,
  after: evalRows,
} as const satisfies Table<CompareOptions>;
