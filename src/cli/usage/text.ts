/** A usage report for people: a table with bars, its total, and whatever is unknown in it. */
import { projectName } from '../../app/runs/projects.ts';
import { barText } from '../../lib/bar.ts';
import { countText, plural } from '../../lib/figures.ts';
import { fittingColumns } from '../../lib/fitting-columns.ts';
import { localMinute } from '../../lib/local-time.ts';
import { columns, oneLine, tableLines } from '../../lib/terminal-text.ts';
import { ellipsisOf, type HumanStyle } from '../../projections/human-parts.ts';
import { mondayOf } from '../../projections/usage/periods.ts';
import type { UsageGroup, UsageReport, UsageSums } from '../../projections/usage/usage-report.ts';
import { amountText, decimalsOf, unknownPart } from './amounts.ts';

export interface UsageStyle extends HumanStyle {
  /** Columns of the terminal. Null for a pipe, where nothing is cut. */
  columns: number | null;
  /** The file for the user's own prices. */
  prices_file: string;
}

/** A line of the table. The total has no keys. */
type Line = UsageSums & { keys: UsageGroup['keys'] | null };

interface Column {
  head: string;
  cell(line: Line): string;
  /** Aligned to the right. */
  figure?: true;
  rank?: number;
}

const GAP = '  ';
/** Width from which both kinds of cached tokens have a column. */
const WIDE_FROM = 110;
const NAME_MOST = 26;
const BAR_LEAST = 6;

const known = (count: number | null) => (count === null ? '-' : countText(count));
const sum = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

export function usageText(report: UsageReport, style: UsageStyle): string {
  const { groups, total } = report;
  const lines: Line[] = [...groups, { ...total, keys: null }];
  const all = [...keyColumns(report, style), ...figureColumns(lines, style)];
  const widths = new Map(
    all.map((column) => [
      column,
      Math.max(columns(column.head), ...lines.map((line) => columns(column.cell(line)))),
    ]),
  );
  const used = (kept: readonly Column[]) =>
    kept.reduce((width, column) => width + (widths.get(column) ?? 0) + GAP.length, -GAP.length);
  const room = style.columns ?? Number.POSITIVE_INFINITY;
  const kept = fittingColumns(all, (some) => used(some) <= room);
  const padded = (column: Column, text: string) => {
    const blank = ' '.repeat(Math.max(0, (widths.get(column) ?? 0) - columns(text)));
    return column.figure ? blank + text : text + blank;
  };
  const textOf = (of: (column: Column) => string) =>
    kept.map((column) => padded(column, of(column))).join(GAP);
  const { dim, bold, cyan } = style.colour;
  const bars = barsOf(groups, room - used(kept), style);
  const head = `${textOf(({ head }) => head)}${bars.head}`;
  const table = lines.map((line, at) => {
    const text = textOf((column) => column.cell(line));
    const bar = bars.of[at] ?? '';
    if (line.keys === null) return bold(text.trimEnd());
    return bar === '' ? text.trimEnd() : text + cyan(bar);
  });
  const notes = notesOf(report).map((note) => dim(note));
  return `${[dim(head.trimEnd()), ...table, '', ...notes, ...unpricedLines(report, style)].join('\n')}\n`;
}

/** `from 2026-10-20 on`, `from 2026-11-01 to 2026-11-18 12:00`. Empty: all times. The end is the last minute. */
export function rangeText({ since_ms, until_ms }: Pick<UsageReport, 'since_ms' | 'until_ms'>) {
  const from = since_ms === null ? '' : `from ${localMinute(since_ms)?.replace(' 00:00', '')}`;
  if (until_ms === null) return from === '' ? '' : `${from} on`;
  return `${from} to ${localMinute(until_ms - 1)?.replace(' 23:59', '')}`.trim();
}

function notesOf(report: UsageReport): string[] {
  const { groups, total, without_time_runs } = report;
  const elsewhere = groups.some(({ cost_elsewhere_runs }) => cost_elsewhere_runs > 0);
  const { runs, tokens_unknown_runs, unfinished, cost_computed } = total;
  const range = rangeText(report);
  const notes = [
    range === '' ? '' : `Usage ${range}, in local time.`,
    elsewhere ? 'Some agents report one cost per run: it is in the line of its last report.' : '',
    cost_computed > 0 ? 'Costs with ~ are computed from prices, at least in part.' : '',
    tokens_unknown_runs > 0
      ? `Tokens are known for ${runs - tokens_unknown_runs} of ${runs} runs.`
      : '',
    unfinished > 0 ? `OK does not count ${plural(unfinished, 'run')} without an end.` : '',
    without_time_runs > 0
      ? `${plural(without_time_runs, 'run')} with usage at an unknown time: not included.`
      : '',
  ];
  return notes.filter((note) => note !== '');
}

const MODELS_SHOWN = 10;

