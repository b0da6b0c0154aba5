/** The position in the view of a run: the selected line, the page over the list, the search, the question. */
import type { Move, RunPlace } from './bindings.ts';
import { linesOf } from './moves.ts';
import { shapeOf } from './rows.ts';
import type { Search } from './search.ts';
import type { TuiState } from './state.ts';
import type { Size } from './style.ts';
import { endOf, moved, type Spot, windowOf } from './window.ts';

/** Minimum width for showing the selected call beside the list. */
const SPLIT_FROM_COLS = 160;
const HEAD_LINES = 2;
const FOOT_LINES = 2;

/** A page that replaces the list: the details of a row, or facts about the run. */
export interface OpenPage {
  kind: 'detail' | 'about';
  row: number;
  top: number;
  /** The line that a search found. */
  found: number | null;
}

export interface RunView {
  cursor: Spot | 'end';
  top: Spot;
  page: OpenPage | null;
  /** The first line of the help that is shown; null: no help. */
  help: number | null;
  search: Search;
  /** The position of the list when a search began. */
  searched_from: Spot | 'end';
  /** Whether the question "Cancel the run?" is shown. */
  asking: boolean;
  cancelling: boolean;
}

export const newRunView = (): RunView => ({
  cursor: 'end',
  top: { row: 0, line: 0 },
  page: null,
  help: null,
  search: { text: '', typing: false, missed: false },
  searched_from: 'end',
  asking: false,
  cancelling: false,
});

export interface RunScreen {
  state: TuiState;
  view: RunView;
  size: Size;
  place: RunPlace;
}

/** The layout of the screen: lines of the body, columns of the list and of the page. */
export function divide({ cols, rows }: Size) {
  const split = cols >= SPLIT_FROM_COLS;
  const list = split ? cols >> 1 : cols;
  const head = rows >= 8 ? HEAD_LINES : 1;
  const foot = rows >= 8 ? FOOT_LINES : 1;
  return {
    split,
    head,
    foot,
    body: Math.max(0, rows - head - foot),
    list,
    page: split ? cols - list - 3 : cols,
  };
}

/** Lines of a page below its title. */
export const pageRoom = (size: Size) => Math.max(0, divide(size).body - 1);
/** Columns of a row in the list, beside the mark of the selected line. */
export const rowCols = (size: Size) => Math.max(1, divide(size).list - 2);

const shapeIn = ({ state, size }: RunScreen) => shapeOf(state, rowCols(size));

/** Keeps the window at its current position. */
export function settle(screen: RunScreen): void {
  const { view, size } = screen;
  view.top = windowOf(shapeIn(screen), view, divide(size).body).top;
}

export function cursorOf(screen: RunScreen): Spot {
  const { view, size } = screen;
  return windowOf(shapeIn(screen), view, divide(size).body).cursor;
}

/** At the end of the list, the view follows new rows again. */
export function setCursor(screen: RunScreen, spot: Spot): void {
  const end = endOf(shapeIn(screen));
  screen.view.cursor = spot.row === end.row && spot.line === end.line ? 'end' : spot;
}

export function moveCursor(screen: RunScreen, move: Move): void {
  const shape = shapeIn(screen);
  const by = linesOf(move, divide(screen.size).body);
  if (move === 'last') screen.view.cursor = 'end';
  else if (move === 'first') setCursor(screen, moved(shape, { row: shape.first, line: 0 }, 0));
  else setCursor(screen, moved(shape, cursorOf(screen), by));
}
