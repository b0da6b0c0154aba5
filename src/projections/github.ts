/** Output for GitHub Actions: annotations, as lines of output, and a step summary, as Markdown in a file. */
import { forActions, forTerminal } from '../lib/foreign-text.ts';
import { lazy } from '../lib/lazy.ts';
import { shortened, utf8Bytes } from '../lib/utf8.ts';

export interface Annotation {
  level: 'error' | 'warning' | 'notice';
  title: string;
  message: string;
  /** Relative to the repository; null for an annotation of the whole job. */
  file?: string | null;
  line?: number | null;
}

/** Actions shows ten of each level per step; the rest is only in the log. */
const ANNOTATIONS_SHOWN_MAX = 10;
/** Actions refuses a summary over 1 MiB. */
const SUMMARY_BYTES_MAX = 1024 * 1024;

/** The log shows annotations as plain text, too. */
const escapeData = (text: string) =>
  forActions(forTerminal(text)).replaceAll('%', '%25').replaceAll('\n', '%0A');
const escapeProperty = (text: string) =>
  escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** One line: foreign text in it cannot begin another command. */
export function annotationLine({ level, title, message, file, line }: Annotation): string {
  const properties = Object.entries({ file, line, title })
    .filter(([, value]) => value != null && value !== '')
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
  return `::${level} ${properties.join(',')}::${escapeData(message)}\n`;
}

/** As many as Actions shows; if there are more, the last one reports their number. */
export function annotationLines(all: readonly Annotation[]): string {
  const levels = ['error', 'warning', 'notice'] as const;
  const kept = levels.flatMap((level): Annotation[] => {
    const own = all.filter((one) => one.level === level);
    if (own.length <= ANNOTATIONS_SHOWN_MAX) return own;
    const shown = own.slice(0, ANNOTATIONS_SHOWN_MAX - 1);
    const message = `${own.length - shown.length} more: see the summary of this step`;
    return [...shown, { level, title: 'tacho', message }];
  });
  return kept.map(annotationLine).join('');
}

const CONTROLS = lazy(() => /[\p{Cc}\p{Cf}\p{Cs}]/gu);

/** Foreign text as one line of literal Markdown: no markup, HTML, links or mentions. */
export function markdownText(text: string, chars_max = 300): string {
  return shortened(text.replace(/\s+/g, ' ').trim(), chars_max)
    .replace(CONTROLS(), '')
    .trim()
    .replace(/[\\`*_{}[\]()#+!|~-]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '&#64;')
    .replaceAll('://', '&#58;//')
    .replace(/www\./gi, (found) => found.replace('.', '&#46;'));
}

/** The same for a text of several lines, still in one line of Markdown: nothing in it begins a block. */
export function markdownLines(text: string, chars_max: number): string {
  return shortened(text.trim(), chars_max)
    .split('\n')
    .map((line) => markdownText(line, chars_max + 1))
    .join('<br>');
}

interface SummaryTable {
  head: readonly string[];
  /** Cells in Markdown. */
  rows: readonly (readonly string[])[];
}

export interface SummaryPart {
  /** Headings and paragraphs, in Markdown. */
  title?: string;
  text?: string;
  table?: SummaryTable;
}

function tableText({ head, rows }: SummaryTable): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The summary as Markdown, cut between lines to the size that Actions accepts. */
export function summaryMarkdown(parts: readonly SummaryPart[]): string {
  const blocks = parts.flatMap(({ title, text, table }) => [
    ...(title === undefined ? [] : [`## ${title}`]),
    ...(text === undefined ? [] : [text]),
    ...(table === undefined ? [] : [tableText(table)]),
  ]);
  const whole = `${blocks.join('\n\n')}\n`;
  if (utf8Bytes(whole) <= SUMMARY_BYTES_MAX) return whole;
  const note = '\n\n… the rest is left out: a summary may have at most 1 MiB.\n';
  let bytes = utf8Bytes(note);
  const kept: string[] = [];
  for (const line of whole.split('\n')) {
    bytes += utf8Bytes(line) + 1;
    if (bytes > SUMMARY_BYTES_MAX) break;
    kept.push(line);
  }
  return kept.join('\n') + note;
}
