/**
 * Foreign text made harmless for a terminal, and measured in columns.
 * An agent's text may hold escape sequences, text that reorders itself or text that cannot be seen: all of it is shown, none obeyed.
 */
import stringWidth from 'string-width';

/** A whole emoji keeps its joiners, selectors and tags; everywhere else these are invisible text. */
const EMOJI_OR_UNSAFE =
  /(\p{RGI_Emoji})|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gv;
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const TAB = '    ';
const segmenter = new Intl.Segmenter();

/** `text` with every control, reordering or invisible character but LF and TAB as a visible `\u{…}`; CRLF becomes LF. */
export function forTerminal(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replaceAll('\r\n', '\n').replace(EMOJI_OR_UNSAFE, (found, emoji?: string) => {
    if (emoji !== undefined || found === '\n' || found === '\t') return found;
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** Columns that harmless text takes. */
export function columns(text: string): number {
  return stringWidth(text);
}

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

/** Harmless text as lines of at most `width` columns; a line that is too long goes on in the next one. */
export function wrapLines(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const line of forTerminal(text).replaceAll('\t', TAB).split('\n')) {
    let rest = line;
    do {
      const head = takeColumns(rest, Math.max(1, width));
      // A character wider than the whole line still has to go somewhere.
      const taken = head === '' ? firstCharacter(rest) : head;
      lines.push(taken);
      rest = rest.slice(taken.length);
    } while (rest !== '');
  }
  return lines;
}

/** The longest beginning of harmless text that fits into `width` columns, whole characters only. */
export function takeColumns(text: string, width: number): string {
  const most = Math.max(0, width);
  const ascii = text.slice(0, most + 1);
  if (/^[\x20-\x7e]*$/.test(ascii)) return ascii.slice(0, most);
  let used = 0;
  let end = 0;
  for (const { segment, index } of segmenter.segment(boundedHead(text, most))) {
    used += columns(segment);
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

function firstCharacter(text: string): string {
  for (const { segment } of segmenter.segment(boundedHead(text, 1))) return segment;
  return '';
}
