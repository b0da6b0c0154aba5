/** Time and memory to convert a big session to an outcome, compared with a loop that only reads, splits and parses. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bestCpu, memoryMb, type Row } from './measure.ts';
import { BARE_LOOP, type Script, writeSession } from './session.ts';

const LINES = 100_000;
const TURNS = 7;
const CPU_MOST: Record<Script, number> = { ASCII: 1.7, CJK: 1.4 };
const MEMORY_MOST_MB = 160;
const COPIES = 7;
const FLAT_MOST = 1.25;

const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
const convert = (file: string) => [
  ...[process.execPath, tacho, 'convert', '--agent', 'claude'],
  ...['--from', 'session', '--to', 'outcome', file],
];
const mb = (path: string) => Math.round(statSync(path).size / 1e6);

async function cpuRow(script: Script, session: string, loop: string): Promise<Row> {
  await writeSession(session, LINES, script);
  const [ours, bare] = bestCpu(TURNS, convert(session), [process.execPath, loop, session]);
  const most = CPU_MOST[script];
  return {
    name: `convert: ${mb(session)} MB session of ${LINES.toLocaleString('en')} lines, ${script} text, to outcome, CPU, vs. a bare read-split-parse loop`,
    value: `${ours.toFixed(2)} s`,
    reference: `${bare.toFixed(2)} s`,
    ratio: ours / bare,
    target: `≤ ${most} ×`,
    ok: ours / bare <= most,
  };
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const [one, many] = [join(folder, 'one.jsonl'), join(folder, 'many.jsonl')];
    const loop = join(folder, 'loop.mjs');
    writeFileSync(loop, BARE_LOOP);
    const rows = [await cpuRow('ASCII', one, loop), await cpuRow('CJK', one, loop)];
    await writeSession(many, LINES * COPIES, 'CJK');
    const [small, large, loop_mb] = [
      await memoryMb(convert(one)),
      await memoryMb(convert(many)),
      await memoryMb([process.execPath, loop, one]),
    ];
    return [
      ...rows,
      {
        name: '… memory',
        value: `${small.toFixed(0)} MB`,
        reference: `${loop_mb.toFixed(0)} MB`,
        ratio: small / loop_mb,
        target: `≤ ${MEMORY_MOST_MB} MB`,
        ok: small <= MEMORY_MOST_MB,
      },
      {
        name: `convert: ${mb(many)} MB session, memory, vs. the ${mb(one)} MB one`,
        value: `${large.toFixed(0)} MB`,
        reference: `${small.toFixed(0)} MB`,
        ratio: large / small,
        target: `flat: ≤ ${FLAT_MOST} ×`,
        ok: large / small <= FLAT_MOST,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
