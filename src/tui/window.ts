/** The visible lines of a list: a cursor that moves by lines through rows of any height, and a window around it. */

/** A line of a row. */
export interface Spot {
  row: number;
  line: number;
}

/** Rows with consecutive ids; a hidden row has no height. `last` is less than `first` when there are none. */
export interface Shape {
  first: number;
  last: number;
  height(row: number): number;
}

const before = (a: Spot, b: Spot) => a.row < b.row || (a.row === b.row && a.line < b.line);

/** The first visible line at or after the row; null for none. */
function fromRow(shape: Shape, row: number): Spot | null {
  for (let at = Math.max(shape.first, row); at <= shape.last; at++)
    if (shape.height(at) > 0) return { row: at, line: 0 };
  return null;
}

/** The last visible row at or before the row; null for none. */
function upTo(shape: Shape, row: number): number | null {
  for (let at = Math.min(shape.last, row); at >= shape.first; at--)
    if (shape.height(at) > 0) return at;
  return null;
}

/** The last line. */
export function endOf(shape: Shape): Spot {
  const row = upTo(shape, shape.last);
  return row === null ? { row: shape.first, line: 0 } : { row, line: shape.height(row) - 1 };
}

/** The nearest visible line: rows are dropped, folded, and change their height. */
function near(shape: Shape, { row, line }: Spot): Spot {
  const height = row < shape.first || row > shape.last ? 0 : shape.height(row);
  if (height > 0) return { row, line: Math.min(line, height - 1) };
  const up = upTo(shape, row);
  return up === null ? (fromRow(shape, row) ?? endOf(shape)) : { row: up, line: 0 };
}

/** Moves `lines` down, or up if negative, at most to the ends. */
export function moved(shape: Shape, from: Spot, lines: number): Spot {
  let { row, line } = near(shape, from);
  line += lines;
  while (line < 0) {
    const up = upTo(shape, row - 1);
    if (up === null) return { row, line: 0 };
    row = up;
    line += shape.height(row);
  }
  for (let height = shape.height(row); line >= height; height = shape.height(row)) {
    const down = fromRow(shape, row + 1);
    if (down === null) return { row, line: Math.max(0, height - 1) };
    line -= height;
    row = down.row;
  }
  return { row, line };
}

/** The window of `room` lines that contains the cursor and begins at `top` if possible. 'end': the last lines. */
export function windowOf(
  shape: Shape,
  place: { cursor: Spot | 'end'; top: Spot },
  room: number,
): { top: Spot; cursor: Spot } {
  if (shape.last < shape.first) {
    const none = { row: shape.first, line: 0 };
    return { top: none, cursor: none };
  }
  const end = endOf(shape);
  const highest = moved(shape, end, 1 - room);
  if (place.cursor === 'end') return { top: highest, cursor: end };
  const cursor = near(shape, place.cursor);
  let top = near(shape, place.top);
  if (before(highest, top)) top = highest;
  if (before(cursor, top)) top = cursor;
  const bottom = moved(shape, top, room - 1);
  if (before(bottom, cursor)) top = moved(shape, cursor, 1 - room);
  return { top, cursor };
}

/** The lines of a window starting at `top`; `draw` returns the lines of a row. */
export function linesFrom(
  shape: Shape,
  top: Spot,
  room: number,
  draw: (row: number) => string[],
): { row: number; line: number; text: string }[] {
  const lines: { row: number; line: number; text: string }[] = [];
  for (let row = top.row; row <= shape.last && lines.length < room; row++) {
    if (shape.height(row) === 0) continue;
    const from = row === top.row ? top.line : 0;
    const texts = draw(row).slice(from, from + room - lines.length);
    lines.push(...texts.map((text, index) => ({ row, line: from + index, text })));
  }
  return lines;
}
