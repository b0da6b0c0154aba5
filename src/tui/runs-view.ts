/**
 * The list of past runs, the selection, the filters, and the effect of keys. Pure except for its own state.
 * Contract of `lines`: exactly `rows` lines, each at most `cols` columns; the table escapes foreign text.
 */
import { plural } from '../lib/figures.ts';
import { pageText } from './detail.ts';
import { keyLines, LIST_KEYS } from './help.ts';
import { linesOf, moveOf } from './keys.ts';
import { type Search, typeSearch } from './search.ts';
import {
  clipped,
  cut,
  ends,
  fill,
  gutterOf,
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
  /** The text that a filter searches. */
  words: string;
}

/** The header of a table, then a line per run, each at most `cols` columns. */
export type RunTable<T> = (runs: readonly T[], cols: number) => Iterator<string>;

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
  readonly #search: Search = { text: '', typing: false };
  #cursor = 0;
  #top = 0;
  #help = false;
  #shown: Shown<T> | null = null;

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
    const move = moveOf(key);
    if (key === '<interrupt>') return 'quit';
    if (this.#help) this.#help = !['?', 'q', '<escape>', '<enter>'].includes(key);
    else if (move !== null) this.#move(linesOf(move, roomOf(size)), move === 'first');
    else if (key === '?') this.#help = true;
    else if (key === '/') Object.assign(this.#search, { text: '', typing: true });
    else return this.#pressOther(key);
    return null;
  }

  #pressOther(key: string): RunsWish<T> {
    if (key === 'q') return 'quit';
    if (key === 'r') return 'reload';
    const run = this.#matching()[this.#cursor];
    if (key === '<enter>') return run === undefined ? null : { open: run };
    if (key === 'f') this.#filter = (this.#filter + 1) % FILTERS.length;
    else if (key === '<escape>') {
      this.#search.text = '';
      this.#filter = 0;
    } else return null;
    this.#refilter();
    return null;
  }

  #move(by: number | null, to_first: boolean): void {
    const last = Math.max(0, this.#matching().length - 1);
    const wanted = by === null ? (to_first ? 0 : last) : this.#cursor + by;
    this.#cursor = Math.min(last, Math.max(0, wanted));
  }

  #refilter(): void {
    this.#shown = null;
    this.#cursor = 0;
    this.#top = 0;
  }

  #matching(): readonly T[] {
    if (this.#shown === null) {
      const search = searchOf(this.#search.text);
      const { takes } = FILTERS[this.#filter] as (typeof FILTERS)[number];
      const runs = this.#runs.filter(
        (run) => takes(run) && (search === null || run.words.search(search) >= 0),
      );
      this.#shown = new Shown(runs, this.#table);
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
    if (this.#help) return helpLines(size, style);
    const text = this.#runs.length === 0 ? 'No runs.' : 'No runs match. Esc shows all.';
    if (this.#matching().length === 0)
      return ['', fill(` ${cut(text, size.cols - 1, style)}`, size.cols)];
    const cols = Math.max(1, size.cols - 2);
    const lines = (this.#shown as Shown<T>).lines(cols, this.#top + room + 1);
    const body = lines.slice(this.#top + 1, this.#top + 1 + room);
    return [
      gutterOf(false, style) + (lines[0] ?? ''),
      ...body.map((line, at) => gutterOf(this.#top + at === this.#cursor, style) + line),
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
    return style.colour.inverse(
      ends(
        filters.join(separatorOf(style)),
        cut(this.#place, size.cols >> 1, style),
        size.cols,
        style,
      ),
    );
  }

  #foot(size: Size, style: TuiStyle): string {
    const { text, typing } = this.#search;
    if (typing) return fill(` /${cut(text, size.cols - 3, style)}_`, size.cols);
    const next = FILTERS[(this.#filter + 1) % FILTERS.length] as (typeof FILTERS)[number];
    const hints = this.#help
      ? ['Esc back']
      : ['q quit', 'Enter open', '/ filter', '? keys', `f ${next.name}`];
    const { length } = this.#matching();
    const where = length === 0 ? '' : `${this.#cursor + 1} of ${length}`;
    return style.colour.dim(ends(hints.join(separatorOf(style)), where, size.cols, style));
  }
}

function helpLines(size: Size, style: TuiStyle): string[] {
  const look = { ...style, cols: size.cols - 1, now_ms: 0, search: null };
  const lines = keyLines(LIST_KEYS).map((line) => ` ${pageText(line, look)}`);
  return ['', ...lines.slice(0, roomOf(size))];
}

/** Lines of the matching runs, made when they are first shown. */
class Shown<T> {
  readonly runs: readonly T[];
  readonly #table: RunTable<T>;
  #cols = 0;
  #lines: string[] = [];
  #rest: Iterator<string> | null = null;

  constructor(runs: readonly T[], table: RunTable<T>) {
    this.runs = runs;
    this.#table = table;
  }

  lines(cols: number, count: number): readonly string[] {
    if (this.#rest === null || this.#cols !== cols) {
      this.#cols = cols;
      this.#lines = [];
      this.#rest = this.#table(this.runs, cols);
    }
    while (this.#lines.length < count) {
      const next = this.#rest.next();
      if (next.done === true) break;
      this.#lines.push(clipped(next.value, cols));
    }
    return this.#lines;
  }
}
