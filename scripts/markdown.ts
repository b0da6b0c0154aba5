/** Markdown as the formatter would leave it, so that generated pages pass the same check as written ones. */
import stringWidth from 'string-width';

const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();

/** A table with padded columns. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const all = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => stringWidth(row[i] ?? ''))));
  const pad = (text: string, i: number) =>
    text + ' '.repeat(Math.max(0, (widths[i] ?? 0) - stringWidth(text)));
  const line = (row: readonly string[]) => `| ${row.map(pad).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(all[0] ?? []), line(rule), ...all.slice(1).map(line)].join('\n');
}

/** What stands between `<!-- name:begin -->` and `<!-- name:end -->`, markers included; null: it has none. */
export function marked(page: string, name: string): string | null {
  const [from, to] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [begin, end] = [page.indexOf(from), page.indexOf(to)];
  return begin < 0 || end < begin ? null : page.slice(begin, end + to.length);
}
