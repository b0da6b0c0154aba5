/** Pieces of the human text: marks, diffs, the summary. All foreign text is escaped here. */

import { structuredPatch } from 'diff';
import {
  callsText,
  costText,
  durationText,
  plural,
  sourcedCost,
  tokensText,
} from '../lib/figures.ts';
import { shortRunId } from '../lib/ids.ts';
import { own } from '../lib/own.ts';
import { recordText } from '../lib/record-words.ts';
import { columns, forTerminal, oneLine, takeColumns, wrapLines } from '../lib/terminal-text.ts';
import type { EventOf } from '../model/event.ts';
import type { Artifact } from '../model/outcome.ts';
import { tokensUsed } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';

type Paint = (text: string) => string;

/** Passed in, so that the projection is independent of terminals. */
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
  /** Whether non-ASCII characters may be used. */
  unicode: boolean;
  /** Columns of a line. */
  width: number;
  /** Whether messages are wrapped to the width, as on a terminal; not in a file or pipe. */
  wrap?: boolean;
}

const DIFF_LINES_MAX = 12;
/** A larger edit is not compared: nobody would read the result. */
export const DIFF_CHARS_MAX = 20_000;
const FILES_NAMED_MAX = 8;

const MARKS: Record<CallStatus, { sign: string; ascii: string; paint: keyof Colours }> = {
  ok: { sign: '✓', ascii: 'ok', paint: 'green' },
  error: { sign: '✗', ascii: 'FAIL', paint: 'red' },
  timeout: { sign: '✗', ascii: 'FAIL', paint: 'red' },
  denied: { sign: '⊘', ascii: 'denied', paint: 'yellow' },
  cancelled: { sign: '⊘', ascii: 'stop', paint: 'yellow' },
  unknown: { sign: '?', ascii: '?', paint: 'dim' },
};

/** The plain marks of a list are aligned. */
const ASCII_COLUMNS = 'denied'.length;

/** The mark before the name of a call or run. */
export function markOf(status: CallStatus, { colour, unicode }: HumanStyle): string {
  const { sign, ascii, paint } = own(MARKS, status) ?? MARKS.unknown;
  return unicode
    ? colour[paint](sign)
    : colour[paint](ascii) + ' '.repeat(Math.max(0, ASCII_COLUMNS - ascii.length));
}

/** The status of a call in words; null if its mark already says it. */
export function statusNote(status: CallStatus, { unicode }: HumanStyle): string | null {
  const is_marked = status === 'ok' || status === 'error' || (!unicode && status === 'denied');
  return is_marked ? null : status;
}

export function dotOf({ unicode }: { unicode: boolean }): string {
  return unicode ? ' · ' : ' - ';
}

export function ellipsisOf({ unicode }: { unicode: boolean }): string {
  return unicode ? '…' : '...';
}

/** Foreign text, escaped and cut to the line. */
export function lineOf(text: string, indent: number, style: HumanStyle): string {
  return oneLine(text, roomOf(indent, style), ellipsisOf(style));
}

const roomOf = (indent: number, { width }: HumanStyle) => Math.max(10, width - indent);

/** Foreign text in at most `most` lines, wrapped after an indent; the last one has an ellipsis if there are more. */
export function wrappedLines(
  text: string,
  indent: number,
  style: HumanStyle,
  most = Number.POSITIVE_INFINITY,
): string[] {
  const room = roomOf(indent, style);
  // Enough for the lines shown, for a text of any size.
  const enough = text.slice(0, most === Number.POSITIVE_INFINITY ? text.length : room * most * 4);
  const lines = wrapLines(enough.trim(), room);
  if (lines.length <= most && enough.length === text.length) return lines;
  const shown = lines.slice(0, most);
  const last = `${takeColumns(shown.pop() ?? '', room - 4)}${ellipsisOf(style)}`;
  return [...shown, last];
}

/** Our own parts in lines, broken only between parts. */
export function flowed(parts: readonly string[], indent: string, style: HumanStyle): string {
  const dot = dotOf(style);
  let text = '';
  let used = 0;
  for (const part of parts) {
    const wide = columns(part);
    const fits = used + dot.length + wide <= style.width;
    text += used === 0 ? part : fits ? dot + part : `\n${indent}${part}`;
    used = used === 0 ? wide : fits ? used + dot.length + wide : indent.length + wide;
  }
  return `${text}\n`;
}

/** The escaped text of a message. */
export function proseOf(text: string, style: HumanStyle): string {
  return style.wrap ? wrapLines(text, style.width).join('\n') : forTerminal(text);
}

/** The first non-empty lines of a text, wrapped to the width, and the number of further lines. */
export function headLines(text: string, most: number, indent: number, style: HumanStyle): string[] {
  // Enough for the lines shown, for an output of any size.
  const lines = text.slice(0, 64 * 1024).split('\n');
  const full = lines
    .filter((line) => line.trim() !== '')
    .flatMap((line) => wrapLines(line.trimEnd(), roomOf(indent, style)));
  const shown = full.slice(0, most);
  const more = full.length - shown.length;
  return more > 0 ? [...shown, `${ellipsisOf(style)} ${plural(more, 'more line')}`] : shown;
}

