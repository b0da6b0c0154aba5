/** The action of `runs stats`. */
import { catchUpState } from '../../app/runs/catch-up.ts';
import { NO_STATS, type Stats, type StatsRow, statsOf } from '../../app/runs/retention.ts';
import { barText } from '../../lib/bar.ts';
import { createColours } from '../../lib/colours.ts';
import { bytesText, countText, sourcedCost } from '../../lib/figures.ts';
import { columns, forTerminal, tableLines } from '../../lib/terminal-text.ts';
import type { SumKey } from '../../store/index/index-schema.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type Io, print } from '../command.ts';
import { noneListed } from '../none-listed.ts';
import { type RunFilterFlags, runQuery } from '../run-filter.ts';
import { sayTo } from '../state.ts';

export interface StatsFlags extends RunFilterFlags {
  days: number;
  by?: SumKey[];
  json?: true;
}

export async function showStats(state: StateDir | null, flags: StatsFlags, io: Io): Promise<void> {
  const query = await runQuery(state, flags);
  if (state !== null) await catchUpState(state, sayTo(io));
  const { days, by = [] } = flags;
  const stats = state === null ? NO_STATS : await statsOf(state, { days, by, query });
  const none = stats.total.runs === 0 ? await noneListed(state, flags, io) : '';
  await print(io, flags, stats, () => none || statsText(stats, io));
}

/** Each group of rows, by the name of its first column. */
const GROUPS = {
  agent: 'by_agent',
  model: 'by_model',
  project: 'by_project',
  day: 'by_day',
} as const satisfies Record<string, keyof Stats>;

const FIGURES = ['runs', 'ok', 'calls', 'tokens', 'cost', 'size'];

/** Sums of costs and tokens known only for some runs are lower bounds; a note counts those runs. */
function statsText(stats: Stats, io: Io): string {
  const { dim, bold, cyan } = createColours(io.colour);
  const groups = Object.entries(GROUPS)
    .map(([name, key]) => ({ name, rows: stats[key] ?? [] }))
    .filter(({ rows }) => rows.length > 0);
  const all = groups.flatMap(({ name, rows }) => [
    [name, ...FIGURES],
    ...rows.map((row) => cells(row, io)),
  ]);
  const table = tableLines([...all, cells(stats.total, io)], (column) => column > 0);
  const lines: string[] = [];
  const room = io.width - Math.max(...table.map(columns));
  for (const { rows } of groups) {
    const most = Math.max(...rows.map((row) => row.runs));
    lines.push(dim((table.shift() ?? '').toUpperCase()));
    for (const row of rows)
      lines.push(
        `${table.shift()}${rows.length > 1 ? cyan(barText(row.runs / most, room, io.unicode)) : ''}`,
      );
    lines.push('');
  }
  lines.push(bold(table.shift() ?? ''));
  return `${lines.join('\n')}\n${dim(notes(stats.total))}`;
}

function notes({ runs, cost_known_runs, tokens_known_runs }: StatsRow): string {
  const lines = [
    ['cost', cost_known_runs],
    ['tokens', tokens_known_runs],
  ] as const;
  return lines
    .filter(([, known]) => known < runs)
    .map(([name, known]) => `${name}: known for ${known} of ${runs} runs\n`)
    .join('');
}

/** A sum with a computed part is marked as computed. */
const costIn = ({ cost_computed_runs }: StatsRow, usd: number) =>
  sourcedCost(usd, cost_computed_runs > 0 ? 'computed' : 'agent');

function cells(row: StatsRow, { unicode }: Io): string[] {
  const sign = unicode ? '≥' : '>=';
  const atLeast = (known: number, text: string) => (known < row.runs ? `${sign} ${text}` : text);
  return [
    forTerminal(row.name),
    String(row.runs),
    `${Math.round((row.ok / row.runs) * 100)}%`,
    countText(row.tool_calls),
    row.tokens === null ? '-' : atLeast(row.tokens_known_runs, countText(row.tokens)),
    row.cost === null ? '-' : atLeast(row.cost_known_runs, costIn(row, row.cost)),
    bytesText(row.bytes),
  ];
}