/** Models without a price, and how to add one. */
function unpricedLines({ unpriced }: UsageReport, { prices_file }: UsageStyle): string[] {
  const named = unpriced.filter(({ model, tokens }) => model !== null && tokens);
  const shown = named.slice(0, MODELS_SHOWN);
  const [first] = shown;
  if (first === undefined) return [];
  const nameOf = (model: string | null) => oneLine(model ?? '', 40);
  const rows = shown.map(({ model, runs, tokens }) => [
    `  ${nameOf(model)}`,
    plural(runs, 'run'),
    `${known(tokens)} tokens`,
  ]);
  const more = named.length - shown.length;
  return [
    'Models without a price:',
    ...tableLines(rows, (column) => column > 0),
    ...(more > 0 ? [`  and ${more} more: see --json`] : []),
    `To add prices, write to ${oneLine(prices_file, 200)}:`,
    '  prices: # dollars per million tokens',
    `    ${JSON.stringify(nameOf(first.model))}: { input: 1.25, output: 10, cache_read: 0.125 }`,
  ];
}

/** One column per key. The cells of periods keep their width. */
function keyColumns({ by, groups }: UsageReport, style: UsageStyle): Column[] {
  const most = style.columns === null ? Number.POSITIVE_INFINITY : NAME_MOST;
  return by.map((name, at) => {
    const nameOf = namesOf(name, groups);
    const cell = ({ keys }: Line) => {
      if (keys === null) return at === 0 ? 'total' : '';
      const value = keys[name] ?? null;
      return value === null ? unknownOf(name) : oneLine(nameOf(value), most, ellipsisOf(style));
    };
    return { head: name.replace(/^label:/, '').toUpperCase(), cell };
  });
}

const unknownOf = (name: string) => (name.startsWith('label:') ? '-' : 'unknown');

/** How the values of a key are shown. A project has its name, or its path if others have the same name. */
function namesOf(name: string, groups: readonly UsageGroup[]): (value: string) => string {
  if (name === 'week') return (week) => `${week} from ${mondayOf(week)}`;
  if (name !== 'project') return (value) => value;
  const paths = new Set(groups.map(({ keys }) => keys.project ?? ''));
  const shared = [...Map.groupBy(paths, projectName)].filter(([, some]) => some.length > 1);
  const ambiguous = new Set(shared.map(([short]) => short));
  return (path) => (ambiguous.has(projectName(path)) ? path : projectName(path));
}

function figureColumns(lines: readonly Line[], style: UsageStyle): Column[] {
  const wide = style.columns === null || style.columns >= WIDE_FROM;
  const cached: Column[] = wide
    ? [
        { head: 'CACHE READ', cell: ({ tokens }) => known(tokens.cache_read), rank: 4 },
        { head: 'CACHE WRITTEN', cell: ({ tokens }) => known(tokens.cache_write), rank: 3 },
      ]
    : [
        {
          head: 'CACHED',
          cell: ({ tokens }) => known(sum(tokens.cache_read, tokens.cache_write)),
          rank: 4,
        },
      ];
  const figures: Column[] = [
    { head: 'RUNS', cell: ({ runs }) => String(runs), rank: 6 },
    { head: 'OK', cell: ({ success_rate: rate }) => shareText(rate), rank: 5 },
    { head: 'INPUT', cell: ({ tokens }) => known(tokens.input), rank: 7 },
    ...cached,
    { head: 'OUTPUT', cell: ({ tokens }) => known(tokens.output), rank: 8 },
    ...(wide ? [{ head: 'TOKENS', cell: (line: Line) => known(line.tokens_total), rank: 2 }] : []),
  ];
  return [...figures.map((column) => ({ ...column, figure: true as const })), costColumn(lines)];
}

const shareText = (rate: number | null) => (rate === null ? '-' : `${Math.round(rate * 100)}%`);

/** Amounts are aligned at their end, and followed by the number of runs with an unknown cost. */
function costColumn(lines: readonly Line[]): Column {
  const decimals = decimalsOf(lines);
  const amounts = lines.map((line) => columns(amountText(line, decimals)));
  const width = Math.max('COST'.length, ...amounts);
  return {
    head: 'COST'.padStart(width),
    cell: (line) => amountText(line, decimals).padStart(width) + unknownPart(line),
  };
}

/** Bars show the costs, or the tokens if no cost is known. */
function barsOf(groups: readonly UsageGroup[], room: number, { unicode }: UsageStyle) {
  const costs = groups.some(({ cost }) => (cost ?? 0) > 0);
  const values = groups.map(({ cost, tokens_total }) => (costs ? cost : tokens_total) ?? 0);
  const most = Math.max(...values, 0);
  if (groups.length < 2 || room < BAR_LEAST || most === 0) return { head: '', of: [] };
  const head = room < 12 ? '' : `${GAP}BY ${costs ? 'COST' : 'TOKENS'}`;
  return { head, of: values.map((value) => barText(value / most, room, unicode)) };
}
