/** Foreign text for a terminal: measured in columns, truncated and wrapped. foreign-text.ts escapes it. */
import { characterColumns, characters, columns } from './columns.ts';
import { forTerminal } from './foreign-text.ts';

export { columns, forTerminal };

const ASCII = /^[\x20-\x7e]*$/;
const TAB = '    ';

/** Escaped text on one line of at most `width` columns, with white space collapsed, truncated with an ellipsis. */
export function oneLine(text: string, width: number, ellipsis = '…'): string {
  if (width <= 0) return '';
  // Far more than any line shows, so that truncating a huge text is cheap.
  const enough = text.slice(0, width * 16 + 4096);
  const line = forTerminal(enough.replace(/\s+/g, ' ').trim());
  const cut = takeColumns(line, width);
  if (cut.length === line.length && enough.length === text.length) return line;
  return takeColumns(line, width - columns(ellipsis)) + takeColumns(ellipsis, width);
}

/**
 * Escaped text as lines of at most `width` columns, broken between words. A word longer than a line is broken inside.
 * Spaces at a break are dropped.
 */
export function wrapLines(text: string, width: number): string[] {
  const most = Math.max(1, width);
  const lines = forTerminal(text).replaceAll('\t', TAB).split('\n');
  return lines.flatMap((line) => (ASCII.test(line) ? wrapAscii(line, most) : wrapLine(line, most)));
}

function wrapAscii(line: string, width: number): string[] {
  const lines: string[] = [];
  let start = 0;
  while (line.length - start > width) {
    const space = line.lastIndexOf(' ', start + width);
    const head = line.slice(start, Math.max(space, start)).trimEnd();
    // A break right after the indentation would leave an empty line.
    const whole = head.trim() !== '';
    lines.push(whole ? head : line.slice(start, start + width));
    start += whole ? space - start : width;
    if (whole) while (line[start] === ' ') start += 1;
  }
  if (start < line.length || lines.length === 0) lines.push(line.slice(start));
  return lines;
}

/** Characters of East Asian text that do not begin a line. */
// Escaped: the bundle is read one byte per character.
const NO_START =
  /^[\u3001\u3002\uff0c\uff0e\u30fb\uff1a\uff1b\uff1f\uff01\uff09\u300d\u300f\u3011\u3009\u300b\u3015\u30fc]/;

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let start = 0;
  let used = 0;
  /** The position where the line may be broken, and the columns before it. */
  let place = { at: 0, used: 0 };
  let before = 0;
  let word = false;
  for (const { segment, index } of characters(line)) {
    const wide = characterColumns(segment);
    const space = segment === ' ';
    const between = line[index - 1] === ' ' || before === 2 || (wide === 2 && index > start);
    if (word && !space && between && !NO_START.test(segment)) place = { at: index, used };
    // A character wider than the line is still printed.
    if (!space && used + wide > width && used > 0) {
      const fits = place.at > start;
      lines.push(fits ? line.slice(start, place.at).trimEnd() : line.slice(start, index));
      used -= fits ? place.used : used;
      start = fits ? place.at : index;
    }
    if (!space) word = true;
    used += wide;
    before = wide;
  }
  const rest = line.slice(start);
  lines.push(used > width ? rest.trimEnd() : rest);
  return lines;
}

/** The longest prefix of escaped text that fits into `width` columns, without splitting characters. */
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

/** Table rows with aligned columns; columns with figures are right-aligned. */
export function tableLines(
  rows: readonly (readonly string[])[],
  isFigure: (column: number) => boolean,
): string[] {
  const widthOf = (at: number) => Math.max(...rows.map((row) => columns(row[at] ?? '')));
  const widths = (rows[0] ?? []).map((_, at) => widthOf(at));
  const cell = (text: string, at: number) => {
    const blank = ' '.repeat(Math.max(0, (widths[at] ?? 0) - columns(text)));
    return isFigure(at) ? blank + text : text + blank;
  };
  return rows.map((row) => row.map(cell).join('  ').trimEnd());
}
