/**
 * The live view as lines: pure functions of state, place and size.
 * Contract: exactly `rows` lines, each at most `cols` columns, all foreign text harmless.
 */

import { costText, countText, durationText } from '../lib/figures.ts';
import { own } from '../lib/own.ts';
import { columns, oneLine, takeColumns, wrapLines } from '../lib/terminal-text.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { CallRow, Row, TextRow, TuiState } from './state.ts';

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'inverse';

export interface TuiStyle {
  colour: Record<Colour, (text: string) => string>;
  unicode: boolean;
}

export interface Size {
  cols: number;
  rows: number;
}

/** What the body shows: the end, as it grows, or from a line of a row on. */
export type Place = 'end' | { row: number; line: number };
export type Scroll = { by: number } | 'first' | 'last';

const HEAD_LINES = 1;
const FOOT_LINES = 1;
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_ASCII = ['|', '/', '-', '\\'];
const SPINNER_FRAME_MS = 100;

const MARKS: Record<string, { sign: string; ascii: string; paint: Colour }> = {
  ok: { sign: '✓', ascii: '+', paint: 'green' },
  error: { sign: '✗', ascii: 'x', paint: 'red' },
  timeout: { sign: '✗', ascii: 'x', paint: 'red' },
  denied: { sign: '⊘', ascii: '-', paint: 'yellow' },
  cancelled: { sign: '⊘', ascii: '-', paint: 'yellow' },
};

export const bodyRows = ({ rows }: Size) => Math.max(0, rows - HEAD_LINES - FOOT_LINES);

interface Body {
  state: TuiState;
  place: Place;
  size: Size;
}

export interface Frame extends Body {
  now_ms: number;
  cancelling: boolean;
}

export function layout(frame: Frame, style: TuiStyle): string[] {
  const { size } = frame;
  const { heights, total } = heightsOf(frame);
  const room = bodyRows(size);
  const top = topLine(frame, heights, total);
  const lines = [headerLine(frame, style), ...bodyLines(frame, style, { heights, top, room })];
  while (lines.length < size.rows - FOOT_LINES) lines.push('');
  lines.push(footerLine(frame, style, { top, total, room }));
  return lines.slice(0, size.rows);
}

/** The place after scrolling; reaching the end means following it again. */
export function scroll(frame: Body, step: Scroll): Place {
  const { heights, total } = heightsOf(frame);
  const last = Math.max(0, total - bodyRows(frame.size));
  const from = topLine(frame, heights, total);
  const wanted = step === 'first' ? 0 : step === 'last' ? last : from + step.by;
  let line = Math.max(0, wanted);
  if (line >= last) return 'end';
  let index = 0;
  while (line >= (heights[index] ?? Number.POSITIVE_INFINITY)) {
    line -= heights[index] ?? 0;
    index += 1;
  }
  return { row: frame.state.firstId + index, line };
}

function heightsOf({ state, size }: Body): { heights: number[]; total: number } {
  const heights = state.rows.map((row) => heightOf(row, size.cols));
  return { heights, total: heights.reduce((sum, height) => sum + height, 0) };
}

function topLine({ state, place, size }: Body, heights: number[], total: number): number {
  const last = Math.max(0, total - bodyRows(size));
  if (place === 'end') return last;
  const index = Math.max(0, place.row - state.firstId);
  const before = heights.slice(0, index).reduce((sum, height) => sum + height, 0);
  const within = Math.min(place.line, Math.max(0, (heights[index] ?? 1) - 1));
  return Math.min(last, before + within);
}

function bodyLines(
  frame: Frame,
  style: TuiStyle,
  window: { heights: readonly number[]; top: number; room: number },
): string[] {
  const lines: string[] = [];
  let at = 0;
  for (const [index, row] of frame.state.rows.entries()) {
    if (lines.length >= window.room) break;
    const height = window.heights[index] ?? 1;
    if (at + height > window.top) {
      const skip = Math.max(0, window.top - at);
      lines.push(...rowLines(row, frame, style).slice(skip, skip + window.room - lines.length));
    }
    at += height;
  }
  return lines;
}

/** Wrapping is what costs, and most rows never change: the last result is kept with the row. */
const wrapped = new WeakMap<TextRow, { cols: number; text: string; lines: string[] }>();

function textLines(row: TextRow, cols: number): string[] {
  const kept = wrapped.get(row);
  if (kept !== undefined && kept.cols === cols && kept.text === row.text) return kept.lines;
  const lines = wrapLines(row.text, cols);
  wrapped.set(row, { cols, text: row.text, lines });
  return lines;
}

function heightOf(row: Row, cols: number): number {
  return row.kind === 'text' ? textLines(row, cols).length : 1;
}

