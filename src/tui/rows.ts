/** Rows of a run as lines of the list. */
import { durationText } from '../lib/figures.ts';
import { columns, takeColumns, wrapLines } from '../lib/terminal-text.ts';
import { type CallRow, isHidden, type NoteRow, type Row, type TextRow } from './row.ts';
import { lastId, rowAt, type TuiState } from './state.ts';
import { cut, marked, markOf, painted, spinnerOf, type Tone, type TuiStyle } from './style.ts';
import type { Shape } from './window.ts';

export interface RowStyle extends TuiStyle {
  cols: number;
  now_ms: number;
  search: RegExp | null;
}

const INDENT = '  ';

export function shapeOf(state: TuiState, cols: number): Shape {
  return {
    first: state.firstId,
    last: lastId(state),
    height: (id) => heightOf(rowAt(state, id), cols),
  };
}

function heightOf(row: Row | undefined, cols: number): number {
  if (row === undefined || isHidden(row)) return 0;
  if (row.kind === 'text') return textLines(row, cols).length;
  return row.kind === 'call' ? 1 + row.below.length : 1;
}

/** Wrapping is expensive and most rows never change: the last result is cached with the row. */
const wrapped = new WeakMap<TextRow, { cols: number; text: string; lines: string[] }>();

function textLines(row: TextRow, cols: number): string[] {
  const kept = wrapped.get(row);
  if (kept !== undefined && kept.cols === cols && kept.text === row.text) return kept.lines;
  const lines = wrapLines(row.text, cols);
  wrapped.set(row, { cols, text: row.text, lines });
  return lines;
}

export function rowLines(row: Row, style: RowStyle): string[] {
  if (row.kind === 'text')
    return textLines(row, style.cols).map((line) => marked(line, style.search, style));
  if (row.kind === 'note') return [noteLine(row, style)];
  return [callLine(row, style), ...row.below.map((text) => belowLine(row, text, style))];
}

function noteLine({ depth, name, text, tone }: NoteRow, style: RowStyle): string {
  const indent = takeColumns(INDENT.repeat(depth), style.cols);
  const line = cut(name === null ? text : `${name}: ${text}`, style.cols - indent.length, style);
  return indent + painted(marked(line, style.search, style), tone, style);
}

function belowLine({ depth, status }: CallRow, text: string, style: RowStyle): string {
  const indent = takeColumns(INDENT.repeat(depth + 1), style.cols);
  const tone = status === 'ok' ? diffTone(text) : 'dim';
  return indent + painted(diffLine(text, style.cols - indent.length, style), tone, style);
}

/** The sign and the indentation of a line are part of a diff, but cutting a line would remove them. */
function diffLine(text: string, room: number, style: RowStyle): string {
  const lead = takeColumns(/^[-+@ ]? */.exec(text.replaceAll('\t', INDENT))?.[0] ?? '', room >> 1);
  const rest = cut(text.slice(1).trimStart(), room - lead.length, style);
  const whole = /^[-+@ ]/.test(text) ? lead + rest : cut(text, room, style);
  return marked(whole, style.search, style);
}

export function diffTone(line: string): Tone {
  if (line.startsWith('+')) return 'green';
  if (line.startsWith('-')) return 'red';
  return line.startsWith('@') ? 'cyan' : 'dim';
}

function callLine(call: CallRow, style: RowStyle): string {
  const { colour, cols } = style;
  const indent = INDENT.repeat(call.depth);
  const tool = cut(call.tool, 40, style);
  const notes = cut(callNotes(call, style.now_ms).join(' '), Math.max(4, cols >> 1), style);
  const room = cols - indent.length - columns(tool) - columns(notes) - 4;
  const { sign, tone } = callMark(call, style);
  // Too narrow for a coloured line: its plain beginning.
  if (room < 0) return takeColumns(`${indent}${sign} ${tool} ${notes}`, cols);
  const about = cut(call.about, room, style);
  const gap = ' '.repeat(Math.max(1, room - columns(about) + 1));
  const text = marked(about, style.search, style);
  return `${indent}${painted(sign, tone, style)} ${colour.bold(tool)} ${text}${gap}${colour.dim(notes)}`;
}

/** A sign for the status of a call; it moves while the call runs. */
export function callMark({ status }: CallRow, { now_ms, unicode }: RowStyle) {
  if (status !== null) return markOf(status, unicode);
  return { sign: spinnerOf(now_ms, unicode), tone: 'dim' as const };
}

/** How a call ended, and how long it took. */
export function callNotes(call: CallRow, now_ms: number): string[] {
  const hidden = call.folded ? [`+${call.children} folded`] : [];
  if (call.status === null) return [...hidden, elapsedText(now_ms - call.since_ms)];
  const notes: string[] = [...hidden];
  if (call.exit_code !== null && call.exit_code !== 0) notes.push(`exit ${call.exit_code}`);
  else if (call.status !== 'ok' && call.status !== 'error') notes.push(call.status);
  if (call.duration_ms !== null) notes.push(durationText(call.duration_ms));
  return notes;
}

/** Elapsed time in whole seconds, so that it does not flicker. */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds}s` : durationText(seconds * 1000);
}

/** Whether a search matches the line of a row or its details. */
export function isFound(row: Row, search: RegExp): boolean {
  const has = (text: string | undefined) => text !== undefined && text.search(search) >= 0;
  if (row.kind === 'text') return has(row.text);
  const { input, output, diff, text } = row.parts;
  const lines = row.kind === 'call' ? [row.tool, row.about] : [row.text];
  return [...lines, input, output, diff, text].some(has);
}
