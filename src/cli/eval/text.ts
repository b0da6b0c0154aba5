/** The results of an eval for people, for CI, for GitHub. */

import type { EvalResult } from '../../app/evals/eval.ts';
import type { EvalReport, EvalRow, TestSummary } from '../../evals/results.ts';
import type { AssertionResult, EvalFile } from '../../evals/types.ts';
import { createColours } from '../../lib/colours.ts';
import { costText, durationText, knownText, plural } from '../../lib/figures.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { type Annotation, markdownText, summaryMarkdown } from '../../projections/github.ts';
import { type JunitCase, junitXml } from '../../projections/junit.ts';
import type { Io } from '../command.ts';

const ID_COLUMNS_MAX = 40;
const REASON_COLUMNS = 160;

const failedOf = (assertions: readonly AssertionResult[]) =>
  assertions.filter(({ verdict }) => verdict === 'fail');
const labelOf = ({ type, name }: AssertionResult) => (name === type ? type : `${name} (${type})`);
const placeOf = ({ transcript, transcript_line }: TestSummary | EvalRow) =>
  transcript === null ? null : `${transcript}:${transcript_line}`;

/** One line a result, and below it why it failed. */
export function createRowText(io: Io, files: readonly EvalFile[]) {
  const colour = createColours(io.colour);
  const lengths = files.flatMap(({ tests }) => tests.map(({ id }) => id.length + 3));
  const width = Math.min(ID_COLUMNS_MAX, Math.max(0, ...lengths));
  return (row: EvalRow, name: string): string => {
    const passed = row.verdict === 'pass';
    const mark = passed ? colour.green('pass') : colour.red('FAIL');
    const where = placeOf(row) ?? row.run_id ?? '';
    const head = `${mark}  ${oneLine(name, ID_COLUMNS_MAX).padEnd(width)}  ${row.score.toFixed(2)}  ${colour.dim(oneLine(where, 100))}`;
    const why = passed
      ? []
      : failedOf(row.assertions).map((one) => `${labelOf(one)}: ${one.reason}`);
    if (row.error !== null) why.unshift(row.error);
    return `${[head, ...why.map((line) => `      ${oneLine(line, REASON_COLUMNS)}`)].join('\n')}\n`;
  };
}

export function totalsText({ report, stopped }: EvalResult, io: Io): string {
  const colour = createColours(io.colour);
  const { tests, passed, failed } = report;
  const repeated = tests
    .filter(({ runs }) => runs.length > 1)
    .map((test) => {
      const good = test.runs.filter(({ verdict }) => verdict === 'pass').length;
      const said = test.verdict === 'pass' ? colour.green('pass') : colour.red('FAIL');
      return `${said}  ${oneLine(test.id, ID_COLUMNS_MAX)}: ${good} of ${test.runs.length} runs passed, mean score ${test.score.toFixed(2)}`;
    });
  const counts = `${plural(tests.length, 'test')}: ${passed} passed, ${failed} failed`;
  const rest = stopped ? '; stopped before the others' : '';
  return `${[...repeated, `${counts}${rest}`].join('\n')}\n`;
}

const linesOf = ({ assertions, error }: TestSummary): string[] => [
  ...(error === null ? [] : [error]),
  ...failedOf(assertions).map((one) => `${labelOf(one)}: ${one.reason}`),
];

const problemOf = (test: TestSummary): JunitCase['problem'] => {
  if (test.verdict === 'pass') return null;
  const lines = linesOf(test);
  const score = `score ${test.score.toFixed(2)}`;
  const facts = failedOf(test.assertions).flatMap(({ evidence }) =>
    evidence.map(({ text, passed }) => `  ${passed ? '+' : '-'} ${text}`),
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

export function stepSummaryOf({ tests, passed, failed }: EvalReport): string {
  const rows = tests.map((test) => [
    test.verdict === 'pass' ? '✅' : '❌',
    markdownText(test.id),
    test.score.toFixed(2),
    test.runs.length > 1 ? `${Math.round(test.pass_rate * 100)} % of ${test.runs.length}` : '',
    knownText(test.cost_usd, costText),
    knownText(test.duration_ms, durationText),
    markdownText(linesOf(test).join('; ')),
  ]);
  return summaryMarkdown([
    {
      title: failed === 0 ? 'Evals passed' : 'Evals failed',
      text: `${plural(tests.length, 'test')}: ${passed} passed, ${failed} failed.`,
      table: { head: ['', 'test', 'score', 'pass rate', 'cost', 'duration', 'why'], rows },
    },
  ]);
}
