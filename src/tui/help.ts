/** The keys of the views, for their help page. docs/guide/full-screen.md lists the same. */
import type { PageLine } from './detail.ts';

const KEYS_WIDTH = 20;

const MOVE: [string, string][] = [
  ['Up Down  k j', 'one line up or down'],
  ['PgUp PgDn  b Space', 'one page up or down'],
  ['g G  Home End', 'to the first or the last line'],
];

export const RUN_KEYS: readonly [string, string][] = [
  ...MOVE,
  ['Tab  Shift-Tab', 'to the next or the previous call'],
  ['Enter', 'open the selected line: input, output, diff'],
  ['Esc', 'close the page, clear the search'],
  ['/', 'search, also in inputs and outputs'],
  ['n N', 'to the next or the previous match'],
  ['z', 'fold or unfold a sub-agent'],
  ['q', 'leave the view; a run continues'],
  ['Ctrl-C', 'cancel the run, after a question'],
  ['?', 'show these keys'],
];

export const LIST_KEYS: readonly [string, string][] = [
  ...MOVE,
  ['Enter', 'open the selected run'],
  ['/', 'show only the runs that contain a text'],
  ['f', 'show all runs, failed runs, or runs of this project'],
  ['r', 'read the list again'],
  ['Esc', 'clear the filter'],
  ['q', 'quit'],
  ['?', 'show these keys'],
];

export const keyLines = (keys: readonly [string, string][]): PageLine[] =>
  keys.map(([key, text]) => ({ text: `${key.padEnd(KEYS_WIDTH)}  ${text}`, tone: 'plain' }));
