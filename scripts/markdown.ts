/** Markdown as the formatter would leave it, so that generated pages pass the same check as written ones. */
import { columns } from '../src/lib/columns.ts';

const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();

/** A table with padded columns. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const all = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => columns(row[i] ?? ''))));
  const pad = (text: string, i: number) =>
    text + ' '.repeat(Math.max(0, (widths[i] ?? 0) - columns(text)));
  const line = (row: readonly string[]) => `| ${row.map(pad).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(all[0] ?? []), line(rule), ...all.slice(1).map(line)].join('\n');
}

const marks = (name: string) => [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`] as const;

/** The page with `text` between `<!-- name:begin -->` and `<!-- name:end -->`. */
export function withMarked(page: string, name: string, text: string): string {
  const [from, to] = marks(name);
  const [begin, end] = [page.indexOf(from), page.indexOf(to)];
  if (begin < 0 || end < begin) throw new Error(`the page has no place for "${name}"`);
  return `${page.slice(0, begin)}${from}\n\n${text}\n\n${page.slice(end)}`;
}
