/** Foreign text for a terminal, measured in columns, cut and wrapped. What makes it harmless is in foreign-text.ts. */
import { characterColumns, characters, columns } from './columns.ts';
import { forTerminal } from './foreign-text.ts';

export { columns, forTerminal };

const ASCII = /^[\x20-\x7e]*$/;
const TAB = '    ';

/** Harmless text on one line of at most `width` columns, white space run together, cut with an ellipsis. */
export function oneLine(text: string, width: number, ellipsis = '…'): string {
  if (width <= 0) return '';
  // Far more than any line shows, so that cutting a huge text costs nothing.
  const enough = text.slice(0, width * 16 + 4096);
  const line = forTerminal(enough.replace(/\s+/g, ' ').trim());
  const cut = takeColumns(line, width);
  if (cut.length === line.length && enough.length === text.length) return line;
  return takeColumns(line, width - columns(ellipsis)) + takeColumns(ellipsis, width);
}

/**
 * Harmless text as lines of at most `width` columns. A line that is too long is broken between words, or beside a wide
 * character; a longer word is cut. Blanks at the end of a line are dropped.
 */
export function wrapLines(text: string, width: number): string[] {
  const most = Math.max(1, width);
  const lines = forTerminal(text).replaceAll('\t', TAB).split('\n');
  return lines.flatMap((line) => wrapLine(line.trimEnd(), most));
}

function wrapLine(line: string, width: number): string[] {
  if (line.length <= width && ASCII.test(line)) return [line];
  const lines: string[] = [];
  const put = (from: number, to: number) => lines.push(line.slice(from, to).trimEnd());
  let start = 0;
  let used = 0;
  /** Where the open line can be broken, and its columns up to there. */
  let place = 0;
  let before = 0;
  let words = false;
  for (const { segment, index } of characters(line)) {
    const wide = characterColumns(segment);
    if (wide > 1 && words) [place, before] = [index, used];
    // Blanks never begin a line: they may go beyond its end, where they are dropped.
    if (segment !== ' ' && used + wide > width && used > 0) {
      const [end, taken] = place > start ? [place, before] : [index, used];
      put(start, end);
      start = end;
      used -= taken;
      words = start < index;
    }
    used += wide;
    if (segment !== ' ') words = true;
    if (words && (segment === ' ' || wide > 1)) [place, before] = [index + segment.length, used];
  }
  put(start, line.length);
  return lines;
}

/** The longest beginning of harmless text that fits into `width` columns, whole characters only. */
export function takeColumns(text: string, width: number): string {
  const most = Math.max(0, width);
  const ascii = text.slice(0, most + 1);
  if (ASCII.test(ascii)) return ascii.slice(0, most);
  let used = 0;
  let end = 0;
  for (const { segment, index } of characters(boundedHead(text, most))) {
    used += characterColumns(segment);
    if (used > most) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

/** Enough of a text for `width` columns: 32 units a column is more than any real character has. */
function boundedHead(text: string, width: number): string {
  const head = text.slice(0, (width + 1) * 32);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** Rows of a table with their columns aligned; those of figures to the right. */
export function tableLines(
  rows: readonly (readonly string[])[],
  isFigure: (column: number) => boolean,
): string[] {
  const widthOf = (at: number) => Math.max(...rows.map((row) => row[at]?.length ?? 0));
  const widths = (rows[0] ?? []).map((_, at) => widthOf(at));
  const cell = (text: string, at: number) =>
    isFigure(at) ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0);
  return rows.map((row) => row.map(cell).join('  ').trimEnd());
}
