/**
 * Whether the cost of commands grows more than linearly with the number of runs. Measures each command that uses the
 * store with 10,000 and with 20,000 small runs: in few segments, as imports leave them, and with one segment per run,
 * as `tacho run` does. `TACHO_BENCH_RUNS=100000 npm run bench -- many-runs` measures with that number and half of it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runId } from './many-runs-store.ts';
import { cpuSeconds, memoryMb, type Row } from './measure.ts';

const MOST = Number(process.env.TACHO_BENCH_RUNS ?? 20_000);
const TURNS = 3;
const GROWTH_MOST = 2.2;
const MEMORY_MOST_MB = 150;
const SESSION = join(
  import.meta.dirname,
  '../src/agents/claude/testdata/resume/session/.claude/projects/-home-user-project',
  '7e15eb39-6be6-4422-a6f5-9c0868fe7f65.jsonl',
);

interface Question {
  command: string[];
  /** Limit for the larger store. */
  seconds_most?: number;
  /** Whether it changes the store: it then runs once, on a fresh store. */
  once?: true;
}

const QUESTIONS: readonly Question[] = [
  { command: ['runs', 'list'], seconds_most: 0.1 },
  { command: ['runs', 'list', '--status', 'never'], seconds_most: 0.1 },
  { command: ['runs', 'list', '--limit', 'all', '--json'] },
  { command: ['runs', 'list', '--limit', 'all'] },
  { command: ['runs', 'show', runId(7)], seconds_most: 0.1 },
  { command: ['show', runId(7)], seconds_most: 0.1 },
  { command: ['runs', 'verify', runId(7)] },
  { command: ['runs', 'stats'], seconds_most: 0.2 },
  { command: ['runs', 'gc', '--max-runs', '100', '--dry-run'] },
  { command: ['import', 'claude', SESSION] },
  { command: ['doctor'] },
  { command: ['runs', 'rm', runId(8)], once: true },
  { command: ['runs', 'reindex'], seconds_most: MOST / 2_000 },
];

const SEGMENTS = { together: '', apart: ', one segment per run' } as const;
type Segments = keyof typeof SEGMENTS;

interface Figure {
  seconds: number;
  mb: number;
}

const bin = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
const tacho = (state: string, command: readonly string[]) => [
  process.execPath,
  bin,
  '--state-dir',
  state,
  ...command,
];

async function measure(state: string, { command, once }: Question): Promise<Figure> {
  if (once) {
    const copy = `${state}-copy`;
    cpSync(state, copy, { recursive: true });
    warm(copy);
    const seconds = cpuSeconds(tacho(copy, command));
    rmSync(copy, { recursive: true });
    return { seconds, mb: 0 };
  }
  let seconds = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < TURNS; turn++)
    seconds = Math.min(seconds, cpuSeconds(tacho(state, command)));
  return { seconds, mb: await memoryMb(tacho(state, command)) };
}

/** One-time work of the first commands in a folder: segments are settled and closed, the session becomes known. */
function warm(state: string): void {
  cpuSeconds(tacho(state, ['import', 'claude', SESSION]));
  for (let turn = 0; turn < 2; turn++) cpuSeconds(tacho(state, ['runs', 'list']));
}

function rowOf(
  { command, seconds_most }: Question,
  segments: Segments,
  small: Figure,
  large: Figure,
): Row {
  const ratio = large.seconds / small.seconds;
  const text = ({ seconds, mb }: Figure, runs: number) =>
    `${runs.toLocaleString('en')}: ${(seconds * 1000).toFixed(0)} ms${mb === 0 ? '' : `, ${mb.toFixed(0)} MB`}`;
  const most = seconds_most === undefined ? '' : `, ≤ ${(seconds_most * 1000).toFixed(0)} ms`;
  const shown = command.map((word) => (word === SESSION ? '…' : word)).join(' ');
  return {
    name: `\`tacho ${shown}\` with many runs${SEGMENTS[segments]}, CPU, vs. half as many`,
    value: text(large, MOST),
    reference: text(small, MOST / 2),
    ratio,
    target: `≤ ${GROWTH_MOST} ×${most}, ≤ ${MEMORY_MOST_MB} MB`,
    ok:
      ratio <= GROWTH_MOST &&
      large.mb <= MEMORY_MOST_MB &&
      large.seconds <= (seconds_most ?? Number.POSITIVE_INFINITY),
  };
}

export async function run(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const segments of Object.keys(SEGMENTS) as Segments[])
    rows.push(...(await rowsOf(segments)));
  return rows;
}

async function rowsOf(segments: Segments): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  const [small, large] = [MOST / 2, MOST].map((runs) => join(folder, String(runs))) as [
    string,
    string,
  ];
  try {
    for (const [state, runs] of [
      [small, MOST / 2],
      [large, MOST],
    ] as const) {
      const program = join(import.meta.dirname, 'many-runs-store.ts');
      const args = [program, state, String(runs), segments];
      execFileSync(process.execPath, args, { stdio: 'inherit' });
      warm(state);
    }
    const rows: Row[] = [];
    for (const question of QUESTIONS) {
      const before = await measure(small, question);
      rows.push(rowOf(question, segments, before, await measure(large, question)));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
