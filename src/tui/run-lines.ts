/** The lines of a table of runs. */
import { clipped } from './style.ts';

/** The header of a table, then a line per run, each at most `cols` columns. */
export type RunTable<T> = (runs: readonly T[], cols: number) => Iterator<string>;

/** Lines of runs, made when they are first shown. */
export class RunLines<T> {
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
