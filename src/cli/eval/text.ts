/** The results of an eval for people: a line per result, and the totals. */
import type { EvalResult } from '../../app/evals/eval.ts';
import type {
  EvalReport,
  EvalRow,
  EvalTotal,
  EvalTotals,
  TestSummary,
} from '../../evals/results.ts';
import { reaches } from '../../evals/score.ts';
import type { AssertionResult, EvalFile, Evidence, Verdict } from '../../evals/types.ts';
import { createColours } from '../../lib/colours.ts';
import { costText, countText, durationText, plural } from '../../lib/figures.ts';
import { oneLine, wrapLines } from '../../lib/terminal-text.ts';
import type { Io } from '../command.ts';
import { repeatLines } from './repeats.ts';

const ID_COLUMNS_MAX = 40;
/** Reasons are wrapped, not cut. A longer one quotes something. */
const REASON_CHARS_MAX = 600;
/** Facts listed for an assertion. */
const FACTS_MAX = 8;
/** With more tests than this, those that failed are listed again at the end. */
const SCREEN_TESTS = 10;
const INDENT = '      ';

export const failedOf = (assertions: readonly AssertionResult[]) =>
  assertions.filter(({ verdict }) => verdict === 'fail');
export const labelOf = ({ type, name }: AssertionResult) =>
  name === type ? type : `${name} (${type})`;

type Placed = Pick<EvalRow, 'transcript' | 'transcript_line'>;

/** File and line of a transcript, or the id of a recorded run. */
export function placeOf({ transcript, transcript_line }: Placed, run_id: string | null = null) {
  if (transcript === null || transcript === run_id) return transcript;
  return `${transcript}:${transcript_line}`;
}

const atMost = (text: string) => oneLine(text, REASON_CHARS_MAX);

/** `0.91`, or `0.91 < 0.95` if the score is the reason of a failure. */
export function scoreText({ verdict, score, threshold, error }: EvalRow | TestSummary): string {
  const low = verdict === 'fail' && error === null && !reaches(score, threshold);
  return low ? `${score.toFixed(2)} < ${threshold.toFixed(2)}` : score.toFixed(2);
}

/**
 * Failed facts that are listed below their assertion. A single one without details is the reason of the assertion, and
 * not repeated.
 */
function listedFacts({ verdict, evidence }: AssertionResult): Evidence[] {
  const failed = verdict === 'fail' ? evidence.filter(({ passed }) => !passed) : [];
  return failed.length > 1 || failed.some(({ detail }) => detail !== undefined) ? failed : [];
}

const factLines = (facts: readonly Evidence[]): string[] => {
  const lines = facts
    .slice(0, FACTS_MAX)
    .flatMap(({ text, detail }) => [`- ${text}`, ...(detail === undefined ? [] : [`  ${detail}`])]);
  const more = facts.length - FACTS_MAX;
  return more > 0 ? [...lines, `- and ${more} more`] : lines;
};

interface RowTextOptions {
  verbose: boolean;
  /** Runs of each test; null: as in the files. */
  repeat: number | null;
}

/**
 * One line per result, followed by the assertions that failed, even if the test passed; with `verbose`, by all of
 * them.
 */
