/** From grades to verdicts: weights, thresholds, required assertions (EV-8). */
import { own } from '../lib/own.ts';
import { baseOf } from '../lib/paths.ts';
import type { Transcript } from '../model/transcript.ts';
import { GRADERS } from './graders/registry.ts';
import {
  type Assertion,
  type AssertionResult,
  broken,
  type EvalTest,
  type Grade,
  type GradeContext,
  type RunPlace,
  type Tools,
  type Verdict,
  weightedScore,
} from './types.ts';

export interface TestGrade {
  verdict: Verdict;
  score: number;
  assertions: AssertionResult[];
}

/** Sums of weights are not exact. */
const EPSILON = 1e-9;
export const reaches = (score: number, least: number) => score >= least - EPSILON;

/** For a transcript without its run: paths can be compared, but the folder is not accessible. */
function unknownPlace({ source }: Transcript): RunPlace {
  const root = baseOf(source.cwd);
  const refusal = 'the folder of the run is not known';
  return {
    roots: root === null ? [] : [root],
    folder: null,
    refusal,
    file: () => ({ failure: refusal, exists: false, changed: null, text: null }),
  };
}

export async function gradeTest(
  test: EvalTest,
  transcript: Transcript,
  tools: Tools,
  place: RunPlace = unknownPlace(transcript),
): Promise<TestGrade> {
  const context: GradeContext = {
    test,
    transcript,
    place,
    tools,
    grade: (member) => gradeAssertion(member, context),
  };
  const assertions: AssertionResult[] = [];
  for (const assertion of test.assertions) assertions.push(await context.grade(assertion));
  const score = weightedScore(assertions);
  const kept = assertions.every(({ required, verdict }) => !required || verdict === 'pass');
  return { verdict: kept && reaches(score, test.threshold) ? 'pass' : 'fail', score, assertions };
}

async function gradeAssertion(
  assertion: Assertion,
  context: GradeContext,
): Promise<AssertionResult> {
  const { type, name, weight, required, negate } = assertion;
  const grade = await gradeSafely(assertion, context);
  const unsure = grade.broken === true || grade.assertions?.some((one) => one.broken) === true;
  const score = negate ? (unsure ? 0 : 1 - grade.score) : grade.score;
  const passed = grade.broken !== true && reaches(score, required ?? assertion.min_score);
  const { reason, evidence } = grade;
  return {
    type,
    name,
    verdict: passed ? 'pass' : 'fail',
    score,
    reason: negate ? `negated: ${reason}` : reason,
    evidence: negate ? evidence.map((one) => ({ ...one, passed: !one.passed })) : evidence,
    weight,
    required: required !== null,
    ...(grade.broken && { broken: true }),
    ...(grade.assertions && { assertions: grade.assertions }),
  };
}

/** An exception in one grader becomes its verdict and does not affect others. */
async function gradeSafely(assertion: Assertion, context: GradeContext): Promise<Grade> {
  try {
    const kind = own(GRADERS, assertion.type);
    if (kind === undefined) throw new Error(`there is no grader ${assertion.type}`);
    return await kind.grade(assertion.options, context);
  } catch (error) {
    return broken(`the grader failed: ${(error as Error).message}`);
  }
}
