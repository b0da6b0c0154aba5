/** The best alignment of two lists, searched near the diagonal. Contract: pure; time and memory are rows × window. */

const SKIP_ROW = 1;
const SKIP_COLUMN = 2;
const PAIR = 3;

export interface Table {
  rows: number;
  columns: number;
  /** How much it gains to pair these two; 0 if they must not be paired. */
  gain(row: number, column: number): number;
}

/**
 * Pairs of row and column, both ascending, with the greatest total gain of all that stay within `window` columns of
 * the diagonal. There must be at least as many rows as columns: otherwise the diagonal would leave the window.
 */
export function alignNear({ rows, columns, gain }: Table, window: number): [number, number][] {
  const width = Math.min(columns, 2 * window) + 1;
  const startOf = (row: number) =>
    Math.max(0, Math.min(Math.round((row * columns) / rows) - window, columns - width + 1));
  const moves = new Uint8Array((rows + 1) * width);
  let before = new Float64Array(width);
  let now = new Float64Array(width);
  let from = 0;
  moves.fill(SKIP_COLUMN, 0, width);
  for (let row = 1; row <= rows; row++) {
    const start = startOf(row);
    const shift = start - from;
    for (let at = 0; at < width; at++) {
      const column = start + at;
      const above = before[at + shift] ?? Number.NEGATIVE_INFINITY;
      let best = above;
      let move = SKIP_ROW;
      const left = at > 0 ? (now[at - 1] as number) : Number.NEGATIVE_INFINITY;
      if (left > best) {
        best = left;
        move = SKIP_COLUMN;
      }
      const corner = column > 0 ? (before[at + shift - 1] ?? Number.NEGATIVE_INFINITY) : -1;
      // A pair gains at most 2, so a corner far below cannot win.
      if (corner >= 0 && corner + 2 >= best) {
        const more = gain(row - 1, column - 1);
        if (more > 0 && corner + more >= best) {
          best = corner + more;
          move = PAIR;
        }
      }
      now[at] = best;
      moves[row * width + at] = move;
    }
    [before, now] = [now, before];
    from = start;
  }
  return pathOf({ rows, columns, width, startOf, moves });
}

interface Path {
  rows: number;
  columns: number;
  width: number;
  startOf: (row: number) => number;
  moves: Uint8Array;
}

function pathOf({ rows, columns, width, startOf, moves }: Path): [number, number][] {
  const pairs: [number, number][] = [];
  let row = rows;
  let column = columns;
  while (row > 0 && column > 0) {
    const move = moves[row * width + column - startOf(row)];
    if (move === PAIR) pairs.push([row - 1, column - 1]);
    if (move !== SKIP_COLUMN) row -= 1;
    if (move !== SKIP_ROW) column -= 1;
  }
  return pairs.reverse();
}
