/** Cost of reading 100 MB of each agent's recordings, compared with a loop that only reads, splits and parses. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bestCpu, memoryMb, type Row } from './measure.ts';
import { SHAPES, type Shape, writeRecording } from './recordings.ts';

const BYTES = 100e6;
const MANY_BYTES = 1e9;
const TURNS = 5;
const CPU_MOST = 1.8;
const FLAT_MOST = 1.25;
/** Agents with sessions that may last for days. */
const LONG: ReadonlySet<string> = new Set(['claude', 'codex', 'copilot', 'pi']);

export const bareLoop = `import { createReadStream } from 'node:fs';
let rest = Buffer.alloc(0), records = 0;
for await (const c of createReadStream(process.argv[2], { highWaterMark: 1 << 20 })) {
  const b = rest.length ? Buffer.concat([rest, c]) : c;
  let i = 0, j;
  while ((j = b.indexOf(10, i)) >= 0) {
    if (JSON.parse(b.toString('utf8', i, j)).type !== undefined) records++;
    i = j + 1;
  }
  rest = b.subarray(i);
}
console.log(records);`;

const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');

function convert({ agent, from }: Shape, file: string): string[] {
  const options = ['--agent', agent, '--from', from, '--to', 'outcome'];
  return [process.execPath, tacho, 'convert', ...options, file];
}

async function measured(shape: Shape, folder: string): Promise<Row[]> {
  const { agent, from } = shape;
  const [loop, one, many] = ['loop.mjs', 'one.jsonl', 'many.jsonl'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeRecording(shape, one, BYTES);
  const [ours, bare] = bestCpu(TURNS, convert(shape, one), [process.execPath, loop, one]);
  const rows: Row[] = [
    {
      name: `convert: ${agent}, ${from}, 100 MB to outcome, CPU, vs. a bare read-split-parse loop`,
      value: `${ours.toFixed(2)} s`,
      reference: `${bare.toFixed(2)} s`,
      ratio: ours / bare,
      target: `≤ ${CPU_MOST} ×`,
      ok: ours / bare <= CPU_MOST,
    },
  ];
  if (from === 'stdout' || !LONG.has(agent)) return rows;
  await writeRecording(shape, many, MANY_BYTES);
  const [small, large] = [
    await memoryMb(convert(shape, one)),
    await memoryMb(convert(shape, many)),
  ];
  rmSync(many);
  rows.push({
    name: `convert: ${agent}, ${from}, 1 GB, memory, vs. 100 MB`,
    value: `${large.toFixed(0)} MB`,
    reference: `${small.toFixed(0)} MB`,
    ratio: large / small,
    target: `flat: ≤ ${FLAT_MOST} ×`,
    ok: large / small <= FLAT_MOST,
  });
  return rows;
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    writeFileSync(join(folder, 'loop.mjs'), bareLoop);
    const rows: Row[] = [];
    for (const shape of SHAPES) rows.push(...(await measured(shape, folder)));
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
