/** Pieces of the human text: marks, diffs, the summary. All foreign text is made harmless here. */

import { structuredPatch } from 'diff';
import { costText, countText, durationText, plural } from '../lib/figures.ts';
import { own } from '../lib/own.ts';
import { forTerminal, oneLine } from '../lib/terminal-text.ts';
import type { DataOf } from '../model/event.ts';
import type { Artifact } from '../model/outcome.ts';
import type { Usage } from '../model/parts.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';

type Paint = (text: string) => string;

/** Passed in, so that the projection knows no terminal. */
export interface Colours {
  bold: Paint;
  dim: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
  cyan: Paint;
}

export interface HumanStyle {
  colour: Colours;
  /** Whether signs beyond ASCII may be used. */
  unicode: boolean;
  /** Columns of a line. */
  width: number;
}

const DIFF_LINES_MAX = 12;
/** An edit larger than this is not compared: a person would not read the result. */
export const DIFF_CHARS_MAX = 20_000;
const FILES_NAMED_MAX = 8;

const MARKS: Record<CallStatus, { sign: string; ascii: string; paint: keyof Colours }> = {
  ok: { sign: '✓', ascii: '+', paint: 'green' },
  error: { sign: '✗', ascii: 'x', paint: 'red' },
  timeout: { sign: '✗', ascii: 'x', paint: 'red' },
  denied: { sign: '⊘', ascii: '-', paint: 'yellow' },
  cancelled: { sign: '⊘', ascii: '-', paint: 'yellow' },
  unknown: { sign: '?', ascii: '?', paint: 'dim' },
};

export function markOf(status: CallStatus, { colour, unicode }: HumanStyle): string {
  const mark = own(MARKS, status) ?? MARKS.unknown;
  return colour[mark.paint](unicode ? mark.sign : mark.ascii);
}

export function ellipsisOf({ unicode }: { unicode: boolean }): string {
  return unicode ? '…' : '...';
}

/** Cut to the line, harmless. */
export function lineOf(text: string, indent: number, style: HumanStyle): string {
  return oneLine(text, Math.max(10, style.width - indent), ellipsisOf(style));
}

/** The first lines of a text that have something to say, cut to the width; where there are more, how many. */
export function headLines(text: string, most: number, indent: number, style: HumanStyle): string[] {
  // Enough for the lines shown, however large the output is.
  const lines = text.slice(0, 64 * 1024).split('\n');
  const full = lines.filter((line) => line.trim() !== '');
  const shown = full.slice(0, most).map((line) => lineOf(line, indent, style));
  const more = full.length - shown.length;
  return more > 0 ? [...shown, `${ellipsisOf(style)} ${more} more`] : shown;
}

/** A unified diff as short coloured lines, without file headers. */
export function diffLines(diff: string, style: HumanStyle): string[] {
  const body = diff
    .slice(0, DIFF_CHARS_MAX)
    .split('\n')
    .filter((line) => /^[-+ @]/.test(line) && !/^(?:---|\+\+\+) /.test(line));
  const shown = body.slice(0, DIFF_LINES_MAX).map((line) => paintDiff(line, style));
  const more = body.length - shown.length;
  return more > 0 ? [...shown, style.colour.dim(`${ellipsisOf(style)} ${more} more`)] : shown;
}

/** The diff of an edit that names its old and new text; '' where there is none to show. */
export function editDiff(input: unknown): string {
  if (input === null || typeof input !== 'object') return '';
  const { old_string: before, new_string: after } = input as Record<string, unknown>;
  if (typeof before !== 'string' || typeof after !== 'string') return '';
  if (before.length + after.length > DIFF_CHARS_MAX) return '';
  const patch = structuredPatch('', '', before, after, '', '', { context: 1, maxEditLength: 500 });
  const lines = patch?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  return lines.filter((line) => !line.startsWith('\\')).join('\n');
}

function paintDiff(line: string, style: HumanStyle): string {
  const body = line.slice(1).replaceAll('\t', '  ');
  // The text's own indentation is part of a diff, and a line's cut takes it away.
  const indent = /^ */.exec(body)?.[0].slice(0, style.width >> 1) ?? '';
  const text = `${line[0] ?? ' '}${indent}${lineOf(body, indent.length + 6, style)}`;
  if (text.startsWith('+')) return style.colour.green(text);
  return text.startsWith('-') ? style.colour.red(text) : style.colour.dim(text);
}

/** The run in one line, with what is not known said to be so; then its error and the files it changed. */
export function summaryText(
  end: DataOf<'run_finished'>,
  files: readonly Artifact[],
  style: HumanStyle,
): string {
  const { colour } = style;
  const stopped = end.exit_reason === 'cancelled' ? 'cancelled' : 'error';
  const { grade, gaps } = end.completeness;
  const named = gaps.map((gap) => lineOf(gap, 0, style)).join(', ');
  const figures = [
    plural(end.steps, 'step'),
    plural(end.tool_calls, 'call'),
    tokensText(end.usage),
    end.cost_usd === null ? 'cost unknown' : costText(end.cost_usd),
    end.duration_ms === null ? 'duration unknown' : durationText(end.duration_ms),
    named === '' ? `record ${grade}` : `record ${grade}: ${named}`,
  ];
  const separator = style.unicode ? ' · ' : ' - ';
  const head = `${markOf(end.ok ? 'ok' : stopped, style)} ${colour.bold(end.exit_reason)}`;
  const error = end.error === null ? '' : `  ${colour.red(lineOf(end.error, 2, style))}\n`;
  const changed = files.length === 0 ? '' : `  ${colour.dim(filesText(files))}\n`;
  return `${head}${separator}${figures.join(separator)}\n${error}${changed}`;
}

function tokensText(usage: Usage | null): string {
  const { input = null, output = null, cache_read = null } = usage ?? {};
  const total = tokensUsed(usage);
  if (total === null) return 'tokens unknown';
  const parts = [
    input === null ? null : `${countText(input)} in`,
    output === null ? null : `${countText(output)} out`,
    cache_read === null || cache_read === 0 ? null : `${countText(cache_read)} cached`,
  ].filter((part) => part !== null);
  return `${countText(total)} tokens${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`;
}

function filesText(files: readonly Artifact[]): string {
  const named = files
    .slice(0, FILES_NAMED_MAX)
    .map((file) => `${forTerminal(file.path).replace(/\s+/g, ' ')} ${file.operation}`);
  const more = files.length - named.length;
  const rest = more > 0 ? `, and ${more} more` : '';
  return `${plural(files.length, 'file')} changed: ${named.join(', ')}${rest}`;
}
