/** The position in the view of a run, and the effect of keys: a list of rows, a page over it, a search, a question. */
import { detailLines } from './detail.ts';
import { keyLines, RUN_KEYS } from './help.ts';
import { linesOf, type Move, moveOf } from './keys.ts';
import type { Row } from './row.ts';
import { isFound, shapeOf } from './rows.ts';
import { around, type Search, typeSearch } from './search.ts';
import { lastId, rowAt, type TuiState } from './state.ts';
import { type Size, searchOf } from './style.ts';
import { endOf, moved, type Spot, windowOf } from './window.ts';

/** Minimum width for showing the selected call beside the list. */
const SPLIT_FROM_COLS = 160;
const HEAD_LINES = 2;
const FOOT_LINES = 2;

/** A page that replaces the list: the details of a row, or the keys. */
export interface OpenPage {
  kind: 'detail' | 'help';
  row: number;
  top: number;
  /** The line that a search found. */
  found: number | null;
}

export interface RunView {
  cursor: Spot | 'end';
  top: Spot;
  page: OpenPage | null;
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
  search: { text: '', typing: false },
  searched_from: 'end',
  asking: false,
  cancelling: false,
});

export interface RunScreen {
  state: TuiState;
  view: RunView;
  size: Size;
  /** Whether the run has not ended and can be cancelled. */
  live: boolean;
}

/** A request of a key to the caller. */
export type Wish = 'leave' | 'cancel' | null;

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

export function pressKey(screen: RunScreen, key: string): Wish {
  const { view } = screen;
  if (view.asking) return answer(view, key);
  if (view.search.typing) return typed(screen, key);
  if (key === '<interrupt>') return interrupt(screen);
  if (key === '?') view.page = view.page?.kind === 'help' ? null : helpPage(view);
  else if (key === '/') begin(screen);
  else if (key === 'n' || key === 'N') find(screen, key === 'n' ? 1 : -1, true);
  else if (view.page !== null) pressInPage(screen, view.page, key);
  else return pressInList(screen, key);
  return null;
}

const pageOf = (row: number): OpenPage => ({ kind: 'detail', row, top: 0, found: null });
const helpPage = ({ page }: RunView): OpenPage => ({ ...pageOf(page?.row ?? -1), kind: 'help' });

function answer(view: RunView, key: string): Wish {
  view.asking = false;
  if (key !== 'y' && key !== 'Y' && key !== '<interrupt>') return null;
  view.cancelling = true;
  return 'cancel';
}

/** Leaves a finished run; kills a run that is being cancelled. */
function interrupt({ view, live }: RunScreen): Wish {
  if (!live) return 'leave';
  if (view.cancelling) return 'cancel';
  view.asking = true;
  return null;
}

function pressInPage(screen: RunScreen, page: OpenPage, key: string): void {
  const move = moveOf(key);
  if (move !== null) {
    const room = pageRoom(screen.size);
    const lines = pageLines(screen, page).length;
    page.top = movedTop(page.top, move, { room, lines });
    page.found = null;
  } else if (key === '<tab>' || key === '<backtab>') {
    if (page.kind === 'detail') openCall(screen, page.row, key === '<tab>' ? 1 : -1);
  } else if (['q', '<escape>', '<enter>'].includes(key)) {
    // Closing the help returns to the page.
    const back = page.kind === 'help' && page.row >= 0;
    screen.view.page = back ? pageOf(page.row) : null;
  }
}

function movedTop(top: number, move: Move, { room, lines }: { room: number; lines: number }) {
  const by = linesOf(move, room);
  const last = Math.max(0, lines - room);
  const wanted = by === null ? (move === 'first' ? 0 : last) : Math.min(top, last) + by;
  return Math.min(last, Math.max(0, wanted));
}

/** Lines of the open page, escaped and wrapped. */
export function pageLines({ state, size }: RunScreen, page: OpenPage) {
  if (page.kind === 'help') return keyLines(RUN_KEYS);
  const row = rowAt(state, page.row);
  if (row === undefined)
    return [{ text: 'The view no longer has this line.', tone: 'yellow' as const }];
  return detailLines(state, row, divide(size).page);
}

function pressInList(screen: RunScreen, key: string): Wish {
  const { view, state } = screen;
  const move = moveOf(key);
  settle(screen);
  if (move !== null) moveCursor(screen, move);
  else if (key === '<enter>') {
    const row = cursorOf(screen).row;
    if (rowAt(state, row) !== undefined) view.page = pageOf(row);
    if (view.search.text !== '') find(screen, 1, false);
  } else if (key === '<tab>' || key === '<backtab>') {
    const found = nextCall(state, cursorOf(screen).row, key === '<tab>' ? 1 : -1);
    if (found !== null) setCursor(screen, { row: found, line: 0 });
  } else if (key === 'z') fold(screen);
  else if (key === '<escape>') view.search.text = '';
  else if (key === 'q') return 'leave';
  settle(screen);
  return null;
}