function rowLines(row: Row, frame: Frame, style: TuiStyle): string[] {
  const { cols } = frame.size;
  if (row.kind === 'text') return textLines(row, cols);
  if (row.kind === 'call') return [callLine(row, frame, style)];
  const indent = ' '.repeat(Math.min(cols, row.indent * 2));
  const text = oneLine(row.text, cols - indent.length, ellipsisOf(style));
  return [indent + style.colour[row.tone](text)];
}

function callLine(call: CallRow, { size, now_ms }: Frame, style: TuiStyle): string {
  const { colour, unicode } = style;
  const indent = call.nested ? '  ' : '';
  const tool = oneLine(call.tool, 40, ellipsisOf(style));
  const notes = callNotes(call, now_ms);
  const room = size.cols - indent.length - columns(tool) - columns(notes) - 4;
  const about = oneLine(call.about, room, ellipsisOf(style));
  // Too narrow for a painted line: the plain beginning of it.
  if (room < 0)
    return takeColumns(`${indent}${markSign(call, now_ms, unicode)} ${tool} ${notes}`, size.cols);
  const paint = own(MARKS, call.status ?? '')?.paint ?? 'dim';
  const mark = colour[paint](markSign(call, now_ms, unicode));
  const gap = ' '.repeat(Math.max(1, room - columns(about) + 1));
  return `${indent}${mark} ${colour.bold(tool)} ${about}${gap}${colour.dim(notes)}`;
}

function callNotes(call: CallRow, now_ms: number): string {
  if (call.status === null) return elapsedText(now_ms - call.since_ms);
  const notes: string[] = [];
  if (call.exit_code !== null && call.exit_code !== 0) notes.push(`exit ${call.exit_code}`);
  else if (call.status !== 'ok' && call.status !== 'error') notes.push(call.status);
  if (call.duration_ms !== null) notes.push(durationText(call.duration_ms));
  return notes.join(' ');
}

function markSign(call: CallRow, now_ms: number, unicode: boolean): string {
  if (call.status !== null) {
    const mark = own(MARKS, call.status);
    return mark === undefined ? '?' : unicode ? mark.sign : mark.ascii;
  }
  const frames = unicode ? SPINNER : SPINNER_ASCII;
  return frames[Math.floor(Math.max(0, now_ms) / SPINNER_FRAME_MS) % frames.length] ?? '*';
}

function headerLine({ state, size, now_ms }: Frame, style: TuiStyle): string {
  const { run } = state;
  const end = run.finished?.data ?? null;
  const took = end?.duration_ms ?? null;
  const name = [state.agent, run.agent_version].filter((part) => part !== null).join(' ');
  const tokens = tokensUsed(run.usage.tokens);
  const { cost_usd } = run.usage;
  const facts = [
    name,
    run.names.model ?? 'model unknown',
    `step ${run.step}`,
    took === null ? elapsedText(now_ms - state.began_ms) : durationText(took),
    tokens === null ? 'tokens unknown' : `${countText(tokens)} tokens`,
    cost_usd === null ? 'cost unknown' : costText(cost_usd),
  ];
  if (end !== null) facts.push(end.exit_reason);
  const text = oneLine(facts.join(separatorOf(style)), size.cols - 2, ellipsisOf(style));
  return style.colour.inverse(fill(` ${text}`, size.cols));
}

function footerLine(
  { place, size, cancelling }: Frame,
  style: TuiStyle,
  window: { top: number; total: number; room: number },
): string {
  const arrows = style.unicode ? '↑↓ PgUp PgDn' : 'j k PgUp PgDn';
  const keys = cancelling
    ? 'cancelling'
    : ['q cancel', `${arrows} scroll`, 'G follow'].join(separatorOf(style));
  const last = Math.min(window.total, window.top + window.room);
  const where = place === 'end' ? 'following' : `line ${last} of ${window.total}`;
  const room = size.cols - where.length - 3;
  if (room < 0) return style.colour.dim(takeColumns(where, size.cols));
  const left = oneLine(keys, room, ellipsisOf(style));
  return style.colour.dim(fill(` ${left}`, size.cols - where.length - 1) + where);
}

const fill = (text: string, width: number) =>
  takeColumns(text, width) + ' '.repeat(Math.max(0, width - columns(text)));

/** Elapsed time in whole seconds: a figure that runs must not flicker. */
function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds}s` : durationText(seconds * 1000);
}

const ellipsisOf = ({ unicode }: TuiStyle) => (unicode ? '…' : '...');
const separatorOf = ({ unicode }: TuiStyle) => (unicode ? ' · ' : ' - ');
