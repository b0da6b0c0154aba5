/** Runs as lines of a table: one line per run at every width. In a pipe every cell is whole. */
import { projectName } from '../../app/runs/projects.ts';
import type { StatedRun } from '../../app/runs/unfinished.ts';
import { durationText, sourcedCost } from '../../lib/figures.ts';
import { fittingColumns } from '../../lib/fitting-columns.ts';
import { shortRunIds } from '../../lib/ids.ts';
import { localMinute, localZone, shortTime } from '../../lib/local-time.ts';
import { columns, oneLine } from '../../lib/terminal-text.ts';
import { ellipsisOf, type HumanStyle } from '../../projections/human-parts.ts';

interface Listed {
  row: StatedRun;
  id: string;
}

interface Column {
  head: string;
  cell(listed: Listed): string;
  /** Aligned to the right. */
  figure?: true;
  /** The colour of a cell. */
  paint?(row: StatedRun): 'red' | 'green' | 'yellow' | 'cyan' | 'dim';
  /** Omitted if the line is too narrow, the lowest first. A column without a rank always stays. */
  rank?: number;
  /** Whether the column is useful for these rows. */
  useful?(rows: readonly StatedRun[]): boolean;
  /** Maximum width on a terminal. */
  most?: number;
}

export interface ListStyle extends HumanStyle {
  /** Columns of the terminal. Null for a pipe, where nothing is cut. */
  columns: number | null;
  now_ms: number;
}

/** Width from which a line has room for the year. */
const LONG_TIME_FROM = 110;
/** Columns kept free for prompts, unless all of them are shorter. */
const PROMPT_LEAST = 16;
const GAP = '  ';

const known = <T>(value: T | null, text: (value: T) => string) =>
  value === null ? '-' : text(value);
const STATE_PAINT = {
  working: 'cyan',
  waiting: 'yellow',
  stuck: 'red',
  gone: 'red',
  unknown: 'dim',
} as const;
const several = (values: readonly (string | null)[]) => new Set(values).size > 1;

/** The state of an unfinished run, or how it ended. */
const statusOf = ({ unfinished, exit_reason }: StatedRun) => unfinished?.state ?? exit_reason;

function statusPaint({ success, exit_reason, unfinished }: StatedRun) {
  if (unfinished !== null) return STATE_PAINT[unfinished.state];
  return success ? 'green' : exit_reason === 'cancelled' ? 'yellow' : 'red';
}

function columnsOf({ columns: width, now_ms }: ListStyle): Column[] {
  const long = width === null || width >= LONG_TIME_FROM;
  const time = (at_ms: number | null) => (long ? localMinute(at_ms) : shortTime(at_ms, now_ms));
  return [
    { head: 'RUN', cell: ({ id }) => id, paint: () => 'cyan' },
    {
      head: `TIME ${localZone(now_ms)}`,
      cell: ({ row }) => time(row.started_ms) ?? '-',
      paint: () => 'dim',
      rank: 9,
    },
    { head: 'AGENT', cell: ({ row }) => row.agent, most: 12, rank: 8 },
    {
      head: 'STATUS',
      cell: ({ row }) => statusOf(row),
      paint: statusPaint,
      ...(!long && { most: 'provider_error'.length }),
    },
    { head: 'CALLS', cell: ({ row }) => String(row.tool_calls), figure: true, rank: 5 },
    {
      head: 'FAILED',
      cell: ({ row }) => known(row.failed_calls, String),
      figure: true,
      paint: ({ failed_calls }) => (failed_calls ? 'red' : 'dim'),
      rank: 1,
      useful: (rows) => rows.some((row) => row.failed_calls),
    },
    {
      head: 'DENIED',
      cell: ({ row }) => known(row.denied_calls, String),
      figure: true,
      paint: ({ denied_calls }) => (denied_calls ? 'yellow' : 'dim'),
      rank: 2,
      useful: (rows) => rows.some((row) => row.denied_calls),
    },
    { head: 'TOOK', cell: ({ row }) => took(row), figure: true, rank: 3 },
    {
      head: 'COST',
      cell: ({ row }) => known(row.cost, (usd) => sourcedCost(usd, row.cost_source)),
      figure: true,
      rank: 6,
      useful: (rows) => long || rows.some((row) => row.cost !== null),
    },
    {
      head: 'MODEL',
      cell: ({ row }) => known(row.model, String),
      rank: 4,
      most: 24,
      useful: (rows) => rows.some((row) => row.model !== null),
    },
    {
      head: 'PROJECT',
      cell: ({ row }) => known(row.project, projectName),
      rank: 7,
      most: long ? 24 : 10,
      useful: (rows) =>
        rows.some((row) => row.project !== null) &&
        (long || several(rows.map((row) => row.project))),
    },
  ];
}

