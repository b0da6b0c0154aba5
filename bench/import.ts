/** Time and memory to import a big session, compared with a loop that only reads, splits and parses. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bestCpu, memoryMb, type Row } from './measure.ts';
import { BARE_LOOP, type Script, writeSession } from './session.ts';

const LINES = 100_000;
const CPU_MOST = 3.5;
const MEMORY_MOST_MB = 160;
const TURNS = 5;

const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');

async function rowsOf(folder: string, script: Script): Promise<Row[]> {
  const [session, loop, state] = ['session.jsonl', 'loop.mjs', 'state'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeSession(session, LINES, script);
  writeFileSync(loop, BARE_LOOP);
  // A second import of the same file would be skipped.
  const again = `rm -rf ${state} && exec ${process.execPath} ${tacho} import claude ${session} --state-dir ${state}`;
  const importing = ['bash', '-c', again];
  const [ours, bare] = bestCpu(TURNS, importing, [process.execPath, loop, session]);
  const memory = await memoryMb(importing);
  const loop_mb = await memoryMb([process.execPath, loop, session]);
  const mb = Math.round(statSync(session).size / 1e6);
  return [
    {
      name: `import: ${mb} MB session of ${LINES.toLocaleString('en')} lines, ${script} text, CPU, vs. a bare read-split-parse loop`,
      value: `${ours.toFixed(2)} s`,
      reference: `${bare.toFixed(2)} s`,
      ratio: ours / bare,
      target: `≤ ${CPU_MOST} ×`,
      ok: ours / bare <= CPU_MOST,
    },
    {
      name: '… memory',
      value: `${memory.toFixed(0)} MB`,
      reference: `${loop_mb.toFixed(0)} MB`,
      ratio: memory / loop_mb,
      target: `≤ ${MEMORY_MOST_MB} MB`,
      ok: memory <= MEMORY_MOST_MB,
    },
  ];
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    return [...(await rowsOf(folder, 'ASCII')), ...(await rowsOf(folder, 'CJK'))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
