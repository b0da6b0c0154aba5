/** The look of the views: colours, signs, and lines cut to the available columns. */
import { own } from '../lib/own.ts';
import { columns, oneLine, takeColumns } from '../lib/terminal-text.ts';

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'inverse';

export interface TuiStyle {
  colour: Record<Colour, (text: string) => string>;
  /** Whether non-ASCII characters may be used. */
  unicode: boolean;
}

export interface Size {
  cols: number;
  rows: number;
}

export type Tone = Exclude<Colour, 'inverse'> | 'plain';

const MARKS: Readonly<Record<string, { sign: string; ascii: string; tone: Tone }>> = {
  ok: { sign: '✓', ascii: '+', tone: 'green' },
  error: { sign: '✗', ascii: 'x', tone: 'red' },
  timeout: { sign: '✗', ascii: 'x', tone: 'red' },
  denied: { sign: '⊘', ascii: '-', tone: 'yellow' },
  cancelled: { sign: '⊘', ascii: '-', tone: 'yellow' },
};
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_ASCII = ['|', '/', '-', '\\'];
const SPINNER_FRAME_MS = 100;

/** The sign of a call's status; `?` for an unknown one. */
export function markOf(status: string, unicode: boolean): { sign: string; tone: Tone } {
  const mark = own(MARKS, status);
  if (mark === undefined) return { sign: '?', tone: 'dim' };
  return { sign: unicode ? mark.sign : mark.ascii, tone: mark.tone };
}

/** A spinner that moves during activity. */
export function spinnerOf(now_ms: number, unicode: boolean): string {
  const frames = unicode ? SPINNER : SPINNER_ASCII;
  return frames[Math.floor(Math.max(0, now_ms) / SPINNER_FRAME_MS) % frames.length] ?? '*';
}

const ellipsisOf = ({ unicode }: TuiStyle) => (unicode ? '…' : '...');
export const separatorOf = ({ unicode }: TuiStyle) => (unicode ? ' · ' : ' - ');
/** The mark before the selected line. */
export const gutterOf = (selected: boolean, { unicode, colour }: TuiStyle) =>
  selected ? colour.cyan(unicode ? '› ' : '> ') : '  ';
export const GUTTER_COLS = 2;

export const painted = (text: string, tone: Tone, { colour }: TuiStyle) =>
  tone === 'plain' ? text : colour[tone](text);

/** Foreign text on one line, escaped and cut to the available columns. */
export const cut = (text: string, room: number, style: TuiStyle) =>
  oneLine(text, room, ellipsisOf(style));

/** Exactly `width` columns. `text` is escaped, and may have our own colours if it fits. */
export function fill(text: string, width: number): string {
  const wide = columns(text);
  return wide > width ? takeColumns(text, width) : text + ' '.repeat(width - wide);
}

const COLOUR = /\u001b\[\d+m/g;
const COLOURED = /(\u001b\[\d+m)/;

/** A line of at most `width` columns that may have our own colours; a line that is too long loses them. */
export const clipped = (line: string, width: number) =>
  columns(line) <= width ? line : takeColumns(line.replace(COLOUR, ''), width);

/** Texts at both ends of a line, with margins. If they do not fit, the left one is cut or the right one omitted. */
export function ends(left: string, right: string, width: number, style: TuiStyle): string {
  const room = width - columns(right) - 3;
  if (room < 12) return fill(` ${cut(left, width - 2, style)}`, width);
  return ` ${fill(cut(left, room, style), room)} ${right} `;
}

/** Keys at the left, as many as fit, and the position at the right. The help is always among them. */
export function footOf(
  hints: readonly string[],
  where: string,
  width: number,
  style: TuiStyle,
): string {
  const dot = separatorOf(style);
  const parts = hints.map((text, at) => ({ text, rank: /^\? /.test(text) ? -1 : at }));
  const room = width - 2 - (where === '' ? 0 : columns(where) + 1);
  return style.colour.dim(ends(fitting(parts, room, dot).join(dot), where, width, style));
}

/** `text` with the matches of a search marked; its colours are not searched. */
export function marked(text: string, search: RegExp | null, { colour }: TuiStyle): string {
  if (search === null) return text;
  const mark = (part: string) =>
    part.replace(search, (found) => colour.yellow(colour.inverse(found)));
  return text
    .split(COLOURED)
    .map((part, at) => (at % 2 === 1 ? part : mark(part)))
    .join('');
}

/** The selected line as a bar of `width` columns. A match in it is a yellow field, too. */
export function barOf(line: string, width: number, style: TuiStyle, search: RegExp | null): string {
  const text = fill(line.replace(COLOUR, ''), width);
  const { yellow, inverse } = style.colour;
  return inverse(search === null ? text : text.replace(search, (found) => yellow(found)));
}

/** As many parts as fit, in their order; those with the lowest rank come first. */
export function fitting(
  parts: readonly { text: string; rank: number }[],
  room: number,
  separator: string,
): string[] {
  const kept = new Set<{ text: string }>();
  let used = -columns(separator);
  for (const part of parts.toSorted((a, b) => a.rank - b.rank)) {
    const wide = columns(separator) + columns(part.text);
    if (kept.size > 0 && used + wide > room) continue;
    used += wide;
    kept.add(part);
  }
  return parts.filter((part) => kept.has(part)).map(({ text }) => text);
}

const SPECIAL = /[.*+?^${}()|[\]\\]/g;

/** A case-insensitive pattern for any of the texts; null for none. */
export function searchOf(...texts: string[]): RegExp | null {
  const sought = texts.filter((text) => text !== '').map((text) => text.replace(SPECIAL, '\\$&'));
  return sought.length === 0 ? null : new RegExp(sought.join('|'), 'giu');
}
