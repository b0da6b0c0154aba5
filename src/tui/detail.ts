/** The details of a row: everything that the view keeps of it, as lines. */
import { takeColumns, wrapLines } from '../lib/terminal-text.ts';
import { TUI_LIMITS } from './limits.ts';
import type { Row } from './row.ts';
import { callMark, callNotes, diffTone, type RowStyle } from './rows.ts';
import type { TuiState } from './state.ts';
import { cut, marked, painted, separatorOf, type Tone } from './style.ts';

/** An escaped line that fits, and its colour. */
export interface PageLine {
  text: string;
  tone: Tone;
}

/** One line that names the opened row. */
export function titleOf(row: Row, style: RowStyle): string {
  if (row.kind !== 'call') return style.colour.bold(row.kind === 'text' ? 'message' : 'note');
  const { sign, tone } = callMark(row, style);
  const facts = [
    row.status ?? 'running',
    ...callNotes(row, style.now_ms).filter((n) => n !== row.status),
  ];
  const text = cut(
    [`${row.tool} `, ...facts, `step ${row.step}`].join(separatorOf(style)),
    style.cols - 2,
    style,
  );
  return `${painted(sign, tone, style)} ${style.colour.bold(text)}`;
}

interface Page {
  key: string;
  lines: PageLine[];
}
/** Wrapping is expensive: the lines of a row are cached until it changes. */
const pages = new WeakMap<Row, Page>();

export function detailLines(state: TuiState, row: Row, cols: number): PageLine[] {
  const sections = sectionsOf(state, row);
  const key = [cols, ...sections.map(([, text]) => text.length)].join(' ');
  const kept = pages.get(row);
  if (kept?.key === key) return kept.lines;
  const lines = sections.flatMap(([name, text, toneOf], index) => [
    ...(index > 0 ? [{ text: '', tone: 'plain' as const }] : []),
    ...(name === '' ? [] : [{ text: name, tone: 'bold' as const }]),
    ...wrapped(text, cols, toneOf),
  ]);
  pages.set(row, { key, lines });
  return lines;
}

function wrapped(text: string, cols: number, toneOf: (line: string) => Tone): PageLine[] {
  return text.split('\n').flatMap((line) => {
    const tone = toneOf(line);
    return wrapLines(line, cols).map((part) => ({ text: part, tone }));
  });
}

type Section = [name: string, text: string, toneOf: (line: string) => Tone];

const plain = () => 'plain' as const;
const warning = () => 'yellow' as const;

function sectionsOf(state: TuiState, row: Row): Section[] {
  if (row.kind === 'text') return [['', messageOf(state, row), plain]];
  if (row.kind === 'note') return [['', row.parts.text ?? row.text, plain], ...lossOf(state, row)];
  const { input, output, diff } = row.parts;
  const sections: Section[] = [];
  if (row.reason !== null) sections.push(['denied', row.reason, warning]);
  // The texts of an edit are in its diff.
  if (diff !== undefined) sections.push(['', row.about, plain], ['diff', diff, diffTone]);
  else sections.push(['', input ?? row.about, plain]);
  if (output !== undefined) sections.push(['output', output, plain]);
  else if (row.status !== null && !row.parts.dropped)
    sections.push(['', '(no output)', () => 'dim']);
  return [...sections, ...lossOf(state, row)];
}

/** A note on texts that are not shown, and where to find them. */
function lossOf(state: TuiState, { parts }: Exclude<Row, { kind: 'text' }>): Section[] {
  const run = state.run.started?.run_id ?? 'last';
  const where = `tacho show ${run} --full prints all of it`;
  if (parts.dropped)
    return [['', `The view no longer has the texts of this line: ${where}.`, warning]];
  if (parts.missing === 0) return [];
  return [['', `${parts.missing} more characters: ${where}.`, warning]];
}

/** The lines of text around a row: its message, as far as the view has it. */
function messageOf({ rows }: TuiState, row: Row): string {
  const lines: string[] = [];
  let room = TUI_LIMITS.part_chars_max;
  const take = (at: number): string | null => {
    const each = rows[at];
    if (each?.kind !== 'text' || each.text.length > room) return null;
    room -= each.text.length + 1;
    return each.text;
  };
  const from = rows.indexOf(row);
  for (let at = from, text = take(at); text !== null; text = take(--at)) lines.unshift(text);
  for (let at = from + 1, text = take(at); text !== null; text = take(++at)) lines.push(text);
  return lines.join('\n').trim();
}

export const pageText = ({ text, tone }: PageLine, style: RowStyle) =>
  painted(marked(takeColumns(text, style.cols), style.search, style), tone, style);
