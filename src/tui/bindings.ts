/**
 * The keys of every view and their effects, as data. The views react to these keys only; their help, their footers and
 * the guide are made from them.
 */
import { keyName } from './keys.ts';

export type Move =
  | 'up'
  | 'down'
  | 'half_up'
  | 'half_down'
  | 'page_up'
  | 'page_down'
  | 'first'
  | 'last';

/** The effects of keys in the view of a run, and on a page over it. */
export type RunAction =
  | Move
  | 'open'
  | 'next_call'
  | 'previous_call'
  | 'next_bad'
  | 'previous_bad'
  | 'search'
  | 'next_match'
  | 'previous_match'
  | 'clear'
  | 'fold'
  | 'about'
  | 'close'
  | 'leave'
  | 'quit'
  | 'cancel'
  | 'suspend'
  | 'help';

/** The effects of keys in the list of runs. */
export type RunsAction =
  | Move
  | 'open'
  | 'search'
  | 'kinds'
  | 'reload'
  | 'clear'
  | 'close'
  | 'quit'
  | 'suspend'
  | 'help';

type Action = RunAction | RunsAction;

/** Keys with related effects: one line of the help. */
export interface Binding<A extends Action = Action> {
  on: Readonly<Partial<Record<A, readonly string[]>>>;
  does: string;
}

const MOVES: readonly Binding<Move>[] = [
  { on: { up: ['<up>', 'k'], down: ['<down>', 'j'] }, does: 'one line up or down' },
  {
    on: {
      page_up: ['<page_up>', 'b', '<ctrl_b>'],
      page_down: ['<page_down>', ' ', '<ctrl_f>'],
    },
    does: 'one page up or down',
  },
  { on: { half_up: ['<ctrl_u>'], half_down: ['<ctrl_d>'] }, does: 'half a page up or down' },
  { on: { first: ['<home>', 'g'], last: ['<end>', 'G'] }, does: 'first or last line' },
];

const CALLS: readonly Binding<RunAction>[] = [
  {
    on: { next_call: ['<tab>'], previous_call: ['<backtab>'] },
    does: 'next or previous call',
  },
  {
    on: { next_bad: ['e'], previous_bad: ['E'] },
    does: 'next or previous failed or denied call',
  },
];

const SEARCH: readonly Binding<RunAction>[] = [
  { on: { search: ['/'] }, does: 'search, including inputs and outputs' },
  { on: { next_match: ['n'], previous_match: ['N'] }, does: 'next or previous match' },
];

/** The same in every view. The keyboard itself handles `suspend`. */
export const OTHER_KEYS: readonly Binding<'suspend' | 'help'>[] = [
  { on: { suspend: ['<ctrl_z>'] }, does: 'suspend tacho; fg in the shell returns' },
  { on: { help: ['?'] }, does: 'show the keys' },
];

/** The view of a run, whatever its state. */
const RUN_KEYS: readonly Binding<RunAction>[] = [
  ...MOVES,
  {
    on: { open: ['<enter>', 'l', '<right>'] },
    does: 'open the selected line: input, output, diff',
  },
  ...CALLS,
  ...SEARCH,
  { on: { fold: ['z'] }, does: 'fold or unfold a sub-agent' },
  { on: { about: ['i'] }, does: 'about the run: prompt, folder, usage' },
];

/** Where a run is shown: while it is recorded, after its end, or opened from the list. */
export type RunPlace = 'live' | 'ended' | 'past';

const CLEAR: Binding<RunAction> = { on: { clear: ['<escape>'] }, does: 'clear the search' };

const PLACE_KEYS: Readonly<Record<RunPlace, readonly Binding<RunAction>[]>> = {
  live: [CLEAR, { on: { leave: ['q'] }, does: 'leave the view; the run continues' }],
  ended: [CLEAR, { on: { quit: ['q'] }, does: 'quit and print the summary' }],
  past: [
    { on: { clear: ['<escape>'] }, does: 'clear the search, or return to the list' },
    { on: { leave: ['q', 'h', '<left>'] }, does: 'return to the list' },
  ],
};

const INTERRUPT: Readonly<Record<RunPlace, Binding<RunAction>>> = {
  live: { on: { cancel: ['<ctrl_c>'] }, does: 'cancel the run, after confirmation' },
  ended: { on: { quit: ['<ctrl_c>'] }, does: 'quit and print the summary' },
  past: { on: { quit: ['<ctrl_c>'] }, does: 'quit' },
};

/** A page over the view of a run. */
const PAGE_KEYS: readonly Binding<RunAction>[] = [
  ...MOVES,
  ...CALLS,
  ...SEARCH,
  { on: { close: ['<escape>', 'q', 'h', '<left>', '<enter>'] }, does: 'close the page' },
];

export const runKeys = (place: RunPlace, page: boolean): readonly Binding<RunAction>[] => [
  ...(page ? PAGE_KEYS : [...RUN_KEYS, ...PLACE_KEYS[place]]),
  INTERRUPT[place],
  ...OTHER_KEYS,
];

export const LIST_KEYS: readonly Binding<RunsAction>[] = [
  ...MOVES,
  { on: { open: ['<enter>', 'l', '<right>'] }, does: 'open the selected run' },
  { on: { search: ['/'] }, does: 'only runs that contain all these words' },
  { on: { kinds: ['f'] }, does: 'failed runs, runs of this project, all runs' },
  { on: { reload: ['r'] }, does: 'read the list again' },
  { on: { clear: ['<escape>'] }, does: 'show all runs' },
  { on: { quit: ['q', '<ctrl_c>'] }, does: 'quit' },
  ...OTHER_KEYS,
];

/** The help itself, in every view. */
export const HELP_KEYS: readonly Binding<Move | 'close' | 'quit'>[] = [
  ...MOVES,
  { on: { close: ['<escape>', 'q', '?', '<enter>', 'h', '<left>'] }, does: 'close the help' },
];

const actions = <A extends Action>({ on }: Binding<A>) =>
  Object.entries(on) as [A, readonly string[]][];

export function actionOf<A extends Action>(bindings: readonly Binding<A>[], key: string): A | null {
  for (const binding of bindings)
    for (const [action, keys] of actions(binding)) if (keys.includes(key)) return action;
  return null;
}

/** `Up Down  k j`: the keys of a binding, in pairs. */
export function keysText<A extends Action>(binding: Binding<A>): string {
  return keyGroups(binding).join('  ');
}

/** `['Up Down', 'k j']` */
export function keyGroups<A extends Action>(binding: Binding<A>): string[] {
  const lists = actions(binding).map(([, keys]) => keys);
  const most = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) =>
    lists
      .flatMap((keys) => keys[at] ?? [])
      .map(keyName)
      .join(' '),
  );
}

/** `q quit`: the first key of an action, and a word for it. Nothing for an action without a key. */
export function hintOf<A extends Action>(
  bindings: readonly Binding<A>[],
  [action, word]: readonly [A, string],
): string[] {
  const keys = bindings.flatMap(({ on }) => on[action] ?? []);
  return keys[0] === undefined ? [] : [`${keyName(keys[0])} ${word}`];
}
