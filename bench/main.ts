/** `npm run bench [-- NAME…] [--write]`: measures with references; `--write` updates docs/reference/benchmarks.md. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { markdownTable, withMarked } from '../scripts/markdown.ts';
import type { Row } from './measure.ts';

const QUESTIONS: Record<string, () => Promise<{ run(): Row[] | Promise<Row[]> }>> = {
  'start-up': () => import('./start-up.ts'),
  convert: () => import('./convert.ts'),
  import: () => import('./import.ts'),
  home: () => import('./home.ts'),
  decoders: () => import('./decoders.ts'),
  latency: () => import('./latency.ts'),
  watch: () => import('./watch.ts'),
  store: () => import('./store.ts'),
  retention: () => import('./retention.ts'),
  'many-runs': () => import('./many-runs.ts'),
  search: () => import('./search.ts'),
  'database-size': () => import('./database-size.ts'),
  compare: () => import('./compare.ts'),
  eval: () => import('./eval.ts'),
  validate: () => import('./validate.ts'),
  live: () => import('./live.ts'),
  'live-run': () => import('./live-run.ts'),
  'package-size': () => import('./package-size.ts'),
};

const lineOf = ({ name, value, reference, ratio, ok }: Row) =>
  `${ok === false ? '✗' : ' '} ${name}: ${value} (${reference}${ratio === null ? '' : `, ${ratio.toFixed(2)} ×`})`;

function table(rows: readonly Row[]): string {
  const cells = rows.map(({ name, value, reference, ratio, target, ok }) => {
    const verdict = ok === null ? '' : ok ? ' ✓' : ' ✗';
    return [
      name,
      value,
      reference,
      ratio === null ? '' : ratio.toFixed(2),
      `${target ?? ''}${verdict}`,
    ];
  });
  const [cpu] = cpus();
  const where = `Measured with Node ${process.versions.node} on ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}).`;
  return `${markdownTable(['question', 'tacho', 'reference', 'ratio', 'target'], cells)}\n\n${where}`;
}

const PAGE = join(import.meta.dirname, '..', 'docs', 'reference', 'benchmarks.md');

/** A question that was asked alone is written only if the page has a table of its own for it. */
function writePage(name: string, rows: readonly Row[]): void {
  writeFileSync(PAGE, withMarked(readFileSync(PAGE, 'utf8'), name, table(rows)));
}

const ownTable = (name: string) => `bench-${name}`;
const hasOwnTable = (name: string) =>
  readFileSync(PAGE, 'utf8').includes(`<!-- ${ownTable(name)}:begin -->`);

const names = Object.keys(QUESTIONS).join(', ');
const words = process.argv.slice(2);
const wanted = words.filter((word) => !word.startsWith('--'));
if (words.some((word) => word === '--help' || word === '-h')) {
  console.log(
    `npm run bench -- [NAME…] [--write]\n\n  --write  update docs/reference/benchmarks.md\n\nnames: ${names}`,
  );
  process.exit();
}
const unknown = wanted.find((word) => !Object.hasOwn(QUESTIONS, word));
if (unknown !== undefined) {
  console.error(`bench: unknown name "${unknown}"; choose from ${names}`);
  process.exit(2);
}

// The user's own store is not touched.
const user_state = mkdtempSync(join(tmpdir(), 'tacho-bench-state-'));
process.env.XDG_STATE_HOME = user_state;
delete process.env.TACHO_HOME;
process.on('exit', () => rmSync(user_state, { recursive: true, force: true }));

const write = words.includes('--write');
const shared = wanted.filter((name) => !hasOwnTable(name));
if (write && shared.length > 0) {
  console.error(`bench: ${shared.join(', ')}: the table is only written as a whole`);
  process.exit(2);
}

const rows: Row[] = [];
const common: Row[] = [];
for (const [name, load] of Object.entries(QUESTIONS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`bench: ${name} …`);
  const found = await (await load()).run();
  rows.push(...found);
  if (!hasOwnTable(name)) common.push(...found);
  else if (write) writePage(ownTable(name), found);
  // Printed now, so that figures are not lost if a later benchmark fails.
  for (const row of found) console.error(`  ${lineOf(row)}`);
}
console.log(table(rows));
if (write && common.length > 0) writePage('bench', common);
process.exitCode = rows.some(({ ok }) => ok === false) ? 1 : 0;
