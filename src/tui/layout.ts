/**
 * The view of a run as lines: pure functions of state, position and size.
 * Contract: exactly `rows` lines, each at most `cols` columns; all foreign text is escaped.
 */
import { columns } from '../lib/terminal-text.ts';
import { runKeys } from './bindings.ts';
import { type PageLine, pageText, titleOf } from './detail.ts';
import { foundTop } from './find.ts';
import { footerLine, statusLine } from './footer.ts';
import type { Frame } from './frame.ts';
import { headerLine, promptLine } from './header.ts';
import { helpLines } from './help.ts';
import { pageLines, pageOf } from './page.ts';
import type { Row } from './row.ts';
import { type RowStyle, rowLines, shapeOf } from './rows.ts';
import { cursorOf, divide, type OpenPage, pageRoom, rowCols } from './run-view.ts';
import { lastId, rowAt } from './state.ts';
import { barOf, GUTTER_COLS, gutterOf, searchOf, type TuiStyle } from './style.ts';
import { linesFrom, windowOf } from './window.ts';

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
  const { size } = frame;
  const { split, body, list } = divide(size);
  if (body === 0) return [];
  const page = frontLines(frame, style);
  if (!split) return page ?? listLines(frame, style);
  const left = listLines(frame, style);
  const right = page ?? drawnPage(frame, besidePage(frame), style);
  const line = style.colour.dim(style.unicode ? '│' : '|');
  return Array.from({ length: body }, (_, at) => {
    const text = left[at] ?? '';
    const gap = ' '.repeat(Math.max(0, list - columns(text)));
    return `${text}${gap} ${line} ${right[at] ?? ''}`;
  });
}

/** The help or the opened page; null if neither is shown. */
function frontLines(frame: Frame, style: TuiStyle): string[] | null {
  const { view, size, place } = frame;
  if (view.help === null) return view.page === null ? null : drawnPage(frame, view.page, style);
  const { page: cols } = divide(size);
  const lines = helpLines(runKeys(place, view.page !== null), cols);
  return drawn(frame, { title: 'keys', lines, top: view.help, cols }, style);
}

const rowStyleOf = (frame: Frame, cols: number, style: TuiStyle): RowStyle => ({
  ...style,
  cols,
  now_ms: frame.now_ms,
  search: searchOf(frame.view.search.text),
});

function listLines(frame: Frame, style: TuiStyle): string[] {
  const { state, view, size, place } = frame;
  const { list, body: room } = divide(size);
  const cols = rowCols(size);
  const shape = shapeOf(state, cols);
  const { top, cursor } = windowOf(shape, view, room);
  const row_style = rowStyleOf(frame, cols, style);
  const draw = (id: number) => rowLines(rowAt(state, id) as Row, row_style);
  if (size.cols <= GUTTER_COLS * 2)
    return linesFrom(shape, top, room, draw).map(({ text }) => text);
  // A bar would flicker down the screen while the view follows the run.
  const bar = view.page === null && !(place === 'live' && view.cursor === 'end');
  return linesFrom(shape, top, room, draw).map(({ row, line, text }) => {
    const selected = row === cursor.row && line === cursor.line;
    const whole = gutterOf(selected, style) + text;
    return selected && bar ? barOf(whole, list, style, row_style.search) : whole;
  });
}

/** The page beside the list: the selected row, the last call while following, or facts about the run. */
function besidePage(frame: Frame): OpenPage {
  const { state, view, place } = frame;
  let { row } = cursorOf(frame);
  if (view.cursor === 'end' && place === 'live') {
    const near = Math.max(state.firstId, lastId(state) - 200);
    for (let id = lastId(state); id >= near; id--) {
      if (rowAt(state, id)?.kind !== 'call') continue;
      row = id;
      break;
    }
  }
  const kind = rowAt(state, row)?.kind ?? 'text';
  // A message is complete in the list.
  const page = pageOf(row, kind === 'text' ? 'about' : 'detail');
  return { ...page, top: foundTop(frame, page) };
}

function drawnPage(frame: Frame, page: OpenPage, style: TuiStyle): string[] {
  const cols = divide(frame.size).page;
  const row = page.kind === 'about' ? undefined : rowAt(frame.state, page.row);
  const title = row === undefined ? 'about the run' : titleOf(row, rowStyleOf(frame, cols, style));
  return drawn(frame, { title, lines: pageLines(frame, page), top: page.top, cols }, style);
}

interface Drawn {
  title: string;
  lines: readonly PageLine[];
  top: number;
  cols: number;
}

function drawn(frame: Frame, { title, lines, top, cols }: Drawn, style: TuiStyle): string[] {
  const { view, size } = frame;
  const room = pageRoom(size);
  const row_style = rowStyleOf(frame, cols, style);
  const first = Math.min(top, Math.max(0, lines.length - room));
  const shown = lines.slice(first, first + room).map((line) => pageText(line, row_style));
  // The title is a bar if the keys act on the page, not on the list beside it.
  const front = view.page !== null || view.help !== null;
  const head = front ? barOf(title, cols, style, null) : style.colour.bold(title);
  return [cols < 10 ? '' : head, ...shown];
}
