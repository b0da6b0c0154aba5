/**
 * How long the first page of a search takes, beside ripgrep on the same journal, and how large the search index is.
 * `TACHO_BENCH_SEARCH=100000x10 npm run bench -- search` measures with that many runs and GB of journal.
 * `TACHO_BENCH_SEARCH_STATE=FOLDER` keeps the store there, and uses it if it exists.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { updateSearch } from '../src/app/search/search.ts';
import { openStore, type Store } from '../src/index.ts';
import { packClosed } from '../src/store/journal/pack-left.ts';
import { diskBytes, listSegments, segmentBytes } from '../src/store/journal/scan.ts';
import { openStateDir, type StateDir } from '../src/store/state-dir.ts';
import { cpuSeconds, type Row } from './measure.ts';
import { ownWord } from './search-store.ts';

const [RUNS = 0, GB = 0] = (process.env.TACHO_BENCH_SEARCH ?? '2000x0.2').split('x').map(Number);
const KEPT = process.env.TACHO_BENCH_SEARCH_STATE;
const P95_MOST_MS = 150;
const SIZE_MOST = 0.4;
const TURNS = 3;

const COMMON = [
  'import',
  'type',
  'return',
  'function',
  'string',
  'export',
  'const',
  'value',
  'name',
  'path',
];
const FIELDS = [
  'agent:claude',
  'is:failed',
  'project:project-7',
  'cost:>3',
  'tool:Bash',
  'since:2026-01-01',
];
/** Spread over the whole store. */
const RARE = Array.from({ length: 20 }, (_, n) => ownWord(Math.floor(((n + 0.5) * RUNS) / 20)));

const withFields = (words: readonly string[]) =>
  words.flatMap((word, at) => [0, 1, 2].map((n) => `${word} ${FIELDS[(at + n) % FIELDS.length]}`));

const QUERIES: Readonly<Record<string, readonly string[]>> = {
  'rare words': RARE,
  'common words': COMMON,
  'rare words with a field': withFields(RARE),
  'common words with a field': withFields(COMMON),
  'two common words': COMMON.map((word, at) => `${word} ${COMMON[(at + 3) % COMMON.length]}`),
  'phrases of common words': [
    '"export function"',
    '"import type"',
    '"return value"',
    '"const path"',
  ],
  'prefixes of 4 characters': ['func*', 'expo*', 'conf*', 'requ*', 'vali*'],
};

const size = `${RUNS.toLocaleString('en')} runs, ${GB} GB of journal`;

interface Times {
  cpu_ms: number[];
  wall_ms: number[];
}

/** Sorted. The CPU time does not depend on the load of the machine. */
async function timesOf(
  store: Store,
  queries: readonly string[],
  sort: 'relevance' | 'time',
): Promise<Times> {
  const found: Times = { cpu_ms: [], wall_ms: [] };
  for (let turn = 0; turn < TURNS; turn++)
    for (const query of queries) {
      const begin = performance.now();
      const before = process.cpuUsage();
      await store.search(query, { sort });
      const { user, system } = process.cpuUsage(before);
      found.wall_ms.push(performance.now() - begin);
      found.cpu_ms.push((user + system) / 1000);
    }
  for (const list of [found.cpu_ms, found.wall_ms]) list.sort((a, b) => a - b);
  return found;
}

const atShare = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;

/** CPU time of ripgrep over the plain journal, the best of three, with the files in memory. Null if it is missing. */
function ripgrepMs({ journal }: StateDir, word: string): number | null {
  if (spawnSync('rg', ['--version']).status !== 0) return null;
  // It exits with 1 if it finds nothing.
  const args = ['--count', '--ignore-case', '--word-regexp', word, journal];
  const command = ['bash', '-c', 'rg "$@" || true', 'rg', ...args];
  return Math.min(...Array.from({ length: TURNS }, () => cpuSeconds(command) * 1000));
}

const reference = (ms: number | null) =>
  ms === null ? 'ripgrep is missing, or the journal is compressed' : `${ms.toFixed(0)} ms`;

