/**
 * The view of a run as lines: pure functions of state, position and size.
 * Contract: exactly `rows` lines, each at most `cols` columns; all foreign text is escaped.
 */

import { callsText, costText, countText, durationText, plural } from '../lib/figures.ts';
import { columns } from '../lib/terminal-text.ts';
import { tokensUsed } from '../model/run-fold.ts';
import { pageText, titleOf } from './detail.ts';
import type { Row } from './row.ts';
import { elapsedText, type RowStyle, rowLines, shapeOf } from './rows.ts';
import {
  cursorOf,
  divide,
  type OpenPage,
  pageLines,
  pageRoom,
  type RunScreen,
  rowCols,
} from './run-view.ts';
import { lastId, rowAt, type TuiState } from './state.ts';
import {
  cut,
  ends,
  fill,
  GUTTER_COLS,
  gutterOf,
  markOf,
  searchOf,
  separatorOf,
  spinnerOf,
  type TuiStyle,
} from './style.ts';
import { linesFrom, windowOf } from './window.ts';

export interface Frame extends RunScreen {
  now_ms: number;
  /** Path prefixes that are shown as `~`. */
  home: string | null;
  /** Whether the record of a past run is still being read. */
  loading: boolean;
  /** The effect of `q` once the run has ended. */
  leave: 'quit' | 'back';
}

export function layout(frame: Frame, style: TuiStyle): string[] {
  const { size } = frame;
  const { head, foot } = divide(size);
  const lines = [headerLine(frame, style), promptLine(frame, style)].slice(0, head);
  lines.push(...bodyLines(frame, style));
  while (lines.length < size.rows - foot) lines.push('');
  const below = [statusLine(frame, style), footerLine(frame, style)];
  lines.push(...below.slice(2 - foot));
  return lines.slice(0, size.rows);
}

function bodyLines(frame: Frame, style: TuiStyle): string[] {
  const { view, size } = frame;
  const { split, body, list } = divide(size);
  if (body === 0) return [];
  if (!split)
    return view.page === null ? listLines(frame, style) : drawnPage(frame, view.page, style);
  const left = listLines(frame, style);
  const right = drawnPage(frame, view.page ?? besidePage(frame), style);
  const line = style.colour.dim(style.unicode ? '│' : '|');
  return Array.from({ length: body }, (_, at) => {
    const text = left[at] ?? '';
    const gap = ' '.repeat(Math.max(0, list - columns(text)));
    return `${text}${gap} ${line} ${right[at] ?? ''}`;
  });
}

const rowStyleOf = (frame: Frame, cols: number, style: TuiStyle): RowStyle => ({
  ...style,
  cols,
  now_ms: frame.now_ms,
  search: searchOf(frame.view.search.text),
});

function listLines(frame: Frame, style: TuiStyle): string[] {
  const { state, view, size } = frame;
  const cols = rowCols(size);
  const shape = shapeOf(state, cols);
  const room = divide(size).body;
  const { top, cursor } = windowOf(shape, view, room);
  const row_style = rowStyleOf(frame, cols, style);
  const draw = (id: number) => rowLines(rowAt(state, id) as Row, row_style);
  if (size.cols <= GUTTER_COLS * 2)
    return linesFrom(shape, top, room, draw).map(({ text }) => text);
  return linesFrom(shape, top, room, draw).map(
    ({ row, line, text }) => gutterOf(row === cursor.row && line === cursor.line, style) + text,
  );
}

/** The page beside the list: the selected row, or the last call while following. */
function besidePage(frame: Frame): OpenPage {
  const { state, view } = frame;
  let { row } = cursorOf(frame);
  if (view.cursor === 'end') {
    const near = Math.max(state.firstId, lastId(state) - 200);
    for (let id = lastId(state); id >= near; id--) {
      if (rowAt(state, id)?.kind !== 'call') continue;
      row = id;
      break;
    }
  }
  return { kind: 'detail', row, top: 0, found: null };
}

function drawnPage(frame: Frame, page: OpenPage, style: TuiStyle): string[] {
  const { size, state } = frame;
  const cols = divide(size).page;
  const row_style = rowStyleOf(frame, cols, style);
  const row = rowAt(state, page.row);
  if (page.kind === 'detail' && row === undefined && state.rows.length === 0) return [];
  const room = pageRoom(size);
  const lines = pageLines(frame, page);
  const top = Math.min(page.top, Math.max(0, lines.length - room));
  const title =
    page.kind === 'help' || row === undefined ? style.colour.bold('keys') : titleOf(row, row_style);
  const shown = lines.slice(top, top + room).map((line) => pageText(line, row_style));
  return [cols < 10 ? '' : title, ...shown];
}

