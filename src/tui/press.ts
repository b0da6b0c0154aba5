/** The effect of keys in the view of a run: bindings.ts says which key means what. */
import { actionOf, HELP_KEYS, type RunAction, runKeys } from './bindings.ts';
import { beginSearch, find, typeInSearch } from './find.ts';
import { helpLines } from './help.ts';
import { isMove, movedTo } from './moves.ts';
import { movePage, pageOf } from './page.ts';
import { type CallRow, type Row, unfold } from './row.ts';
import {
  cursorOf,
  divide,
  moveCursor,
  type OpenPage,
  pageRoom,
  type RunScreen,
  type RunView,
  setCursor,
  settle,
} from './run-view.ts';
import { lastId, rowAt, type TuiState } from './state.ts';

/** A request of a key to the caller. */
export type Wish = 'leave' | 'quit' | 'cancel' | null;

export function pressKey(screen: RunScreen, key: string): Wish {
  const { view, place } = screen;
  // A run that has ended in the meantime needs no answer.
  if (view.asking && place === 'live') return answer(view, key);
  if (view.help !== null) return pressInHelp(screen, view.help, key);
  if (view.search.typing) {
    typeInSearch(screen, key);
    return null;
  }
  const action = actionOf(runKeys(place, view.page !== null), key);
  return action === null ? null : act(screen, action);
}

function answer(view: RunView, key: string): Wish {
  view.asking = false;
  if (key !== 'y' && key !== 'Y' && key !== '<ctrl_c>') return null;
  view.cancelling = true;
  return 'cancel';
}

function pressInHelp({ view, size, place }: RunScreen, top: number, key: string): Wish {
  const action = actionOf(HELP_KEYS, key);
  const room = pageRoom(size);
  const lines = helpLines(runKeys(place, view.page !== null), divide(size).page).length;
  if (isMove(action))
    view.help = movedTo(top, action, { page: room, last: Math.max(0, lines - room) });
  else if (action !== null) view.help = null;
  return null;
}

function act(screen: RunScreen, action: RunAction): Wish {
  const { view } = screen;
  switch (action) {
    case 'help':
      view.help = 0;
      return null;
    case 'search':
      beginSearch(screen);
      return null;
    case 'next_match':
    case 'previous_match':
      find(screen, { by: action === 'next_match' ? 1 : -1, skip: true });
      return null;
    case 'cancel':
      return interrupt(view);
    case 'leave':
    case 'quit':
      return action;
  }
  if (view.page === null) return actInList(screen, action);
  actInPage(screen, view.page, action);
  return null;
}

/** Kills a run that is being cancelled. */
function interrupt(view: RunView): Wish {
  if (view.cancelling) return 'cancel';
  view.asking = true;
  return null;
}

function actInPage(screen: RunScreen, page: OpenPage, action: RunAction): void {
  const { view, state } = screen;
  if (isMove(action)) movePage(screen, page, action);
  else if (action === 'close') view.page = null;
  const found = jumpOf(state, page.row, action);
  if (found === null) return;
  view.page = pageOf(found);
  jump(screen, found);
}

function actInList(screen: RunScreen, action: RunAction): Wish {
  const { view, state, place } = screen;
  // Escape clears the search first.
  if (action === 'clear' && view.search.text === '' && place === 'past') return 'leave';
  settle(screen);
  const { row } = cursorOf(screen);
  const found = jumpOf(state, row, action);
  if (isMove(action)) moveCursor(screen, action);
  else if (found !== null) jump(screen, found);
  else if (action === 'open') open(screen, row);
  else if (action === 'about') view.page = pageOf(-1, 'about');
  else if (action === 'fold') fold(screen, row);
  else if (action === 'clear') view.search = { text: '', typing: false, missed: false };
  settle(screen);
  return null;
}

function open(screen: RunScreen, row: number): void {
  const { view, state } = screen;
  if (rowAt(state, row) === undefined) return;
  view.page = pageOf(row);
  if (view.search.text !== '') find(screen, { by: 1, skip: false });
}

/** A call inside a folded sub-agent unfolds it. */
function jump(screen: RunScreen, row: number): void {
  unfold(rowAt(screen.state, row) as Row);
  setCursor(screen, { row, line: 0 });
}

const isCall = (row: Row | undefined): row is CallRow => row?.kind === 'call';
const isBad = (row: Row | undefined) =>
  isCall(row) && row.status !== null && ['error', 'timeout', 'denied'].includes(row.status);

/** The call that an action jumps to; null if it does not jump or there is none. */
function jumpOf(state: TuiState, from: number, action: RunAction): number | null {
  if (action === 'next_call') return nextRow(state, from, 1, isCall);
  if (action === 'previous_call') return nextRow(state, from, -1, isCall);
  if (action === 'next_bad') return nextRow(state, from, 1, isBad);
  return action === 'previous_bad' ? nextRow(state, from, -1, isBad) : null;
}

function nextRow(
  state: TuiState,
  from: number,
  by: 1 | -1,
  is: (row: Row | undefined) => boolean,
): number | null {
  const start = Math.max(from, state.firstId - 1);
  for (let id = start + by; id >= state.firstId && id <= lastId(state); id += by)
    if (is(rowAt(state, id))) return id;
  return null;
}

/** Folds or unfolds the sub-agent at the cursor: that of the call, or that of the row. */
function fold({ state, view }: RunScreen, id: number): void {
  const row = rowAt(state, id);
  const call = isCall(row) && row.children > 0 ? row : (row?.parent ?? null);
  if (call === null) return;
  call.folded = !call.folded;
  const at = state.firstId + state.rows.indexOf(call);
  if (call.folded && at >= state.firstId) view.cursor = { row: at, line: 0 };
}
