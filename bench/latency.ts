/** How long from an agent's write to the record on stdout? Beside the same lines through a plain pipe. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLines } from '../src/lib/lines.ts';
import type { Row } from './measure.ts';

// The targets are of this file.
process.env.TACHO_TRUST = '1';

const CALLS = 500;
const PAUSE_MS = 10;
const P95_MOST_MS = 5;

/** Prints calls of the demo dialect that carry the moment they were written. */
const TALKER = `
const say = (record) => process.stdout.write(JSON.stringify(record) + '\\n');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
say({ t: 'hello', session: 'demo-latency', version: '1.0.0', model: 'demo-1' });
say({ t: 'turn', id: 'turn-1' });
for (let i = 0; i < ${CALLS}; i++) {
  await sleep(${PAUSE_MS});
  say({ t: 'call', id: 'c' + i, tool: 'run', input: { cmd: 'true', at: performance.timeOrigin + performance.now() } });
}
say({ t: 'end', reason: 'ok' });
`;

function delays(child: ChildProcess, timeOf: (line: string) => number | null): Promise<number[]> {
  const found: number[] = [];
  const lines = createLines({
    line(bytes, start, end) {
      const now = performance.timeOrigin + performance.now();
      const at = timeOf(bytes.toString('utf8', start, end));
      if (at !== null) found.push(now - at);
    },
    oversize() {},
  });
  child.stdout?.on('data', (chunk: Buffer) => lines.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => resolve(found.sort((a, b) => a - b)));
  });
}

const at = (sorted: number[], share: number) =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN;

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const talker = join(folder, 'talker.mjs');
    writeFileSync(talker, TALKER);
    writeFileSync(
      join(folder, 'tacho.yaml'),
      `targets: { talker: { agent: demo, command: ["${process.execPath}", "${talker}"] } }\n`,
    );
    const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const options = {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'],
    };
    const piped = await delays(
      spawn(process.execPath, [talker], options),
      (line) => JSON.parse(line).input?.at ?? null,
    );
    const args = [tacho, 'run', '--target', 'talker', '--output', 'json', 'go'];
    const recorded = await delays(spawn(process.execPath, args, options), (line) => {
      const { type, data } = JSON.parse(line);
      return type === 'tool_call_detected' ? JSON.parse(data.input_preview).at : null;
    });
    if (recorded.length !== CALLS) throw new Error(`${recorded.length} of ${CALLS} calls came`);
    const [p50, p95] = [at(recorded, 0.5), at(recorded, 0.95)];
    return [
      {
        name: `agent's write → durable → record on stdout, p95 of ${CALLS} (p50 ${p50.toFixed(2)} ms), beside a bare pipe`,
        value: `${p95.toFixed(2)} ms`,
        reference: `${at(piped, 0.95).toFixed(2)} ms`,
        ratio: p95 / at(piped, 0.95),
        target: `≤ ${P95_MOST_MS} ms`,
        ok: p95 <= P95_MOST_MS,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