/** Keeps the window at its current position. */
function settle({ view, state, size }: RunScreen): void {
  view.top = windowOf(shapeOf(state, rowCols(size)), view, divide(size).body).top;
}

export function cursorOf({ state, view, size }: RunScreen): Spot {
  return windowOf(shapeOf(state, rowCols(size)), view, divide(size).body).cursor;
}

/** At the end of the list, the view follows new rows again. */
function setCursor({ view, state, size }: RunScreen, spot: Spot): void {
  const end = endOf(shapeOf(state, rowCols(size)));
  view.cursor = spot.row === end.row && spot.line === end.line ? 'end' : spot;
}

function moveCursor(screen: RunScreen, move: Move): void {
  const { state, size } = screen;
  const shape = shapeOf(state, rowCols(size));
  const by = linesOf(move, divide(size).body);
  if (by !== null) setCursor(screen, moved(shape, cursorOf(screen), by));
  else if (move === 'last') screen.view.cursor = 'end';
  else setCursor(screen, moved(shape, { row: shape.first, line: 0 }, 0));
}

function nextCall(state: TuiState, from: number, by: 1 | -1): number | null {
  for (let id = from + by; id >= state.firstId && id <= lastId(state); id += by)
    if (rowAt(state, id)?.kind === 'call') return id;
  return null;
}

/** Opens the next call from a page, and moves the list to it. */
function openCall(screen: RunScreen, from: number, by: 1 | -1): void {
  const found = nextCall(screen.state, from, by);
  if (found === null) return;
  screen.view.page = pageOf(found);
  setCursor(screen, { row: found, line: 0 });
}

/** Folds or unfolds the sub-agent at the cursor: that of the call, or that of the row. */
function fold(screen: RunScreen): void {
  const { state, view } = screen;
  const row = rowAt(state, cursorOf(screen).row);
  const call = row?.kind === 'call' && row.children > 0 ? row : (row?.parent ?? null);
  if (call === null) return;
  call.folded = !call.folded;
  const id = state.firstId + state.rows.indexOf(call);
  if (call.folded && id >= state.firstId) view.cursor = { row: id, line: 0 };
}

function begin({ view, ...screen }: RunScreen): void {
  view.search = { text: '', typing: true };
  view.searched_from = view.page === null ? cursorOf({ view, ...screen }) : view.cursor;
  if (view.page?.kind === 'help') view.page = null;
}

function typed(screen: RunScreen, key: string): Wish {
  const { view } = screen;
  const done = typeSearch(view.search, key);
  if (done === 'given up') view.cursor = view.searched_from;
  if (done === 'typed') {
    if (view.page === null) view.cursor = view.searched_from;
    find(screen, 1, false);
  }
  return null;
}

/** Moves to the next match in the page or the list; `skip`: not the selected one. */
function find(screen: RunScreen, by: 1 | -1, skip: boolean): void {
  const search = searchOf(screen.view.search.text);
  if (search === null) return;
  const { page } = screen.view;
  if (page === null) findRow(screen, search, { by, skip });
  else findLine(screen, page, search, { by, skip });
}

interface Way {
  by: 1 | -1;
  skip: boolean;
}

function findLine(screen: RunScreen, page: OpenPage, search: RegExp, { by, skip }: Way): void {
  const lines = pageLines(screen, page);
  const has = (at: number) => (lines[at]?.text ?? '').search(search) >= 0;
  const from = page.found ?? page.top;
  const found = around(lines.length, from, by, { skip: skip && page.found !== null, has });
  if (found === null) return;
  page.found = found;
  page.top = Math.min(found, Math.max(0, lines.length - pageRoom(screen.size)));
}

function findRow(screen: RunScreen, search: RegExp, { by, skip }: Way): void {
  const { state } = screen;
  const has = (at: number) => isFound(state.rows[at] as Row, search);
  const from = cursorOf(screen).row - state.firstId;
  const found = around(state.rows.length, from, by, { skip, has });
  if (found === null) return;
  const row = state.rows[found] as Row;
  for (let up = row.parent; up !== null; up = up.parent) up.folded = false;
  setCursor(screen, { row: state.firstId + found, line: 0 });
  settle(screen);
}
