/** Foreign text for a terminal: measured in columns, cut and wrapped. foreign-text.ts escapes it. */
import { characterColumns, characters, columns } from './columns.ts';
import { forTerminal } from './foreign-text.ts';

export { columns, forTerminal };

const ASCII = /^[\x20-\x7e]*$/;
const TAB = '    ';

/** Escaped text on one line of at most `width` columns, with white space collapsed, cut with an ellipsis. */
export function oneLine(text: string, width: number, ellipsis = '…'): string {
  if (width <= 0) return '';
  // Far more than any line shows, so that cutting a huge text is cheap.
  const enough = text.slice(0, width * 16 + 4096);
  const line = forTerminal(enough.replace(/\s+/g, ' ').trim());
  const cut = takeColumns(line, width);
  if (cut.length === line.length && enough.length === text.length) return line;
  return takeColumns(line, width - columns(ellipsis)) + takeColumns(ellipsis, width);
}

/** Escaped text as lines of at most `width` columns. Longer lines are continued on the next one. */
export function wrapLines(text: string, width: number): string[] {
  const most = Math.max(1, width);
  const lines = forTerminal(text).replaceAll('\t', TAB).split('\n');
  return lines.flatMap((line) => wrapLine(line, most));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  if (ASCII.test(line)) {
    for (let at = 0; at < line.length; at += width) lines.push(line.slice(at, at + width));
    return lines.length === 0 ? [''] : lines;
  }
  let used = 0;
  let start = 0;
  for (const { segment, index } of characters(line)) {
    const wide = characterColumns(segment);
    // A character wider than the whole line is still printed.
    if (used + wide > width && used > 0) {
      lines.push(line.slice(start, index));
      start = index;
      used = 0;
    }
    used += wide;
  }
  lines.push(line.slice(start));
  return lines;
}

/** The longest prefix of escaped text that fits into `width` columns, whole characters only. */
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

/** Enough of a text for `width` columns: no real character has more than 32 units per column. */
function boundedHead(text: string, width: number): string {
  const head = text.slice(0, (width + 1) * 32);
  return /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** Rows of a table with aligned columns; columns of figures are right-aligned. */
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