function took({ started_ms, finished_ms }: StatedRun): string {
  const ms = started_ms === null || finished_ms === null ? -1 : finished_ms - started_ms;
  return ms < 0 ? '-' : durationText(ms);
}

/** Rows that determine the widths for all. In later rows a longer cell is cut, or in a pipe shifts its line. */
const PAGE = 200;

/** The header and the lines of the rows, one by one. Nothing if there are no rows. */
export function* listLines(rows: Iterable<StatedRun>, style: ListStyle): Generator<string, void> {
  let table: Table | null = null;
  for (const page of pagesOf(rows)) {
    if (table === null) {
      table = new Table(page, style);
      yield table.head();
    }
    const ids = shortRunIds(page.map(({ run_id }) => run_id));
    for (const [at, row] of page.entries()) yield table.line({ row, id: ids[at] as string });
  }
}

function* pagesOf(rows: Iterable<StatedRun>): Generator<StatedRun[], void> {
  let page: StatedRun[] = [];
  for (const row of rows) {
    page.push(row);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

class Table {
  readonly #style: ListStyle;
  readonly #columns: Column[];
  readonly #widths: number[];

  constructor(rows: readonly StatedRun[], style: ListStyle) {
    this.#style = style;
    const ids = shortRunIds(rows.map(({ run_id }) => run_id));
    const listed = rows.map((row, at) => ({ row, id: ids[at] as string }));
    const shown = columnsOf(style).filter(({ useful }) => useful?.(rows) ?? true);
    const widthOf = (column: Column) =>
      Math.max(columns(column.head), ...listed.map((one) => columns(this.#cell(column, one))));
    const widths = new Map(shown.map((column) => [column, widthOf(column)]));
    const used = (kept: readonly Column[]) =>
      kept.reduce((sum, column) => sum + (widths.get(column) ?? 0) + GAP.length, 0);
    const room = style.columns ?? Number.POSITIVE_INFINITY;
    const prompts = rows.map(({ prompt }) => columns(oneLine(prompt ?? '', PROMPT_LEAST)));
    const least = Math.max('PROMPT'.length, ...prompts);
    const fits = (kept: readonly Column[]) => used(kept) + least <= room;
    this.#columns = fittingColumns(shown, fits);
    this.#widths = this.#columns.map((column) => widths.get(column) ?? 0);
  }

  head(): string {
    const cells = this.#columns.map(({ head, figure }, at) => this.#padded(head, at, figure));
    return `${this.#style.colour.dim([...cells, 'PROMPT'].join(GAP))}\n`;
  }

  line(listed: Listed): string {
    const { colour, columns: width } = this.#style;
    const texts = this.#columns.map((column, at) => {
      const cell = this.#padded(this.#cell(column, listed), at, column.figure);
      const paint = column.paint?.(listed.row);
      return { cell, shown: paint === undefined ? cell : colour[paint](cell) };
    });
    const used = texts.reduce((sum, { cell }) => sum + columns(cell) + GAP.length, 0);
    const room = width === null ? Number.POSITIVE_INFINITY : Math.max(1, width - used);
    const prompt = oneLine(listed.row.prompt ?? '', room, ellipsisOf(this.#style));
    return `${[...texts.map(({ shown }) => shown), prompt].join(GAP).trimEnd()}\n`;
  }

  #cell({ cell, most }: Column, listed: Listed): string {
    const { columns: width } = this.#style;
    const room = width === null ? Number.POSITIVE_INFINITY : (most ?? width);
    return oneLine(cell(listed), room, ellipsisOf(this.#style));
  }

  #padded(text: string, at: number, figure?: true): string {
    const width = this.#widths[at] ?? 0;
    const fits =
      this.#style.columns === null ? text : oneLine(text, width, ellipsisOf(this.#style));
    const blank = ' '.repeat(Math.max(0, width - columns(fits)));
    return figure ? blank + fits : fits + blank;
  }
}
