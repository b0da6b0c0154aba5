/**
 * The list of past runs, the selection, the filters, and the effect of keys. Pure except for its own state.
 * Contract of `lines`: exactly `rows` lines, each at most `cols` columns; the table escapes foreign text.
 */
import { plural } from '../lib/figures.ts';
import { shortRunId } from '../lib/ids.ts';
import { actionOf, HELP_KEYS, hintOf, LIST_KEYS, type RunsAction } from './bindings.ts';
import { pageText } from './detail.ts';
import { typedLine } from './footer.ts';
import { helpLines } from './help.ts';
import { isMove, movedTo } from './moves.ts';
import { RunLines, type RunTable } from './run-lines.ts';
import { type Search, typeSearch } from './search.ts';
import {
  barOf,
  cut,
  ends,
  fill,
  footOf,
  gutterOf,
  marked,
  type Size,
  searchOf,
  separatorOf,
  type TuiStyle,
} from './style.ts';

/** A run of the list. */
export interface ListedRun {
  run_id: string;
  agent: string;
  ok: boolean;
  /** Whether it belongs to the current project. */
  here: boolean;
  /** The text that a filter searches, besides the id. */
  words: string;
}

export type RunsWish<T> = 'quit' | 'reload' | { open: T } | null;

const FILTERS: readonly { name: string; takes: (run: ListedRun) => boolean }[] = [
  { name: 'all runs', takes: () => true },
  { name: 'failed runs', takes: ({ ok }) => !ok },
  { name: 'runs of this project', takes: ({ here }) => here },
];

const HEAD_LINES = 2;
const FOOT_LINES = 1;
const roomOf = ({ rows }: Size) => Math.max(1, rows - HEAD_LINES - FOOT_LINES);

export class RunsView<T extends ListedRun> {
  readonly #table: RunTable<T>;
  readonly #place: string;
  #runs: readonly T[] = [];
  /** Whether there are more runs than in the list. */
  #more = false;
  #filter = 0;
  readonly #search: Search = { text: '', typing: false, missed: false };
  #cursor = 0;
  #top = 0;
  /** The first line of the help that is shown; null: no help. */
  #help: number | null = null;
  #shown: RunLines<T> | null = null;

  /** `place`: where the runs are stored. */
  constructor(table: RunTable<T>, place: string) {
    this.#table = table;
    this.#place = place;
  }

  /** The selected run stays selected. */
  take(runs: readonly T[], more: boolean): void {
    const selected = this.#runs.length === 0 ? undefined : this.#matching()[this.#cursor]?.run_id;
    this.#runs = runs;
    this.#more = more;
    this.#shown = null;
    const at = this.#matching().findIndex(({ run_id }) => run_id === selected);
    this.#cursor = Math.max(0, at);
  }

  press(key: string, size: Size): RunsWish<T> {
    if (this.#search.typing) {
      typeSearch(this.#search, key);
      this.#refilter();
      return null;
    }
    if (this.#help !== null) this.#pressInHelp(this.#help, key, size);
    else {
      const action = actionOf(LIST_KEYS, key);
      if (action !== null) return this.#act(action, size);
    }
    return null;
  }

  #pressInHelp(top: number, key: string, size: Size): void {
    const action = actionOf(HELP_KEYS, key);
    const page = roomOf(size);
    const last = Math.max(0, helpLines(LIST_KEYS, size.cols).length - page);
    if (isMove(action)) this.#help = movedTo(top, action, { page, last });
    else if (action !== null) this.#help = null;
  }

  #act(action: RunsAction, size: Size): RunsWish<T> {
    const runs = this.#matching();
    const run = runs[this.#cursor];
    if (isMove(action)) {
      const last = Math.max(0, runs.length - 1);
      this.#cursor = movedTo(this.#cursor, action, { page: roomOf(size), last });
    } else if (action === 'quit' || action === 'reload') return action;
    else if (action === 'open') return run === undefined ? null : { open: run };
    else if (action === 'help') this.#help = 0;
    else if (action === 'search') Object.assign(this.#search, { text: '', typing: true });
    else if (action === 'kinds') this.#filter = (this.#filter + 1) % FILTERS.length;
    else if (action === 'clear') {
      this.#search.text = '';
      this.#filter = 0;
    }
    if (['search', 'kinds', 'clear'].includes(action)) this.#refilter();
    return null;
  }

  #refilter(): void {
    this.#shown = null;
    this.#cursor = 0;
    this.#top = 0;
  }

  #words(): string[] {
    return this.#search.text.split(/\s+/);
  }

