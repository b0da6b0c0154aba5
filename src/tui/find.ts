/** The search in the view of a run: in the lines of an open page, otherwise in the rows of the list. */
import { pageLines } from './page.ts';
import { type Row, unfold } from './row.ts';
import { isFound } from './rows.ts';
import {
  cursorOf,
  type OpenPage,
  pageRoom,
  type RunScreen,
  setCursor,
  settle,
} from './run-view.ts';
import { around, typeSearch } from './search.ts';
import { searchOf } from './style.ts';

interface Way {
  by: 1 | -1;
  /** Not the selected one. */
  skip: boolean;
}

export function beginSearch(screen: RunScreen): void {
  const { view } = screen;
  const settled = view.page === null && view.cursor !== 'end';
  view.searched_from = settled ? cursorOf(screen) : view.cursor;
  view.search = { text: '', typing: true, missed: false };
}

/** Handles a key of the search that is being typed. */
export function typeInSearch(screen: RunScreen, key: string): void {
  const { view } = screen;
  const done = typeSearch(view.search, key);
  if (done === 'given up') view.cursor = view.searched_from;
  if (done !== 'typed') return;
  if (view.page === null) view.cursor = view.searched_from;
  find(screen, { by: 1, skip: false });
}

/** Moves to the next match. */
export function find(screen: RunScreen, way: Way): void {
  const { page, search } = screen.view;
  const pattern = searchOf(search.text);
  search.missed = pattern !== null && !(page === null ? inRows : inPage)(screen, pattern, way);
}

/** The first line of a page that a search finds, so that it can be shown; 0 if there is none. */
export function foundTop(screen: RunScreen, page: OpenPage): number {
  const pattern = searchOf(screen.view.search.text);
  if (pattern === null) return 0;
  const lines = pageLines(screen, page);
  const at = lines.findIndex(({ text }) => text.search(pattern) >= 0);
  return at < pageRoom(screen.size) ? 0 : at;
}

function inPage(screen: RunScreen, pattern: RegExp, { by, skip }: Way): boolean {
  const page = screen.view.page as OpenPage;
  const lines = pageLines(screen, page);
  const has = (at: number) => (lines[at]?.text ?? '').search(pattern) >= 0;
  const from = page.found ?? page.top;
  const found = around(lines.length, from, by, { skip: skip && page.found !== null, has });
  if (found === null) return false;
  page.found = found;
  page.top = Math.min(found, Math.max(0, lines.length - pageRoom(screen.size)));
  return true;
}

function inRows(screen: RunScreen, pattern: RegExp, { by, skip }: Way): boolean {
  const { state } = screen;
  const has = (at: number) => isFound(state.rows[at] as Row, pattern);
  const from = cursorOf(screen).row - state.firstId;
  const found = around(state.rows.length, from, by, { skip, has });
  if (found === null) return false;
  const row = state.rows[found] as Row;
  unfold(row);
  setCursor(screen, { row: state.firstId + found, line: 0 });
  settle(screen);
  return true;
}
