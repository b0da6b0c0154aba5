/**
 * Escapes foreign text for its destination: a terminal, the log of GitHub Actions, JSON on standard output.
 * Contract: everything stays visible and nothing is interpreted. Applying a function twice is harmless.
 */
import { byteText } from './byte-text.ts';
import { lazy } from './lazy.ts';

const PLAIN = /^[\x20-\x7e\n\t]*$/;
/** These join characters into one emoji. Elsewhere they are invisible. */
const JOINING = /[\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}]/u;
/** The escape sequences in colours.ts; none of them hides text, moves the cursor or queries the terminal. */
const OWN_COLOURS = /(\u001b\[(?:0|1|2|7|22|27|3[1-6]|39)m)/;

/** Compiled on first use: these two patterns take about 20 ms, and most texts need neither. */
const unsafePattern = lazy(
  () => /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t]]/gv,
);

/** About 50 times slower than `unsafePattern`, so used only for lines with a joining character. */
const emojiPattern = lazy(() => new RegExp(`(\\p{RGI_Emoji})|${unsafePattern().source}`, 'gv'));

/** Replaces every control, reordering or invisible character except LF and TAB with a visible `\u{…}`. CRLF becomes LF. */
export function forTerminal(text: string): string {
  if (PLAIN.test(text)) return text;
  const unix = text.replaceAll('\r\n', '\n');
  if (unix.search(unsafePattern()) === -1) return unix;
  if (!JOINING.test(unix)) return unix.replace(unsafePattern(), escaped);
  return unix.split('\n').map(lineForTerminal).join('\n');
}

/** The same, but keeps tacho's own colours. */
export function forColourTerminal(text: string): string {
  if (!text.includes('\u001b')) return forTerminal(text);
  return text
    .split(OWN_COLOURS)
    .map((part, at) => (at % 2 === 1 ? part : forTerminal(part)))
    .join('');
}

function lineForTerminal(line: string): string {
  if (!JOINING.test(line)) return line.replace(unsafePattern(), escaped);
  return line.replace(emojiPattern(), (found, emoji?: string) => emoji ?? escaped(found));
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A workflow command: `::` at the beginning of a line, after blanks, or `##[` anywhere in it. */
const LINE_COMMAND = /^((?:[^\S\n\r\u2028\u2029]|\u001b\[\d+m)*:):/gm;
const INNER_COMMAND = /##\[/g;
/** The beginning of a line that may become a command: blanks and the first colon. */
const LINE_OPEN = /^(?:\s|\u001b\[\d+m)*(:?)$/;

/** Escapes workflow commands of GitHub Actions in complete lines. */
export function forActions(text: string): string {
  return text.replace(LINE_COMMAND, '$1\\u{3a}').replace(INNER_COMMAND, '##\\u{5b}');
}

/** `forActions` for text in pieces: a command may be split between two pieces. */
export function createActionsFilter(): (piece: string) => string {
  /** The printed part of the open line: only blanks, the beginning of a command, or other text. */
  let before = '';
  return (piece) => {
    const whole = before + piece;
    const safe = forActions(whole).slice(before.length);
    const line = whole.slice(whole.lastIndexOf('\n') + 1);
    before = LINE_OPEN.exec(line)?.[1] ?? `x${/#{0,2}$/.exec(line.slice(-2))?.[0]}`;
    return safe;
  };
}

/** Text without elements and entities of XML or HTML. */
export const withoutMarkup = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Characters that a terminal interprets, beyond the controls that XML cannot contain. */
const UNSAFE_XML = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** XML text or attribute in which characters that a terminal or GitHub Actions interprets are references, with the same value. */
export function forXml(xml: string): string {
  return xml
    .replace(UNSAFE_XML, (found) => `&#${found.charCodeAt(0)};`)
    .replace(LINE_COMMAND, '$1&#58;')
    .replace(INNER_COMMAND, '##&#91;');
}

/** As UTF-8 bytes: CR, DEL, C1 controls, bidirectional marks, line separators, and `##[`. */
const UNSAFE_JSON =
  /[\r\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|##\[/;
const UNSAFE_JSON_ALL = new RegExp(UNSAFE_JSON.source, 'g');
/** The first bytes of all of them except `THREE_BYTES`. Most texts contain none of these. */
const RARE = [0x0d, 0x7f, 0xc2, 0xd8, '##['];
const THREE_BYTES = /\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]/;
/** An incomplete sequence at the end of a piece. */
const UNFINISHED = /(?:\xc2|\xd8|\xe2[\x80\x81]?|#{1,2})$/;

/** JSON text in which characters that a terminal or GitHub Actions interprets are `\u…` escapes, with the same value. */
export function forJson(text: string | Uint8Array): Buffer {
  const bytes = bytesOf(text);
  return isSafeJson(bytes) ? bytes : escapedJson(latinOf(bytes));
}

/** `forJson` for text in pieces. The last piece of a JSON text ends with a bracket or LF, so nothing is held back. */
export function createJsonFilter(): (piece: string | Uint8Array) => Buffer {
  let held = '';
  return (piece) => {
    const bytes = bytesOf(piece);
    const end = UNFINISHED.exec(held + latinOf(bytes.subarray(-2)))?.[0].length ?? 0;
    if (held === '' && end === 0 && isSafeJson(bytes)) return bytes;
    const latin = held + latinOf(bytes);
    held = latin.slice(latin.length - end);
    return escapedJson(latin.slice(0, latin.length - end));
  };
}

/** Searching for single bytes takes a tenth of the time of the whole pattern. */
function isSafeJson(bytes: Buffer): boolean {
  if (RARE.some((each) => bytes.includes(each))) return !matches(bytes, UNSAFE_JSON);
  return !bytes.includes(0xe2) || !matches(bytes, THREE_BYTES);
}

/** Strings of this size are cheap to create. The windows overlap by the longest match of a pattern. */
const WINDOW_BYTES = 16 * 1024;
const OVERLAP_BYTES = 2;

function matches(bytes: Buffer, pattern: RegExp): boolean {
  for (let at = 0; at < bytes.length; at += WINDOW_BYTES)
    if (
      pattern.test(byteText(bytes, at, Math.min(at + WINDOW_BYTES + OVERLAP_BYTES, bytes.length)))
    )
      return true;
  return false;
}

const latinOf = (bytes: Buffer) => byteText(bytes, 0, bytes.length);

function bytesOf(text: string | Uint8Array): Buffer {
  if (typeof text === 'string') return Buffer.from(text, 'utf8');
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength);
}

function escapedJson(latin: string): Buffer {
  return Buffer.from(latin.replace(UNSAFE_JSON_ALL, escapedUnit), 'latin1');
}

function escapedUnit(found: string): string {
  // A carriage return can only be between two tokens: JSON strings cannot contain it.
  if (found === '\r') return ' ';
  if (found === '##[') return '#\\u0023[';
  const unit = Buffer.from(found, 'latin1').toString('utf8').charCodeAt(0);
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
