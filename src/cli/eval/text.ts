/** The results of an eval for people, for CI, for GitHub. */

import type { EvalResult } from '../../app/evals/eval.ts';
import type {
  EvalReport,
  EvalRow,
  EvalTotal,
  EvalTotals,
  TestSummary,
} from '../../evals/results.ts';
import { reaches } from '../../evals/score.ts';
import type { AssertionResult, EvalFile, Verdict } from '../../evals/types.ts';
import { createColours } from '../../lib/colours.ts';
import { costText, countText, durationText, knownText, plural } from '../../lib/figures.ts';
import { oneLine, wrapLines } from '../../lib/terminal-text.ts';
import { type Annotation, markdownText, summaryMarkdown } from '../../projections/github.ts';
import { type JunitCase, junitXml } from '../../projections/junit.ts';
import type { Io } from '../command.ts';

const ID_COLUMNS_MAX = 40;
/** Reasons are wrapped, not cut. A longer one quotes something. */
const REASON_CHARS_MAX = 600;
const INDENT = '      ';

const failedOf = (assertions: readonly AssertionResult[]) =>
  assertions.filter(({ verdict }) => verdict === 'fail');
const labelOf = ({ type, name }: AssertionResult) => (name === type ? type : `${name} (${type})`);
const placeOf = ({ transcript, transcript_line }: TestSummary | EvalRow) =>
  transcript === null ? null : `${transcript}:${transcript_line}`;

const atMost = (text: string) => oneLine(text, REASON_CHARS_MAX);

/** `0.91`, or `0.91 < 0.95` if the score is the reason of a failure. */
function scoreText({ verdict, score, threshold, error }: EvalRow | TestSummary): string {
  const low = verdict === 'fail' && error === null && !reaches(score, threshold);
  return low ? `${score.toFixed(2)} < ${threshold.toFixed(2)}` : score.toFixed(2);
}

/**
 * One line per result, followed by the assertions that failed, even if the test passed; with `verbose`, by all of
 * them.
 */
export function createRowText(io: Io, files: readonly EvalFile[], verbose: boolean) {
  const colour = createColours(io.colour);
  const lengths = files.flatMap(({ tests }) => tests.map(({ id }) => id.length + 3));
  const width = Math.min(ID_COLUMNS_MAX, Math.max(0, ...lengths));
  const mark = (verdict: Verdict) =>
    verdict === 'pass' ? colour.green('pass') : colour.red('fail');
  // Logs are searched, so a reason stays on one line there.
  const lines = (text: string, indent: number) =>
    io.out_is_terminal ? wrapLines(text, io.width - indent) : [text];
  const assertionLines = (one: AssertionResult) => {
    const must = one.required ? ', required' : '';
    const text = `${labelOf(one)} (${one.score.toFixed(2)}${must}): ${atMost(one.reason)}`;
    const [first = '', ...rest] = lines(text, INDENT.length * 2);
    return [
      `${INDENT}${mark(one.verdict)}  ${first}`,
      ...rest.map((line) => `${INDENT}${INDENT}${line}`),
    ];
  };
  return (row: EvalRow, name: string): string => {
    const verdict = row.verdict === 'pass' ? colour.green('pass') : colour.red('FAIL');
    const where = placeOf(row) ?? row.run_id ?? '';
    const head = `${verdict}  ${oneLine(name, ID_COLUMNS_MAX).padEnd(width)}  ${scoreText(row)}  ${colour.dim(oneLine(where, 100))}`;
    const error = row.error === null ? [] : lines(atMost(row.error), INDENT.length);
    const shown = verbose ? row.assertions : failedOf(row.assertions);
    const below = [...error.map((line) => `${INDENT}${line}`), ...shown.flatMap(assertionLines)];
    return `${[head.trimEnd(), ...below].join('\n')}\n`;
  };
}

/** `$0.42 (2 of 5 runs unknown)` */
function totalText(
  { sum, unknown }: EvalTotal,
  runs: number,
  text: (sum: number) => string,
): string {
  if (sum === null) return 'unknown';
  return unknown === 0 ? text(sum) : `${text(sum)} (${unknown} of ${runs} runs unknown)`;
}

function figuresText({ runs, cost_usd, tokens, duration_ms }: EvalTotals): string {
  const figures = [
    plural(runs, 'run'),
    `cost ${totalText(cost_usd, runs, costText)}`,
    `tokens ${totalText(tokens, runs, countText)}`,
    `agent time ${totalText(duration_ms, runs, durationText)}`,
  ];
  return figures.join(', ');
}

const countsText = ({ tests, passed, failed }: EvalReport) =>
  `${plural(tests.length, 'test')}: ${passed} passed, ${failed} failed`;

export function totalsText({ report, stopped }: EvalResult, io: Io): string {
  const colour = createColours(io.colour);
  const repeated = report.tests
    .filter(({ runs }) => runs.length > 1)
    .map((test) => {
      const good = test.runs.filter(({ verdict }) => verdict === 'pass').length;
      const verdict = test.verdict === 'pass' ? colour.green('pass') : colour.red('FAIL');
      return `${verdict}  ${oneLine(test.id, ID_COLUMNS_MAX)}: ${good} of ${test.runs.length} runs passed, mean score ${scoreText(test)}`;
    });
  const counts = `${countsText(report)}${stopped ? '; stopped before the others' : ''}`;
  const { totals } = report;
  const lines = [...repeated, counts, ...(totals.runs === 0 ? [] : [figuresText(totals)])];
  return `${lines.join('\n')}\n`;
}

const linesOf = ({ assertions, error }: TestSummary): string[] => [
  ...(error === null ? [] : [error]),
  ...failedOf(assertions).map((one) => `${labelOf(one)}: ${one.reason}`),
];

const problemOf = (test: TestSummary): JunitCase['problem'] => {
  if (test.verdict === 'pass') return null;
  const lines = linesOf(test);
  const score = `score ${scoreText(test)}`;
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
      text: `${countsText(report)}. ${figuresText(totals)}.`,
      table: { head: ['', 'test', 'score', 'pass rate', 'cost', 'duration', 'why'], rows },
    },
  ]);
}