  #matching(): readonly T[] {
    if (this.#shown === null) {
      const words = this.#words();
      const { takes } = FILTERS[this.#filter] as (typeof FILTERS)[number];
      const runs = this.#runs.filter(
        (run) => takes(run) && words.every((word) => isFound(run, word)),
      );
      this.#shown = new RunLines(runs, this.#table);
    }
    return this.#shown.runs;
  }

  lines(size: Size, style: TuiStyle): string[] {
    const room = roomOf(size);
    const { length } = this.#matching();
    const lowest = Math.max(0, length - room);
    this.#top = Math.min(Math.max(this.#top, this.#cursor - room + 1), this.#cursor, lowest);
    const lines = [this.#head(size, style), ...this.#body(size, style)];
    while (lines.length < size.rows - FOOT_LINES) lines.push('');
    return [...lines.slice(0, Math.max(0, size.rows - FOOT_LINES)), this.#foot(size, style)].slice(
      -size.rows,
    );
  }

  #body(size: Size, style: TuiStyle): string[] {
    const room = roomOf(size);
    if (this.#help !== null) return helpIn(this.#help, size, style);
    const text =
      this.#runs.length === 0
        ? 'No runs yet. Record one: tacho run --agent demo "try it"'
        : 'No runs match. Esc shows all.';
    if (this.#matching().length === 0)
      return ['', fill(` ${cut(text, size.cols - 1, style)}`, size.cols)];
    const cols = Math.max(1, size.cols - 2);
    const lines = (this.#shown as RunLines<T>).lines(cols, this.#top + room + 1);
    const body = lines.slice(this.#top + 1, this.#top + 1 + room);
    const search = searchOf(...this.#words());
    return [
      gutterOf(false, style) + (lines[0] ?? ''),
      ...body.map((line, at) =>
        this.#top + at === this.#cursor
          ? barOf(gutterOf(true, style) + line, size.cols, style, search)
          : gutterOf(false, style) + marked(line, search, style),
      ),
    ];
  }

  #head(size: Size, style: TuiStyle): string {
    const { name } = FILTERS[this.#filter] as (typeof FILTERS)[number];
    const count = plural(this.#matching().length, 'run');
    const filters = [
      this.#more ? `newest ${count}` : count,
      ...(this.#filter === 0 ? [] : [name]),
      ...(this.#search.text === '' ? [] : [`/${this.#search.text}`]),
    ];
    return style.colour.bold(
      ends(
        filters.join(separatorOf(style)),
        cut(this.#place, size.cols >> 1, style),
        size.cols,
        style,
      ),
    );
  }

  #foot(size: Size, style: TuiStyle): string {
    if (this.#search.typing) return typedLine(this.#search, size.cols, style);
    const { length } = this.#matching();
    const where = length === 0 ? '' : `${this.#cursor + 1} of ${length}`;
    return footOf(this.#hints(), where, size.cols, style);
  }

  #hints(): string[] {
    if (this.#help !== null) return hintOf(HELP_KEYS, ['close', 'back']);
    const next = FILTERS[(this.#filter + 1) % FILTERS.length] as (typeof FILTERS)[number];
    const filtered = this.#search.text !== '' || this.#filter > 0;
    const hints: [RunsAction, string][] = [
      ['quit', 'quit'],
      ['open', 'open'],
      ...(filtered ? [['clear', 'all runs'] as [RunsAction, string]] : []),
      ['search', 'filter'],
      ['help', 'keys'],
      ['kinds', next.name],
    ];
    return hints.flatMap((hint) => hintOf(LIST_KEYS, hint));
  }
}

/** An id is found by its beginning: its other characters mean nothing. */
function isFound({ run_id, words }: ListedRun, word: string): boolean {
  const sought = searchOf(word);
  const begins = (id: string) => id.startsWith(word.toLowerCase());
  return (
    sought === null ||
    words.search(sought) >= 0 ||
    [run_id, shortRunId(run_id, run_id.length)].some(begins)
  );
}

function helpIn(top: number, size: Size, style: TuiStyle): string[] {
  const look = { ...style, cols: size.cols - 1, now_ms: 0, search: null };
  const lines = helpLines(LIST_KEYS, size.cols).map((line) => ` ${pageText(line, look)}`);
  return [` ${cut('keys', size.cols - 1, style)}`, ...lines.slice(top, top + roomOf(size))];
}
