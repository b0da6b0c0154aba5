/** The two lines at the bottom of a run: its activity or error; the keys and the position. */
import { plural } from '../lib/figures.ts';
import { HELP_KEYS, hintOf, type RunAction, type RunPlace, runKeys } from './bindings.ts';
import type { Frame } from './frame.ts';
import { helpLines } from './help.ts';
import { pageLines } from './page.ts';
import { elapsedText } from './rows.ts';
import { divide, pageRoom } from './run-view.ts';
import { lastId, type TuiState } from './state.ts';
import { cut, fill, footOf, spinnerOf, type TuiStyle } from './style.ts';

/** The activity of a run, or the error that ended it. */
export function statusLine(frame: Frame, style: TuiStyle): string {
  const { state, place, now_ms, size } = frame;
  const { colour } = style;
  const end = state.run.finished?.data;
  const line = (text: string) => fill(` ${cut(text, size.cols - 2, style)}`, size.cols);
  if (state.firstId > 0 && frame.view.cursor !== 'end')
    return colour.yellow(line(`The view no longer has the first ${state.firstId} rows.`));
  if (end?.error) return colour.red(line(end.error));
  if (end !== undefined || place !== 'live') return '';
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

export function footerLine(frame: Frame, style: TuiStyle): string {
  const { view, size, place } = frame;
  const { colour } = style;
  if (view.asking && place === 'live')
    return colour.yellow(fill(' Cancel the run? y/n', size.cols));
  if (view.search.typing) return typedLine(view.search, size.cols, style);
  return footOf(hints(frame), whereText(frame), size.cols, style);
}

/** The search that is being typed. */
export function typedLine(
  { text, missed }: { text: string; missed: boolean },
  cols: number,
  style: TuiStyle,
): string {
  const line = ` /${cut(text, cols - 14, style)}_${missed ? '  no match' : ''}`;
  const shown = fill(line, cols);
  return missed ? style.colour.red(shown) : shown;
}

type Hint = readonly [RunAction, string];

/** The most useful keys first: the rest is omitted on a narrow screen. */
const HINTS: readonly Hint[] = [
  ['open', 'open'],
  ['search', 'search'],
];
const PAGE_HINTS: readonly Hint[] = [
  ['close', 'back'],
  ['next_call', 'next call'],
  ['search', 'search'],
];
const BAD: readonly Hint[] = [['next_bad', 'next failure']];
const MATCHES: readonly Hint[] = [
  ['next_match', 'next match'],
  ['clear', 'clear'],
];

const LEAVES: Readonly<Record<RunPlace, readonly Hint[]>> = {
  live: [['leave', 'leave']],
  ended: [['quit', 'quit']],
  past: [['leave', 'back']],
};

function hints({ view, place, state }: Frame): string[] {
  if (view.cancelling && place === 'live') return ['cancelling', 'Ctrl-C kills the agent'];
  if (view.help !== null) return hintOf(HELP_KEYS, ['close', 'back']);
  const keys = runKeys(place, view.page !== null);
  const bad = state.failed + state.denied > 0;
  const wanted: Hint[] = [
    ...(view.page === null ? LEAVES[place] : []),
    ...(view.search.text === '' ? [] : MATCHES),
    ...(view.page === null ? HINTS : PAGE_HINTS),
    ['help', 'keys'],
    ['cancel', 'cancel'],
    ...(bad ? BAD : []),
  ];
  return wanted.flatMap((hint) => hintOf(keys, hint));
}

function whereText(frame: Frame): string {
  const { view, state, place, size } = frame;
  if (view.search.missed) return 'no match';
  const room = pageRoom(size);
  const part = (top: number, lines: number) =>
    lines <= room
      ? plural(lines, 'line')
      : `lines ${top + 1}-${Math.min(lines, top + room)} of ${lines}`;
  if (view.help !== null) {
    const { length } = helpLines(runKeys(place, view.page !== null), divide(size).page);
    return length > room ? part(view.help, length) : '';
  }
  if (view.page !== null) return part(view.page.top, pageLines(frame, view.page).length);
  if (view.cursor === 'end') return place === 'live' ? 'following' : 'end';
  const last = lastId(state);
  return `row ${Math.min(Math.max(view.cursor.row, state.firstId), last) + 1} of ${last + 1}`;
}
