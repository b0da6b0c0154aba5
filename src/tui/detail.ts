/** The details of a row: everything that the view keeps of it, as lines. */
import { takeColumns, wrapLines } from '../lib/terminal-text.ts';
import { TUI_LIMITS } from './limits.ts';
import type { CallRow, NoteRow, Row, TextRow } from './row.ts';
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
  if (row.kind !== 'call')
    return style.colour.bold((row.kind === 'text' ? 'message' : row.name) ?? 'note');
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
  /** The row, or the first row of its message. */
  anchor: Row;
  key: string;
  lines: PageLine[];
}
/** Wrapping is expensive: the lines of the last row are cached until it changes. */
const pages = new WeakMap<TuiState, Page>();

export function detailLines(state: TuiState, row: Row, cols: number): PageLine[] {
  const { anchor, sections } = row.kind === 'text' ? messageOf(state, row) : callOrNote(state, row);
  const key = [cols, ...sections.map(([, text]) => text.length)].join(' ');
  const kept = pages.get(state);
  if (kept?.anchor === anchor && kept.key === key) return kept.lines;
  const lines = sections.flatMap(([name, text, toneOf], index) => [
    ...(index > 0 ? [{ text: '', tone: 'plain' as const }] : []),
    ...(name === '' ? [] : [{ text: name, tone: 'bold' as const }]),
    ...wrapped(text, cols, toneOf),
  ]);
  pages.set(state, { anchor, key, lines });
  return lines;
}

export function wrapped(text: string, cols: number, toneOf: (line: string) => Tone): PageLine[] {
  return text.split('\n').flatMap((line) => {
    const tone = toneOf(line);
    return wrapLines(line, cols).map((part) => ({ text: part, tone }));
  });
}

type Section = [name: string, text: string, toneOf: (line: string) => Tone];

const plain = () => 'plain' as const;
const warning = () => 'yellow' as const;

const callOrNote = (state: TuiState, row: CallRow | NoteRow) => ({
  anchor: row,
  sections: sectionsOf(state, row),
});

function sectionsOf(state: TuiState, row: CallRow | NoteRow): Section[] {
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
function lossOf(state: TuiState, { parts }: CallRow | NoteRow): Section[] {
  const run = state.run.started?.run_id ?? 'last';
  const where = `tacho show ${run} --full prints all of it`;
  if (parts.dropped)
    return [['', `The view no longer has the texts of this line: ${where}.`, warning]];
  if (parts.missing === 0) return [];
  return [['', `${parts.missing} more characters: ${where}.`, warning]];
}

/** The lines of text around a row: its message, as far as the view has it. */
function messageOf({ rows }: TuiState, row: TextRow): { anchor: Row; sections: Section[] } {
  const at = rows.indexOf(row);
  let room = TUI_LIMITS.part_chars_max - row.text.length;
  const fits = (index: number) => {
    const each = rows[index];
    if (each?.kind !== 'text' || each.text.length > room) return false;
    room -= each.text.length + 1;
    return true;
  };
  let first = at;
  let last = at;
  while (fits(first - 1)) first -= 1;
  while (fits(last + 1)) last += 1;
  const lines = rows.slice(first, last + 1) as TextRow[];
  const text = lines.map((line) => line.text).join('\n');
  return { anchor: rows[first] as Row, sections: [['', text.trim(), plain]] };
}

export const pageText = ({ text, tone }: PageLine, style: RowStyle) =>
  painted(marked(takeColumns(text, style.cols), style.search, style), tone, style);
