/** The results of an eval for CI: JUnit XML, and annotations and a step summary for GitHub. */
import type { EvalReport, TestSummary } from '../../evals/results.ts';
import { type EvalFile, factText } from '../../evals/types.ts';
import { costText, durationText, knownText } from '../../lib/figures.ts';
import { type Annotation, markdownText, summaryMarkdown } from '../../projections/github.ts';
import { type JunitCase, junitXml } from '../../projections/junit.ts';
import { countsText, failedOf, figuresText, labelOf, placeOf, scoreText } from './text.ts';

const linesOf = ({ assertions, error }: TestSummary): string[] => [
  ...(error === null ? [] : [error]),
  ...failedOf(assertions).map((one) => `${labelOf(one)}: ${one.reason}`),
];

const problemOf = (test: TestSummary): JunitCase['problem'] => {
  if (test.verdict === 'pass') return null;
  const lines = linesOf(test);
  const score = `score ${scoreText(test)}`;
  const facts = failedOf(test.assertions).flatMap(({ evidence }) =>
    evidence.map((one) => `  ${one.passed ? '+' : '-'} ${factText(one)}`),
  );
  return {
    kind: test.error === null ? 'failure' : 'error',
    message: lines[0] ?? score,
    text: [...lines, ...facts, score].join('\n'),
  };
};

export function junitOf(files: readonly EvalFile[], { tests }: EvalReport): string {
  const suites = files.map(({ path, name }) => ({
    name,
    cases: tests
      .filter((test) => test.eval === path)
      .map(
        (test): JunitCase => ({
          name: placeOf(test) === null ? test.id : `${test.id} [${placeOf(test)}]`,
          classname: name,
          duration_ms: test.duration_ms,
          problem: problemOf(test),
        }),
      ),
  }));
  return junitXml('tacho eval', suites);
}

/** `placed`: a path as GitHub knows it, from the repository's root. */
export function annotationsOf(
  { tests }: EvalReport,
  placed: (path: string) => string,
): Annotation[] {
  return tests
    .filter(({ verdict }) => verdict === 'fail')
    .map((test) => ({
      level: 'error',
      title: `eval ${test.id} failed`,
      message: [...linesOf(test), ...(placeOf(test) === null ? [] : [placeOf(test)])].join('\n'),
      file: placed(test.eval),
      line: test.line,
    }));
}

export function stepSummaryOf(report: EvalReport): string {
  const { tests, failed, totals } = report;
  const rows = tests.map((test) => [
    test.verdict === 'pass' ? '✅' : '❌',
    markdownText(test.id),
    scoreText(test),
    test.runs.length > 1 ? `${Math.round(test.pass_rate * 100)} % of ${test.runs.length}` : '',
    knownText(test.cost_usd, costText),
    knownText(test.duration_ms, durationText),
    markdownText(linesOf(test).join('; ')),
  ]);
  return summaryMarkdown([
    {
      title: failed === 0 ? 'Evals passed' : 'Evals failed',
      text: `${countsText(report).join(', ')}. ${figuresText(totals)}.`,
      table: { head: ['', 'test', 'score', 'pass rate', 'cost', 'duration', 'why'], rows },
    },
  ]);
}