function headerLine({ state, size, now_ms, live, loading }: Frame, style: TuiStyle): string {
  const { run } = state;
  const end = run.finished?.data ?? null;
  const name = [state.agent, run.agent_version].filter((part) => part !== null).join(' ');
  const tokens = tokensUsed(run.usage.tokens);
  const { cost_usd } = run.usage;
  const took = end?.duration_ms ?? null;
  const elapsed = took === null ? elapsedText(now_ms - state.began_ms) : durationText(took);
  const running = loading ? 'loading' : live ? 'running' : 'no end recorded';
  const facts = [
    `${end?.exit_reason ?? running} ${elapsed}`,
    callsText(state.open_calls.count, state.failed, state.denied),
    tokens === null ? 'tokens unknown' : `${countText(tokens)} tokens`,
    cost_usd === null ? 'cost unknown' : costText(cost_usd),
    `step ${run.step}`,
    name,
    run.names.model ?? 'model unknown',
  ];
  const text = `${stateSign(state, { now_ms, live }, style)} ${facts.join(separatorOf(style))}`;
  return style.colour.inverse(fill(` ${cut(text, size.cols - 2, style)}`, size.cols));
}

function stateSign(
  { run }: TuiState,
  { now_ms, live }: { now_ms: number; live: boolean },
  { unicode }: TuiStyle,
): string {
  const end = run.finished?.data;
  if (end === undefined) return live ? spinnerOf(now_ms, unicode) : '?';
  const status = end.ok ? 'ok' : end.exit_reason === 'cancelled' ? 'cancelled' : 'error';
  return markOf(status, unicode).sign;
}

function promptLine({ state, size, home }: Frame, style: TuiStyle): string {
  const { run } = state;
  const { cwd } = run.names;
  const prompt = run.started?.data.prompt ?? '';
  const folder = cwd === null ? '' : cut(homely(cwd, home), size.cols >> 1, style);
  return style.colour.dim(ends(prompt, folder, size.cols, style));
}

const homely = (path: string, home: string | null) =>
  home !== null && home !== '' && `${path}/`.startsWith(`${home}/`)
    ? `~${path.slice(home.length)}`
    : path;

/** The activity of a run, or the error that ended it. */
function statusLine(frame: Frame, style: TuiStyle): string {
  const { state, live, now_ms, size } = frame;
  const { colour } = style;
  const end = state.run.finished?.data;
  const line = (text: string) => fill(` ${cut(text, size.cols - 2, style)}`, size.cols);
  if (state.firstId > 0 && frame.view.cursor !== 'end')
    return colour.yellow(line(`The view no longer has the first ${state.firstId} rows.`));
  if (end?.error) return colour.red(line(end.error));
  if (end !== undefined || !live) return '';
  const sign = spinnerOf(now_ms, style.unicode);
  return colour.cyan(line(`${sign} ${activity(state, now_ms)}`));
}

const WRITING_MS = 1_000;

function activity(state: TuiState, now_ms: number): string {
  const [call] = state.open_calls.values();
  const more = state.open_calls.size - 1;
  if (call !== undefined) {
    const rest = more > 0 ? ` and ${plural(more, 'other call')}` : '';
    return `${call.tool} ${elapsedText(now_ms - call.since_ms)}${rest}`;
  }
  if (state.run.started === null) return 'starting';
  const quiet = now_ms - state.quiet_ms;
  const writing = state.rows.at(-1)?.kind === 'text' && quiet < WRITING_MS;
  return writing ? 'writing' : `thinking ${elapsedText(quiet)}`;
}

function footerLine(frame: Frame, style: TuiStyle): string {
  const { view, size } = frame;
  const { colour } = style;
  if (view.asking) return colour.yellow(fill(' Cancel the run? y/n', size.cols));
  if (view.search.typing)
    return fill(` /${cut(view.search.text, size.cols - 3, style)}_`, size.cols);
  const left = hints(frame).join(separatorOf(style));
  return colour.dim(ends(left, whereText(frame), size.cols, style));
}

function hints({ view, live, leave }: Frame): string[] {
  if (view.cancelling && live) return ['cancelling', 'Ctrl-C kills the agent'];
  if (view.page !== null) return ['Esc back', 'j/k scroll', '/ search', '? keys'];
  return [
    `q ${live ? 'leave' : leave}`,
    'Enter open',
    '/ search',
    '? keys',
    ...(live ? ['Ctrl-C cancel'] : []),
  ];
}

function whereText(frame: Frame): string {
  const { view, state, live, size } = frame;
  if (view.page !== null) {
    const { length } = pageLines(frame, view.page);
    return `line ${Math.min(length, view.page.top + pageRoom(size))} of ${length}`;
  }
  if (view.cursor === 'end') return live ? 'following' : 'end';
  const last = lastId(state);
  return `row ${Math.min(Math.max(view.cursor.row, state.firstId), last) + 1} of ${last + 1}`;
}
