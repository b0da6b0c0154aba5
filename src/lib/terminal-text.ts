/**
 * Foreign text made harmless for a terminal, and measured in columns.
 * An agent's text may hold escape sequences, text that reorders itself or text that cannot be seen: all of it is shown, none obeyed.
 */
import stringWidth from 'string-width';

const UNSAFE = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t]]/gv;
/** What joins characters to one emoji, and is invisible text everywhere else. */
const JOINING = /[\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}]/u;
/** Some 50 times slower than UNSAFE, hence only for lines with something joining in them. */
const EMOJI_OR_UNSAFE = new RegExp(`(\\p{RGI_Emoji})|${UNSAFE.source}`, 'gv');
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const ASCII = /^[\x20-\x7e]*$/;
const TAB = '    ';
const segmenter = new Intl.Segmenter();

/** `text` with every control, reordering or invisible character but LF and TAB as a visible `\u{…}`; CRLF becomes LF. */
export function forTerminal(text: string): string {
  if (PLAIN.test(text)) return text;
  const unix = text.replaceAll('\r\n', '\n');
  if (unix.search(UNSAFE) === -1) return unix;
  if (!JOINING.test(unix)) return unix.replace(UNSAFE, escaped);
  return unix.split('\n').map(lineForTerminal).join('\n');
}

function lineForTerminal(line: string): string {
  if (!JOINING.test(line)) return line.replace(UNSAFE, escaped);
  return line.replace(EMOJI_OR_UNSAFE, (found, emoji?: string) => emoji ?? escaped(found));
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
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
  for (const { segment, index } of segmenter.segment(line)) {
    const wide = characterColumns(segment);
    // A character wider than the whole line still has to go somewhere.
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

/** The longest beginning of harmless text that fits into `width` columns, whole characters only. */
export function takeColumns(text: string, width: number): string {
  const most = Math.max(0, width);
  const ascii = text.slice(0, most + 1);
  if (ASCII.test(ascii)) return ascii.slice(0, most);
  let used = 0;
  let end = 0;
  for (const { segment, index } of segmenter.segment(boundedHead(text, most))) {
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

/** Most characters are Latin and take one column; measuring the others costs some microseconds each. */
function characterColumns(character: string): number {
  const code = character.charCodeAt(0);
  const latin = (code >= 0x20 && code < 0x7f) || (code >= 0xc0 && code < 0x300);
  return latin && character.length === 1 ? 1 : columns(character);
}