export function createRowText(
  io: Io,
  files: readonly EvalFile[],
  { verbose, repeat }: RowTextOptions,
) {
  const colour = createColours(io.colour);
  const lengths = files.flatMap(({ tests }) =>
    tests.map((test) => test.id.length + ((repeat ?? test.repeat.count) > 1 ? 3 : 0)),
  );
  const width = Math.min(ID_COLUMNS_MAX, Math.max(0, ...lengths));
  const mark = (verdict: Verdict) =>
    verdict === 'pass' ? colour.green('pass') : colour.red('fail');
  // Logs are searched, so a reason stays on one line there.
  const below = (text: string, indent: string) => {
    const hanging = /^ *(?:- )?/.exec(text)?.[0].length ?? 0;
    const [first = '', ...rest] = io.out_is_terminal
      ? wrapLines(text.trimStart(), io.width - indent.length - hanging)
      : [text.trimStart()];
    const start = text.length - text.trimStart().length;
    return [
      `${indent}${' '.repeat(start)}${first}`,
      ...rest.map((line) => `${indent}${' '.repeat(hanging)}${line}`),
    ];
  };
  const assertionLines = (one: AssertionResult) => {
    const facts = listedFacts(one);
    const [{ text: said = '' } = {}] = facts;
    const reason = facts.length > 0 && one.reason.includes(said) ? '' : `: ${atMost(one.reason)}`;
    const must = one.required ? ', required' : '';
    const indent = `${INDENT}${INDENT}`;
    const [first = '', ...rest] = below(
      `${labelOf(one)} (${one.score.toFixed(2)}${must})${reason}`,
      indent,
    );
    return [
      `${INDENT}${mark(one.verdict)}  ${first.trimStart()}`,
      ...rest,
      ...factLines(facts).flatMap((line) => below(line.slice(0, REASON_CHARS_MAX), indent)),
    ];
  };
  let file = files.length > 1 ? '' : null;
  return (row: EvalRow, name: string): string => {
    const title = file === null || file === row.eval ? [] : [colour.bold(row.eval)];
    if (file !== null) file = row.eval;
    const verdict = row.verdict === 'pass' ? colour.green('pass') : colour.red('FAIL');
    const where = placeOf(row, row.run_id) ?? row.run_id ?? '';
    const head = `${verdict}  ${oneLine(name, ID_COLUMNS_MAX).padEnd(width)}  ${scoreText(row)}  ${colour.dim(oneLine(where, 100))}`;
    const error = row.error === null ? [] : below(atMost(row.error), INDENT);
    const shown = verbose ? row.assertions : failedOf(row.assertions);
    const lines = [...title, head.trimEnd(), ...error, ...shown.flatMap(assertionLines)];
    return `${lines.join('\n')}\n`;
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

export function figuresText({ runs, cost_usd, tokens, duration_ms }: EvalTotals): string {
  const figures = [
    plural(runs, 'run'),
    `cost ${totalText(cost_usd, runs, costText)}`,
    `tokens ${totalText(tokens, runs, countText)}`,
    `agent time ${totalText(duration_ms, runs, durationText)}`,
  ];
  return figures.join(', ');
}

export const countsText = ({ tests, passed, failed }: EvalReport) => [
  `${plural(tests.length, 'test')}: ${passed} passed`,
  `${failed} failed`,
];

/** `took_ms`: from the start of the eval to its end, with graders and waiting. */
export function totalsText({ report, stopped }: EvalResult, took_ms: number, io: Io): string {
  const colour = createColours(io.colour);
  const { totals, tests } = report;
  const verdictOf = ({ verdict }: TestSummary) =>
    verdict === 'pass' ? colour.green('pass') : colour.red('FAIL');
  const several = new Set(tests.map((test) => test.eval)).size > 1;
  const nameOf = (test: TestSummary) =>
    `${several ? `${test.eval}: ` : ''}${oneLine(test.id, ID_COLUMNS_MAX)}`;
  const repeated = tests
    .filter(({ runs }) => runs.length > 1)
    .flatMap((test) => {
      const good = test.runs.filter(({ verdict }) => verdict === 'pass').length;
      return [
        `${verdictOf(test)}  ${nameOf(test)}: ${good} of ${test.runs.length} runs passed, mean score ${scoreText(test)}`,
        ...repeatLines(test, io).map((line) => `${INDENT}${line}`),
      ];
    });
  const failed = tests.filter(({ verdict }) => verdict === 'fail');
  const again =
    tests.length > SCREEN_TESTS && repeated.length === 0
      ? failed.map(
          (test) =>
            `${verdictOf(test)}  ${oneLine(test.id, ID_COLUMNS_MAX)}  ${test.eval}:${test.line}`,
        )
      : [];
  const [passed_text = '', failed_text = ''] = countsText(report);
  const counts = [
    report.failed === 0 && report.passed > 0 ? colour.green(passed_text) : passed_text,
    report.failed === 0 ? failed_text : colour.red(failed_text),
  ];
  const figures_text = `${figuresText(totals)}, total time ${durationText(took_ms)}`;
  const figures = io.out_is_terminal ? wrapLines(figures_text, io.width) : [figures_text];
  const more = stopped ? '; stopped before the others' : '';
  const lines = [
    ...repeated,
    ...again,
    `${counts.join(', ')}${more}`,
    ...(totals.runs === 0 ? [] : figures),
    ...hintLines(failed, io),
  ];
  return `${lines.join('\n')}\n`;
}

/** How to read the first run that failed. */
function hintLines(failed: readonly TestSummary[], io: Io): string[] {
  const runs = failed.flatMap(({ transcript, runs: all }) => {
    const bad = all.find(({ verdict, run_id }) => verdict === 'fail' && run_id !== null);
    return bad === undefined || (transcript !== null && transcript !== bad.run_id) ? [] : [bad];
  });
  const [first] = runs;
  return io.out_is_terminal && first !== undefined
    ? [`To read a run that failed: tacho show ${first.run_id}`]
    : [];
}