function make(folder: string): void {
  const program = join(import.meta.dirname, 'search-store.ts');
  const args = [program, folder, String(RUNS), String(GB * 1e9)];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
}

/** Builds the index in its own process, which prints its figures. */
function buildRows(state: StateDir, plain: number): Row[] {
  const args = [import.meta.filename, state.path];
  const figures = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  const { cpu_s, memory_mb } = figures as { cpu_s: number; memory_mb: number };
  const rate = `${(plain / 1e6 / cpu_s).toFixed(1)} MB/s, ${memory_mb.toFixed(0)} MB of memory`;
  const bytes = statSync(state.search).size;
  return [
    {
      name: `search: building the index, ${size}, CPU`,
      value: `${cpu_s.toFixed(1)} s: ${rate}`,
      ...{ reference: `${(plain / 1e6).toFixed(0)} MB`, ratio: null, target: null, ok: null },
    },
    {
      name: `search: the index, ${size}, vs. the journal before it is compressed`,
      value: `${(bytes / 1e6).toFixed(0)} MB`,
      reference: `${(plain / 1e6).toFixed(0)} MB`,
      ratio: bytes / plain,
      target: `≤ ${SIZE_MOST * 100} %`,
      ok: bytes <= plain * SIZE_MOST,
    },
  ];
}

const sum = (state: StateDir, of: (dir: string, segment: string) => number) =>
  listSegments(state.journal).reduce((bytes, segment) => bytes + of(state.journal, segment), 0);

async function measure(folder: string): Promise<Row[]> {
  if (!existsSync(folder)) make(folder);
  const state = openStateDir(folder);
  const plain = sum(state, segmentBytes);
  const packed_before = sum(state, diskBytes) < plain / 2;
  const grep = packed_before
    ? [null, null]
    : [RARE[0] as string, COMMON[0] as string].map((word) => ripgrepMs(state, word));
  // Like the journal of a real store. Texts are then read from compressed segments.
  await packClosed(state.journal, listSegments(state.journal));
  const rows = existsSync(state.search) ? [] : buildRows(state, plain);
  const packed = sum(state, diskBytes);
  const bytes = statSync(state.search).size;
  rows.push({
    name: `search: the index, ${size}, vs. the compressed journal`,
    value: `${(bytes / 1e6).toFixed(0)} MB`,
    ...{
      reference: `${(packed / 1e6).toFixed(0)} MB`,
      ratio: bytes / packed,
      target: null,
      ok: null,
    },
  });
  const store = openStore({ stateDir: folder });
  await store.search('warm');
  for (const [name, queries] of Object.entries(QUERIES))
    for (const sort of ['relevance', 'time'] as const) {
      const { cpu_ms, wall_ms } = await timesOf(store, queries, sort);
      const [cpu, wall] = [cpu_ms, wall_ms].map((list) => atShare(list, 0.95)) as [number, number];
      const ms = (name.startsWith('rare') ? grep[0] : grep[1]) ?? null;
      const limited = !name.startsWith('prefixes');
      rows.push({
        name: `search: first page, ${name}, by ${sort}, ${size}, CPU, p95 (median ${atShare(cpu_ms, 0.5).toFixed(0)} ms; by the clock p95 ${wall.toFixed(0)} ms), vs. ripgrep for one word, CPU`,
        value: `${cpu.toFixed(0)} ms`,
        reference: reference(ms),
        ratio: ms === null ? null : cpu / ms,
        target: limited ? `≤ ${P95_MOST_MS} ms` : null,
        ok: limited ? cpu <= P95_MOST_MS : null,
      });
    }
  return rows;
}

export async function run(): Promise<Row[]> {
  if (KEPT !== undefined) return measure(KEPT);
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    return await measure(join(folder, 'state'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  await updateSearch(openStateDir(process.argv[2] as string));
  const { user, system } = process.cpuUsage();
  const memory_mb = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ cpu_s: (user + system) / 1e6, memory_mb }));
}