/** A unified diff as short coloured lines, without file headers. */
export function diffLines(diff: string, style: HumanStyle): string[] {
  const body = diff
    .slice(0, DIFF_CHARS_MAX)
    .split('\n')
    .filter((line) => /^[-+ @]/.test(line) && !/^(?:---|\+\+\+) /.test(line));
  const shown = body.slice(0, DIFF_LINES_MAX).map((line) => paintDiff(line, style));
  const more = body.length - shown.length;
  return more > 0
    ? [...shown, style.colour.dim(`${ellipsisOf(style)} ${plural(more, 'more line')}`)]
    : shown;
}

/** The diff of an edit that has a patch, or old and new text; '' if there is none to show. */
export function editDiff(input: unknown): string {
  if (input === null || typeof input !== 'object') return '';
  const { old_string: before, new_string: after, ...rest } = input as Record<string, unknown>;
  const patch = Object.values(rest).find(isPatch);
  if (patch !== undefined) return patchDiff(patch);
  if (typeof before !== 'string' || typeof after !== 'string') return '';
  if (before.length + after.length > DIFF_CHARS_MAX) return '';
  const made = structuredPatch('', '', before, after, '', '', { context: 1, maxEditLength: 500 });
  const lines = made?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  return lines.filter((line) => !line.startsWith('\\')).join('\n');
}

const PATCH_BEGIN = '*** Begin Patch';

const isPatch = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith(PATCH_BEGIN);

/** The lines of a patch in the format of `apply_patch`, with a line per file. */
function patchDiff(patch: string): string {
  const lines = patch.slice(0, DIFF_CHARS_MAX).split('\n').slice(1);
  return lines
    .map((line) => line.replace(/^\*\*\* (Add|Update|Delete) File: /, '@@ '))
    .filter((line) => /^(?:[-+ ]|@@ )/.test(line))
    .join('\n');
}

function paintDiff(line: string, style: HumanStyle): string {
  const body = line.slice(1).replaceAll('\t', '  ');
  // The indentation is part of a diff, but cutting a line would remove it.
  const indent = /^ */.exec(body)?.[0].slice(0, style.width >> 1) ?? '';
  const text = `${line[0] ?? ' '}${indent}${lineOf(body, indent.length + 6, style)}`;
  if (text.startsWith('+')) return style.colour.green(text);
  return text.startsWith('-') ? style.colour.red(text) : style.colour.dim(text);
}

export interface SummaryFacts {
  failed: number;
  denied: number;
  files: readonly Artifact[];
  computed_usd: number | null;
}

/** The figures of the run, its complete error, the gaps of its record, the changed files, and how to show it again. */
export function summaryText(
  { run_id, data: end }: EventOf<'run_finished'>,
  { failed, denied, files, computed_usd }: SummaryFacts,
  style: HumanStyle,
): string {
  const { colour } = style;
  const record = recordText(end.completeness);
  const complete = end.completeness.grade === 'complete';
  const figures = [
    resultMark(end.ok, end.exit_reason, style),
    plural(end.steps, 'step'),
    callsText(end.tool_calls, failed, denied),
    tokensText(tokensUsed(end.usage), end.usage),
    end.cost_usd === null ? knownCost(computed_usd) : costText(end.cost_usd),
    end.duration_ms === null ? 'duration unknown' : durationText(end.duration_ms),
    // A failed run has its error directly below the figures.
    ...(complete && end.error === null ? [record] : []),
  ];
  const below = (text: string, paint: Paint) =>
    wrappedLines(text, 2, style)
      .map((line) => `  ${paint(line)}\n`)
      .join('');
  return [
    flowed(figures, '  ', style),
    end.error === null ? '' : below(end.error, colour.red),
    complete && end.error === null ? '' : below(record, complete ? colour.dim : colour.yellow),
    files.length === 0 ? '' : below(filesText(files), colour.dim),
    below(`read it again: tacho show ${shortRunId(run_id)}`, colour.dim),
  ].join('');
}

const knownCost = (computed_usd: number | null) =>
  computed_usd === null ? 'cost unknown' : sourcedCost(computed_usd, 'computed');

/** The mark and the code of a run's result. */
export function resultMark(ok: boolean, reason: string, style: HumanStyle): string {
  const mark = markOf(ok ? 'ok' : reason === 'cancelled' ? 'cancelled' : 'error', style);
  const word = style.colour.bold(oneLine(reason, 40));
  if (style.unicode) return `${mark} ${word}`;
  if (reason === 'ok') return mark.trimEnd();
  return reason === 'cancelled' ? word : `${mark.trimEnd()} ${word}`;
}

function filesText(files: readonly Artifact[]): string {
  const named = files
    .slice(0, FILES_NAMED_MAX)
    .map((file) => `${file.path.replace(/\s+/g, ' ')} ${file.operation}`);
  const more = files.length - named.length;
  const rest = more > 0 ? `, and ${more} more` : '';
  return `${plural(files.length, 'file')} changed: ${named.join(', ')}${rest}`;
}
