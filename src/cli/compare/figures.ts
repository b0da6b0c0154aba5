/** The figures of compared runs as a table: a column per run, or a row per run if there are many. */
import {
  costText,
  countText,
  durationText,
  knownText,
  plural,
  sourcedCost,
} from '../../lib/figures.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { oneLine, tableLines } from '../../lib/terminal-text.ts';
import type { ComparedRun, RunComparison, Spread } from '../../model/comparison.ts';
import type { HumanStyle } from '../../projections/human-parts.ts';

/** More runs are rows: columns would be too narrow for their values. */
const COLUMNS_MAX = 4;
const FILES_SHOWN = 20;
const CELL_COLUMNS_MAX = 30;
const NAME_COLUMNS = 8;
const GAP = 2;

/** The names of the runs in texts. */
export const namesOf = ({ runs }: RunComparison) => shortRunIds(runs.map(({ run_id }) => run_id));

const callsText = ({ calls, failed_calls, denied_calls }: ComparedRun) =>
  [
    String(calls),
    failed_calls > 0 ? `${failed_calls} failed` : '',
    denied_calls > 0 ? `${denied_calls} denied` : '',
  ]
    .filter((text) => text !== '')
    .join(', ');

const costOf = ({ cost_usd, cost_source }: ComparedRun) =>
  knownText(cost_usd, (usd) => sourcedCost(usd, cost_source));

const resultOf = ({ finished, exit_reason }: ComparedRun) =>
  finished ? exit_reason : 'not finished';

const ROWS: readonly (readonly [string, (run: ComparedRun) => string])[] = [
  ['agent', ({ agent }) => agent],
  ['model', ({ model }) => model ?? 'unknown'],
  ['started', ({ started_ms }) => localMinute(started_ms) ?? 'unknown'],
  ['result', resultOf],
  ['record', ({ completeness }) => completeness.grade],
  ['cost', costOf],
  ['tokens', ({ tokens }) => knownText(tokens, countText)],
  ['time', ({ duration_ms }) => knownText(duration_ms, durationText)],
  ['steps', ({ steps }) => String(steps)],
  ['calls', callsText],
  ['files', ({ files }) => `${files.length} changed`],
];

/** Whether the run is the medoid. */
const starOf = ({ medoid }: RunComparison, run: number) => (medoid === run ? '*' : '');

export function figureLines(comparison: RunComparison, style: HumanStyle): string[] {
  const { runs } = comparison;
  return runs.length <= COLUMNS_MAX ? inColumns(comparison, style) : inRows(comparison);
}

/** The room of one run's column. */
const roomOf = (count: number, width: number) =>
  Math.max(10, Math.min(CELL_COLUMNS_MAX, Math.floor((width - NAME_COLUMNS) / count) - GAP));

function inColumns(comparison: RunComparison, { width }: HumanStyle): string[] {
  const { runs } = comparison;
  const room = roomOf(runs.length, Math.min(width, 100));
  const cell = (text: string) => oneLine(text, room);
  const names = namesOf(comparison).map((name, run) => cell(name + starOf(comparison, run)));
  const rows = ROWS.map(([name, text]) => [name, ...runs.map((run) => cell(text(run)))]);
  return tableLines([['run', ...names], ...rows], () => false);
}

const HEAD = ['run', 'result', 'cost', 'tokens', 'time', 'calls', 'files', 'distance'];
const RESULT_COLUMNS = 17;

function inRows(comparison: RunComparison): string[] {
  const { runs, distances, reference } = comparison;
  const names = namesOf(comparison);
  const rows = runs.map((run, at) => [
    `${at + 1} ${names[at]}${starOf(comparison, at)}`,
    oneLine(resultOf(run), RESULT_COLUMNS),
    costOf(run),
    knownText(run.tokens, countText),
    knownText(run.duration_ms, durationText),
    String(run.calls),
    String(run.files.length),
    (distances[reference]?.[at] ?? 0).toFixed(2),
  ]);
  return tableLines([HEAD, ...rows], (at) => at >= 2);
}

const OPERATIONS = { created: 'created', modified: 'modified', deleted: 'deleted' } as const;

/** Changed files that not all runs changed in the same way; with `all`, every one. */
export function fileLines(comparison: RunComparison, all: boolean, style: HumanStyle): string[] {
  const { runs } = comparison;
  const operations = runs.map(
    ({ files }) => new Map(files.map(({ path, operation }) => [path, OPERATIONS[operation]])),
  );
  const paths = [...new Set(operations.flatMap((files) => [...files.keys()]))].sort();
  const differ = paths.filter(
    (path) => all || new Set(operations.map((files) => files.get(path))).size > 1,
  );
  if (differ.length === 0) return [];
  const cell = 'unchanged'.length;
  const room = Math.max(20, Math.min(style.width, 100) - runs.length * (cell + GAP) - GAP);
  const few = runs.length <= COLUMNS_MAX;
  const rows = differ.slice(0, FILES_SHOWN).map((path) => {
    const changes = operations.map((files) => files.get(path) ?? '-');
    if (few) return [oneLine(path, room), ...changes];
    const counts = Map.groupBy(changes, (change) => change);
    const words = [...counts].map(
      ([change, some]) => `${change === '-' ? 'unchanged' : change} ${some.length}`,
    );
    return [oneLine(path, 40), words.join(', ')];
  });
  const head = few
    ? ['file', ...namesOf(comparison).map((name) => oneLine(name, cell + 1))]
    : ['file', 'runs'];
  const more = differ.length - rows.length;
  return [
    ...tableLines([head, ...rows], () => false),
    ...(more > 0 ? [`and ${plural(more, 'more file')}: see --json`] : []),
  ];
}

const SPREAD_HEAD = ['', 'min', '25 %', 'median', '75 %', 'max', 'unknown'];

/** The distribution of each figure. */
export function spreadLines({ spread }: RunComparison): string[] {
  const row = (name: string, given: Spread, text: (figure: number) => string) => {
    const { min, q1, median, q3, max, unknown } = given;
    const figures = [min, q1, median, q3, max].map((figure) => knownText(figure, text));
    return [name, ...figures, unknown === 0 ? '' : plural(unknown, 'run')];
  };
  const rows = [
    row('cost', spread.cost_usd, costText),
    row('time', spread.duration_ms, durationText),
    row('tokens', spread.tokens, countText),
    row('calls', spread.calls, (count) => String(Math.round(count * 10) / 10)),
  ];
  return tableLines([SPREAD_HEAD, ...rows], (at) => at > 0);
}
